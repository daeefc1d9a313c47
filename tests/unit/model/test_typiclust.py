import numpy as np
import pytest
from numpy.typing import NDArray

from model.arrays import NO_ROWS, Features, Mask
from model.typiclust import neighbour_distances, typiclust

BLOB_SIZES = (40, 30, 20, 10)


def on_sphere(points: NDArray[np.float64]) -> Features:
    unit = points / np.linalg.norm(points, axis=1, keepdims=True)
    return np.asarray(unit, dtype=np.float32)


def blobs(seed: int, *sizes: int) -> tuple[Features, NDArray[np.int64]]:
    """Tight blobs, one along each axis; the blob of each row."""
    blob_of = np.repeat(np.arange(len(sizes)), sizes)
    noise = np.random.default_rng(seed).normal(scale=0.02, size=(len(blob_of), len(sizes)))
    return on_sphere(np.eye(len(sizes))[blob_of] + noise), blob_of


def everything(size: int) -> Mask:
    return np.ones(size, dtype=np.bool_)


def plain_neighbour_distance(features: Features, members: list[int], row: int) -> float:
    points = features.astype(np.float64)
    gaps = sorted(
        float(np.linalg.norm(points[row] - points[other])) for other in members if other != row
    )
    nearest = gaps[:20]
    return sum(nearest) / max(1, len(nearest))


@pytest.mark.parametrize("seed", range(5))
def test_picks_one_from_each_blob_the_largest_first(seed: int) -> None:
    features, blob_of = blobs(seed, *BLOB_SIZES)

    rows = typiclust(features, NO_ROWS, 4, everything(100), np.random.default_rng(seed))

    assert blob_of[rows].tolist() == [0, 1, 2, 3]


def test_picks_the_most_typical_row_of_the_blob() -> None:
    features, blob_of = blobs(0, *BLOB_SIZES)

    rows = typiclust(features, NO_ROWS, 4, everything(100), np.random.default_rng(0))

    for blob, row in enumerate(rows):
        members = np.flatnonzero(blob_of == blob).tolist()
        typical = min(members, key=lambda each: plain_neighbour_distance(features, members, each))
        assert row == typical


def test_a_blob_with_a_label_waits_for_those_without() -> None:
    features, blob_of = blobs(1, *BLOB_SIZES)
    labeled = np.array([0, 45])

    rows = typiclust(features, labeled, 2, everything(100), np.random.default_rng(1))

    assert sorted(blob_of[rows].tolist()) == [2, 3]


def test_a_blob_gets_a_second_label_only_when_each_has_one() -> None:
    features, blob_of = blobs(2, *BLOB_SIZES)
    available = everything(100)
    available[blob_of == 2] = False

    rows = typiclust(features, NO_ROWS, 4, available, np.random.default_rng(2))

    assert blob_of[rows].tolist() == [0, 1, 3, 0]


def test_a_small_blob_is_passed_over_while_there_are_larger_ones() -> None:
    features, blob_of = blobs(3, 12, 4, 12)

    rows = typiclust(features, NO_ROWS, 3, everything(28), np.random.default_rng(3))

    assert blob_of[rows].tolist()[:2] in ([0, 2], [2, 0])
    assert blob_of[rows[2]] != 1


def test_small_blobs_are_used_when_there_is_nothing_else() -> None:
    features, blob_of = blobs(4, 3, 4, 2)

    rows = typiclust(features, NO_ROWS, 3, everything(9), np.random.default_rng(4))

    assert blob_of[rows].tolist() == [1, 0, 2]


@pytest.mark.parametrize("count", [1, 7, 60, 200])
def test_returns_as_many_distinct_available_rows_as_wanted(count: int) -> None:
    generator = np.random.default_rng(5)
    features = on_sphere(generator.normal(size=(80, 5)))
    available = generator.random(80) < 0.6
    labeled = np.flatnonzero(available)[:6]

    rows = typiclust(features, labeled, count, available, generator).tolist()

    free = set(np.flatnonzero(available).tolist()) - set(labeled.tolist())
    assert len(rows) == len(set(rows)) == min(count, len(free))
    assert set(rows) <= free


def test_nothing_wanted_is_nothing_chosen() -> None:
    features, _ = blobs(6, 5, 5)

    rows = typiclust(features, NO_ROWS, 0, everything(10), np.random.default_rng(6))

    assert len(rows) == 0


def test_neighbour_distances_are_those_of_the_plain_definition() -> None:
    generator = np.random.default_rng(7)
    features = on_sphere(generator.normal(size=(60, 5)))
    clusters = np.repeat([0, 1, 3, 2], [45, 12, 2, 1])

    found = neighbour_distances(features, clusters)

    expected = [
        plain_neighbour_distance(features, np.flatnonzero(clusters == clusters[row]).tolist(), row)
        for row in range(60)
    ]
    np.testing.assert_allclose(found, expected, atol=1e-7)
