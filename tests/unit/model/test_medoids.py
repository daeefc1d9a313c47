from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from model.medoids import kmedoids, pam, total_deviation

SEEDS = range(8)


def distances_of(seed: int, size: int) -> NDArray[np.float64]:
    points = np.random.default_rng(seed).normal(size=(size, 3))
    return np.asarray(np.linalg.norm(points[:, None] - points, axis=2))


def deviation(distances: NDArray[np.float64], medoids: list[int]) -> float:
    return sum(
        min(float(distances[row, medoid]) for medoid in medoids) for row in range(len(distances))
    )


def least_deviation(distances: NDArray[np.float64], count: int) -> float:
    return min(
        deviation(distances, list(rows)) for rows in combinations(range(len(distances)), count)
    )


def test_the_total_deviation_is_the_sum_of_distances_to_the_nearest_medoid() -> None:
    distances = distances_of(0, 12)

    total = total_deviation(distances, np.array([3, 8]))

    np.testing.assert_allclose(total, deviation(distances, [3, 8]))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("count", [1, 2, 3])
def test_pam_is_at_most_five_percent_worse_than_the_best_of_all_choices(
    seed: int, count: int
) -> None:
    distances = distances_of(seed, 11)

    medoids = pam(distances, count)

    assert len(set(medoids.tolist())) == count
    assert total_deviation(distances, medoids) <= 1.05 * least_deviation(distances, count)


@pytest.mark.parametrize("seed", SEEDS)
def test_after_pam_no_swap_helps(seed: int) -> None:
    distances = distances_of(seed, 40)

    medoids = pam(distances, 5).tolist()

    swapped = [
        [row, *medoids[:place], *medoids[place + 1 :]] for place in range(5) for row in range(40)
    ]
    least = min(deviation(distances, rows) for rows in swapped)
    assert deviation(distances, medoids) <= least + 1e-9


@pytest.mark.parametrize("seed", SEEDS)
def test_pam_is_never_worse_than_building_greedily(seed: int) -> None:
    distances = distances_of(seed, 60)
    greedy: list[int] = []
    for _ in range(6):
        greedy.append(min(range(60), key=lambda row: deviation(distances, [*greedy, row])))

    medoids = pam(distances, 6)

    assert total_deviation(distances, medoids) <= deviation(distances, greedy) + 1e-9


@pytest.mark.parametrize("seed", SEEDS)
def test_pam_is_better_than_alternating_from_most_starts(seed: int) -> None:
    distances = distances_of(seed, 60)

    best = total_deviation(distances, pam(distances, 6))

    alternating = [kmedoids(distances, 6, np.random.default_rng(start)) for start in range(20)]
    better = [best <= total_deviation(distances, rows) + 1e-9 for rows in alternating]
    assert sum(better) >= 14


@pytest.mark.parametrize("seed", SEEDS)
def test_every_medoid_is_the_best_of_its_own_cluster(seed: int) -> None:
    distances = distances_of(seed, 50)

    medoids = kmedoids(distances, 5, np.random.default_rng(seed))

    owners = medoids[distances[medoids].argmin(axis=0)]
    for medoid in medoids:
        members = np.flatnonzero(owners == medoid)
        sums = distances[np.ix_(members, members)].sum(axis=1)
        assert members[sums.argmin()] == medoid


def test_alternating_improves_on_its_random_start() -> None:
    distances = distances_of(1, 200)
    starts = [np.random.default_rng(seed).choice(200, 8, replace=False) for seed in SEEDS]

    ends = [kmedoids(distances, 8, np.random.default_rng(seed)) for seed in SEEDS]

    for start, end in zip(starts, ends, strict=True):
        assert total_deviation(distances, end) < 0.95 * total_deviation(distances, start)


def test_equal_rows_leave_every_medoid_its_cluster() -> None:
    distances = np.zeros((6, 6))

    alternating = kmedoids(distances, 3, np.random.default_rng(0))
    swapped = pam(distances, 3)

    assert len(set(alternating.tolist())) == 3
    assert swapped.tolist() == [0, 1, 2]


@pytest.mark.parametrize("count", [0, 4, 9])
def test_no_more_medoids_than_asked_for_and_than_there_are(count: int) -> None:
    distances = distances_of(2, 4)

    alternating = kmedoids(distances, count, np.random.default_rng(0))
    swapped = pam(distances, count)

    assert len(set(alternating.tolist())) == min(count, 4)
    assert len(set(swapped.tolist())) == min(count, 4)
