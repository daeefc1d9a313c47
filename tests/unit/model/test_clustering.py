import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from model.arrays import NO_ROWS, Mask
from model.clustering import (
    Clusters,
    EuclideanMetric,
    _weighted_means,
    kmeans,
    kmeans_plus_plus,
    nearest_rows,
)

Numbers = NDArray[np.float64]


def on_line(*places: float) -> Numbers:
    return np.array(places, dtype=np.float64)[:, None]


def cloud(seed: int, size: int = 300, dimension: int = 5) -> Numbers:
    return np.random.default_rng(seed).normal(size=(size, dimension))


def all_but(size: int, *rows: int) -> Mask:
    mask = np.ones(size, dtype=np.bool_)
    mask[list(rows)] = False
    return mask


def chi_square(drawn: list[int], expected: Numbers) -> float:
    counts = np.bincount(drawn, minlength=len(expected))
    likely = expected > 0
    assert counts[~likely].sum() == 0
    shares = expected[likely] * len(drawn)
    return float(((counts[likely] - shares) ** 2 / shares).sum())


def inertia(points: Numbers, clusters: Clusters) -> float:
    return float(np.square(points - clusters.centres[clusters.assignment]).sum())


def test_the_metric_is_the_squared_distance() -> None:
    points = cloud(0, size=40)

    squared = EuclideanMetric(points).squared_distances_to(7)

    np.testing.assert_allclose(squared, np.square(points - points[7]).sum(axis=1), atol=1e-12)


def test_a_row_is_drawn_in_proportion_to_its_squared_distance_to_what_is_covered() -> None:
    metric = EuclideanMetric(on_line(0, 1, 2, 3))
    generator = np.random.default_rng(0)

    drawn = [
        int(kmeans_plus_plus(metric, 1, generator, covered=np.array([0]))[0]) for _ in range(4000)
    ]

    assert chi_square(drawn, np.array([0, 1, 4, 9]) / 14) < 13.8  # 1 in 1,000 by chance


def test_a_drawn_row_repels_the_next_one() -> None:
    metric = EuclideanMetric(on_line(0, 4, 5, 8))
    generator = np.random.default_rng(1)

    pairs = [
        kmeans_plus_plus(metric, 2, generator, covered=np.array([0])).tolist() for _ in range(9000)
    ]
    after_the_last = [second for first, second in pairs if first == 3]

    assert chi_square(after_the_last, np.array([0, 16, 9, 0]) / 25) < 10.8


def test_the_first_row_is_drawn_uniformly() -> None:
    metric = EuclideanMetric(on_line(0, 1, 2, 30))
    generator = np.random.default_rng(2)

    drawn = [int(kmeans_plus_plus(metric, 1, generator)[0]) for _ in range(4000)]

    assert chi_square(drawn, np.full(4, 0.25)) < 16.3


def test_weights_multiply_the_chances() -> None:
    metric = EuclideanMetric(on_line(0, 1, 2))
    generator = np.random.default_rng(3)
    weights = np.array([1.0, 12.0, 1.0])

    drawn = [
        int(kmeans_plus_plus(metric, 1, generator, covered=np.array([0]), weights=weights)[0])
        for _ in range(4000)
    ]

    assert chi_square(drawn, np.array([0, 12, 4]) / 16) < 10.8


def test_equal_rows_are_all_as_likely_once_one_of_them_is_drawn() -> None:
    metric = EuclideanMetric(np.ones((4, 3)))
    generator = np.random.default_rng(4)

    seconds = [
        int(kmeans_plus_plus(metric, 2, generator, covered=np.array([0]))[1]) for _ in range(4000)
    ]

    assert chi_square(seconds, np.full(4, 0.25)) < 16.3


def test_draws_every_available_row_once_and_no_other() -> None:
    metric = EuclideanMetric(cloud(5, size=30))

    drawn = kmeans_plus_plus(metric, 99, np.random.default_rng(5), available=all_but(30, 3, 9))

    assert sorted(drawn.tolist()) == [row for row in range(30) if row not in (3, 9)]


def test_draws_every_available_row_once_where_all_are_equal() -> None:
    metric = EuclideanMetric(np.ones((6, 3)))

    drawn = kmeans_plus_plus(metric, 6, np.random.default_rng(5), available=all_but(6, 3))

    assert sorted(drawn.tolist()) == [0, 1, 2, 4, 5]


