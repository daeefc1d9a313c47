from __future__ import annotations

import numpy as np
import pytest

from model.intervals import share


def test_a_share_lies_inside_its_interval() -> None:
    estimate = share(87, 100)

    assert estimate.value == pytest.approx(0.87)
    assert estimate.low == pytest.approx(0.7902, abs=1e-3)  # Wilson (1927), by hand
    assert estimate.high == pytest.approx(0.9224, abs=1e-3)
    assert estimate.tested == 100


@pytest.mark.parametrize(("right", "tested"), [(0, 1), (1, 1), (0, 7), (7, 7)])
def test_all_or_nothing_still_leaves_doubt(right: int, tested: int) -> None:
    estimate = share(right, tested)

    assert 0.0 <= estimate.low <= estimate.value <= estimate.high <= 1.0
    assert estimate.high - estimate.low > 0.2


@pytest.mark.parametrize("truth", [0.5, 0.8, 0.97])
@pytest.mark.parametrize("tested", [20, 60, 300])
def test_the_interval_holds_the_truth_as_often_as_it_says(truth: float, tested: int) -> None:
    counts = np.random.default_rng(0).binomial(tested, truth, size=2000)

    estimates = [share(int(count), tested) for count in counts]

    held = np.mean([one.low <= truth <= one.high for one in estimates])
    assert held > 0.92
