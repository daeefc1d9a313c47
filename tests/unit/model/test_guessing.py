import numpy as np
import pytest

from model import guessing
from model.gaussian_pool import GaussianPool
from model.guessing import Cells, Guess, guess
from tests.support import reference_arrays
from tests.support.pools import clustered, some_rows, uncertainties

SIZE, RADIUS, PLENTY = 1500, 0.3, 10**9


def guess_of(most: int, labels: int = 0, memory: int = PLENTY) -> Guess:
    pool = GaussianPool(clustered(0, SIZE, 16), RADIUS)
    labeled = some_rows(2, SIZE, labels)
    available = ~np.isin(np.arange(SIZE), labeled)
    weights = np.asarray(uncertainties(1, SIZE) / SIZE)
    return guess(
        pool,
        weights,
        pool.covered_by(labeled),
        available=available,
        cells=Cells.of_pool(pool),
        most=most,
        memory=memory,
        enough=lambda _: False,
    )


@pytest.mark.parametrize("labels", [0, 50])
def test_with_a_sample_of_half_of_the_points_most_guesses_are_right(
    labels: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guessing, "SAMPLE", SIZE // 2)

    guessed = guess_of(most=20, labels=labels)

    kernel = reference_arrays.similarities(clustered(0, SIZE, 16), RADIUS)
    labeled = some_rows(2, SIZE, labels)
    rows, _ = reference_arrays.select(kernel, uncertainties(1, SIZE), labeled, 20)
    assert guessed.rows[:5] == rows[:5]
    assert len(set(guessed.rows) & set(rows)) >= 15


@pytest.mark.parametrize("memory", [0, PLENTY])
def test_the_coverage_of_what_was_guessed_is_never_too_high_and_hardly_too_low(memory: int) -> None:
    guessed = guess_of(most=10, memory=memory)

    kernel = reference_arrays.similarities(clustered(0, SIZE, 16), RADIUS)
    assert len(guessed.covered) == len(guessed.needed) == 11
    assert (guessed.covered[0] == 0.0).all()
    for number in range(1, 11):
        true = kernel[guessed.rows[:number]].max(axis=0)
        assert (guessed.covered[number] <= true + 1e-12).all()
        np.testing.assert_allclose(guessed.covered[number], true, atol=1e-4)


def test_at_first_all_gains_are_needed_and_later_few_among_them_that_of_the_choice() -> None:
    guessed = guess_of(most=20)

    assert len(guessed.needed[0]) == SIZE
    assert np.mean([len(needed) for needed in guessed.needed[1:]]) < 0.3 * SIZE
    for row, needed in zip(guessed.rows, guessed.needed, strict=False):
        assert row in needed
        assert (np.diff(needed) > 0).all()


def test_rows_are_guessed_until_there_are_enough() -> None:
    pool = GaussianPool(clustered(0, SIZE, 16), RADIUS)

    guessed = guess(
        pool,
        np.full(SIZE, 1.0 / SIZE),
        np.zeros(SIZE),
        available=np.ones(SIZE, dtype=np.bool_),
        cells=Cells.of_pool(pool),
        most=100,
        memory=PLENTY,
        enough=lambda covered: covered.mean() >= 0.2,
    )

    means = [covered.mean() for covered in guessed.covered]
    assert means[-1] >= 0.2 > means[-2]


def test_only_available_rows_are_guessed_each_once() -> None:
    pool = GaussianPool(clustered(0, SIZE, 16), RADIUS)
    available = np.arange(SIZE) % 100 == 7

    guessed = guess(
        pool,
        np.zeros(SIZE),
        np.zeros(SIZE),
        available=available,
        cells=Cells.of_pool(pool),
        most=14,
        memory=PLENTY,
        enough=lambda _: False,
    )

    assert len(set(guessed.rows)) == 14
    assert available[guessed.rows].all()


def test_cells_hold_every_row_once_with_similar_ones_together() -> None:
    features = clustered(3, SIZE, 16)

    cells = Cells.of_pool(GaussianPool(features, RADIUS))

    assert sorted(cells.order.tolist()) == list(range(SIZE))
    assert (np.diff(cells.of[cells.order]) >= 0).all()
    near = np.linalg.norm(np.diff(features[cells.order], axis=0), axis=1).mean()
    far = np.linalg.norm(np.diff(features, axis=0), axis=1).mean()
    assert near < 0.75 * far