def test_nothing_is_drawn_where_nothing_is_available() -> None:
    metric = EuclideanMetric(cloud(6, size=3))

    drawn = kmeans_plus_plus(metric, 2, np.random.default_rng(6), available=all_but(3, 0, 1, 2))

    assert drawn.tolist() == NO_ROWS.tolist()


@pytest.mark.parametrize("seed", range(5))
def test_the_inertia_is_within_five_percent_of_sklearns(seed: int) -> None:
    points = cloud(seed)

    clusters = kmeans(points, 8, np.random.default_rng(seed))

    reference = KMeans(8, n_init=5, random_state=seed).fit(points)
    assert inertia(points, clusters) <= 1.05 * reference.inertia_


def test_float32_gives_the_same_clusters() -> None:
    points = cloud(7).astype(np.float32)

    fast = kmeans(points, 6, np.random.default_rng(7))
    exact = kmeans(points.astype(np.float64), 6, np.random.default_rng(7))

    assert fast.assignment.tolist() == exact.assignment.tolist()


def test_centres_are_the_weighted_means_of_the_points_nearest_to_them() -> None:
    points = cloud(8)
    weights = np.random.default_rng(8).uniform(0.1, 5.0, size=len(points))

    clusters = kmeans(points, 7, np.random.default_rng(8), weights=weights)

    gaps = np.square(points[:, None] - clusters.centres).sum(axis=2)  # (n, k)
    assert clusters.assignment.tolist() == gaps.argmin(axis=1).tolist()
    for cluster, centre in enumerate(clusters.centres):
        inside = clusters.assignment == cluster
        mean = np.average(points[inside], axis=0, weights=weights[inside])
        np.testing.assert_allclose(centre, mean, atol=1e-9)


def test_stops_after_the_given_number_of_iterations() -> None:
    points = cloud(9)

    short = kmeans(points, 8, np.random.default_rng(9), iterations=1)
    long = kmeans(points, 8, np.random.default_rng(9))

    assert inertia(points, short) > inertia(points, long)


def test_fewer_points_than_clusters_are_a_cluster_each() -> None:
    points = on_line(0, 5, 9)

    clusters = kmeans(points, 7, np.random.default_rng(10))

    assert sorted(clusters.centres[:, 0].tolist()) == [0.0, 5.0, 9.0]


def test_more_clusters_than_distinct_points_do_no_harm() -> None:
    points = on_line(0, 0, 0, 1)

    clusters = kmeans(points, 3, np.random.default_rng(11))

    assert inertia(points, clusters) == 0.0


def test_an_empty_cluster_starts_again_at_the_point_that_costs_most() -> None:
    points = on_line(0, 2, 7, 8)
    weights = np.array([1.0, 1.0, 3.0, 1.0])
    clusters = Clusters(on_line(0, -50), np.zeros(4, dtype=np.int64))

    centres = _weighted_means(points, weights, clusters)

    np.testing.assert_allclose(centres[:, 0], [31 / 6, 7.0])


def test_each_cluster_gets_the_row_nearest_to_its_centre() -> None:
    points = on_line(0, 1, 2, 10, 11)
    clusters = Clusters(on_line(1.2, 10.9), np.array([0, 0, 0, 1, 1]))

    rows = nearest_rows(points, clusters, all_but(5))

    assert rows.tolist() == [1, 4]


def test_rows_that_are_taken_or_not_available_are_passed_over() -> None:
    points = on_line(0, 1, 2, 3)
    clusters = Clusters(on_line(1.1, 1.2, 1.3), np.array([0, 0, 2, 2]))

    rows = nearest_rows(points, clusters, all_but(4, 2))

    assert rows.tolist() == [1, 0, 3]


def test_among_rows_that_are_equally_near_the_lowest_is_taken() -> None:
    points = np.tile(cloud(12, size=1), (9, 1))
    clusters = Clusters(points[:2] + 0.3, np.zeros(9, dtype=np.int64))

    rows = nearest_rows(points, clusters, all_but(9, 0))

    assert rows.tolist() == [1, 2]


def test_clusters_beyond_the_available_rows_get_none() -> None:
    points = on_line(0, 1, 2)
    clusters = Clusters(on_line(0, 1, 2), np.arange(3))

    rows = nearest_rows(points, clusters, all_but(3, 0))

    assert rows.tolist() == [1, 2]
