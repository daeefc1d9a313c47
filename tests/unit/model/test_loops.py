"""The compiled loops, and the same as Python runs them, against numpy."""

import numpy as np
import pytest

from model import loops
from model.loops import LONGEST_SUM, Floats
from tests.support.loops import Loop, both


def values(seed: int, *shape: int) -> Floats:
    return np.random.default_rng(seed).random(shape, dtype=np.float32)


@pytest.mark.parametrize("rises", both(loops.rises))
@pytest.mark.parametrize("points", [0, 1, 37, LONGEST_SUM, 2 * LONGEST_SUM + 5])
def test_rises_are_weighted_and_never_negative(rises: Loop, points: int) -> None:
    similarity, covered, weights = values(0, 4, points), values(1, points), values(2, points)
    rows = np.array([3, 0, 3])

    found = rises(similarity, rows, covered, weights)

    expected = np.maximum(similarity[rows].astype(np.float64) - covered, 0.0) @ weights
    np.testing.assert_allclose(found, expected, rtol=4e-6)


@pytest.mark.parametrize("rises", both(loops.rises_at_moments))
def test_rises_at_a_moment_are_those_with_its_coverage(rises: Loop) -> None:
    similarity, covered, weights = values(3, 5, 20), values(4, 3, 50), values(5, 50)
    rows, moments = np.array([0, 4, 4, 2], dtype=np.uint16), np.array([2, 0, 1, 1], dtype=np.int32)

    found = rises(similarity, 30, rows, moments, covered, weights)

    rise = np.maximum(similarity[rows] - covered[moments, 30:], 0.0)
    np.testing.assert_allclose(found, rise @ weights[30:], rtol=1e-5)


@pytest.mark.parametrize("above", both(loops.above))
@pytest.mark.parametrize("level", [0.0, 0.5, 0.98, 2.0])
def test_only_pairs_above_the_threshold_of_their_column_are_found(
    above: Loop, level: float
) -> None:
    similarity, thresholds = values(6, 30, 40), np.full(90, level, dtype=np.float32)
    thresholds[60] = 2.0
    thresholds[70] = -1.0

    counts, columns, similarities = above(similarity, 50, thresholds)

    rows, expected = np.nonzero(similarity > thresholds[50:])
    assert counts.tolist() == np.bincount(rows, minlength=30).tolist()
    assert columns.tolist() == expected.tolist()
    assert similarities.tolist() == similarity[rows, expected].tolist()


@pytest.mark.parametrize("above", both(loops.above))
def test_a_pair_at_its_threshold_is_not_above(above: Loop) -> None:
    similarity = values(7, 3, 4)

    counts, _, _ = above(similarity, 0, similarity[1].copy())

    assert counts[1] == 0


@pytest.mark.parametrize("lay_out", both(loops.lay_out))
def test_pairs_are_laid_out_behind_those_of_their_row(lay_out: Loop) -> None:
    names, similarities = np.full(8, -1, dtype=np.int32), np.zeros(8, dtype=np.float32)
    places = np.array([1, 4, 6])

    lay_out(
        np.array([2, 0, 1]),
        np.array([1, 0, 1], dtype=np.uint16),
        np.array([0.1, 0.2, 0.3], dtype=np.float32),
        np.array([70, 80], dtype=np.int32),
        places,
        (names, similarities),
    )

    assert names.tolist() == [-1, 80, 70, -1, -1, -1, 80, -1]
    np.testing.assert_allclose(similarities, [0, 0.1, 0.2, 0, 0, 0, 0.3, 0])
    assert places.tolist() == [3, 4, 7]


def test_where_nothing_can_be_kept_on_disk_loops_are_compiled_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("numba.core.caching.CacheImpl._locator_classes", [])

    @loops.compiled("i8(i8)")
    def twice(number: int) -> int:
        return 2 * number

    assert twice(21) == 42
