import numpy as np
import pytest

from model.arrays import NO_ROWS, Features, Mask, Rows
from model.coreset import k_center_greedy


def on_circle(*degrees: float) -> Features:
    angles = np.radians(np.array(degrees, dtype=np.float64))
    return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def random_pool(seed: int, size: int) -> Features:
    points = np.random.default_rng(seed).normal(size=(size, 6))
    unit = points / np.linalg.norm(points, axis=1, keepdims=True)
    return np.asarray(unit, dtype=np.float32)


def everything(size: int) -> Mask:
    return np.ones(size, dtype=np.bool_)


def plain_k_center(
    features: Features, labeled: Rows, count: int, available: Mask
) -> tuple[list[int], list[float]]:
    points = features.astype(np.float64)
    centres, gains = labeled.tolist(), []
    for _ in range(count):
        distances = {
            row: min(float(np.linalg.norm(points[row] - points[centre])) for centre in centres)
            for row in np.flatnonzero(available).tolist()
            if row not in centres
        }
        row = max(distances, key=lambda each: distances[each])
        centres.append(row)
        gains.append(distances[row])
    return centres[len(labeled) :], gains


@pytest.mark.parametrize("seed", range(5))
def test_rows_and_distances_are_those_of_the_plain_definition(seed: int) -> None:
    features = random_pool(seed, 50)
    labeled = np.array([4, 17, 30])
    available = np.random.default_rng(seed).random(50) < 0.7

    chosen = k_center_greedy(features, labeled, 8, available)

    rows, gains = plain_k_center(features, labeled, 8, available)
    assert chosen.rows.tolist() == rows
    np.testing.assert_allclose(chosen.gains, gains, atol=1e-9)


def test_without_labels_starts_nearest_to_the_mean() -> None:
    features = on_circle(0, 30, 40, 50, 90)

    chosen = k_center_greedy(features, NO_ROWS, 2, everything(5))

    assert chosen.rows[0] == 2
    assert chosen.gains[0] == 2.0


def test_without_labels_a_row_that_must_not_be_chosen_is_not_the_start_either() -> None:
    features = on_circle(0, 30, 44, 50, 90)
    available = np.array([True, True, False, True, True])

    chosen = k_center_greedy(features, NO_ROWS, 2, available)

    assert chosen.rows.tolist() == [3, 0]


def test_ties_go_to_the_lowest_row() -> None:
    features = on_circle(0, 90, 270, 90)

    chosen = k_center_greedy(features, np.array([0]), 3, everything(4))

    assert chosen.rows.tolist() == [1, 2, 3]


def test_gains_never_grow_and_end_at_zero_for_copies() -> None:
    features = np.vstack([random_pool(7, 20), random_pool(7, 20)])

    chosen = k_center_greedy(features, NO_ROWS, 40, everything(40))

    assert (np.diff(chosen.gains) <= 1e-7).all()
    np.testing.assert_allclose(chosen.gains[20:], 0.0, atol=1e-7)


def test_never_chooses_labelled_rows_nor_more_than_there_are() -> None:
    features = random_pool(8, 6)

    chosen = k_center_greedy(features, np.array([1, 2]), 99, everything(6))

    assert sorted(chosen.rows.tolist()) == [0, 3, 4, 5]
