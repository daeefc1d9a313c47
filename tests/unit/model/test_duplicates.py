import numpy as np
from numpy.typing import NDArray

from model.arrays import Features
from model.duplicates import BLOCK, NOT_A_COPY, near_duplicates


def unit(rows: NDArray[np.float64]) -> Features:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def test_a_copy_points_to_the_first_row_that_it_repeats() -> None:
    features = unit(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.01], [1.0, 0.02]]))

    copies = near_duplicates(features)

    assert copies.tolist() == [NOT_A_COPY, NOT_A_COPY, 0, 0]


def test_rows_below_the_threshold_are_no_copies() -> None:
    features = unit(np.array([[1.0, 0.0], [1.0, 0.3]]))

    assert near_duplicates(features, threshold=0.97).tolist() == [NOT_A_COPY, NOT_A_COPY]
    assert near_duplicates(features, threshold=0.95).tolist() == [NOT_A_COPY, 0]


def test_copies_are_found_across_blocks_as_well_as_inside_one() -> None:
    features = unit(np.random.default_rng(0).normal(size=(BLOCK + 50, 64)))
    features[BLOCK + 7] = features[3]
    features[BLOCK + 9] = features[BLOCK + 8]

    copies = near_duplicates(features)

    found = {int(row): int(copies[row]) for row in np.flatnonzero(copies != NOT_A_COPY)}
    assert found == {BLOCK + 7: 3, BLOCK + 9: BLOCK + 8}


def test_an_empty_pool_has_no_copies() -> None:
    assert len(near_duplicates(np.zeros((0, 8), dtype=np.float32))) == 0
