from collections import Counter
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from model.arrays import NO_ROWS, Features, Rows
from model.gaussian_pool import BLOCK, GaussianPool, slices
from model.kept_pool import KeptPool
from tests.support import reference_arrays
from tests.support.pools import clustered, some_rows, spread, with_copies

SIZE = BLOCK + 88
Floats = NDArray[np.float64]

dimensions = pytest.mark.parametrize("dimension", [16, 384, 1280])
offsets = pytest.mark.parametrize("offset", [0.0, 30.0])
radii = pytest.mark.parametrize("radius", [0.05, 0.3, 1.0])


@cache
def pool_of(dimension: int, offset: float) -> Features:
    """Clusters with copies and near-copies, at the origin or far from it."""
    distinct = clustered(dimension, SIZE - 100, dimension, clusters=20, width=0.3 / dimension**0.5)
    copies = with_copies(distinct, 1, 100)
    copies[50:] += np.float32(1e-4)
    return np.concatenate([distinct, copies]) + np.float32(offset)


@cache
def squared_of(dimension: int, offset: float) -> Floats:
    """Squared distances of all pairs, off by 1e-14 or so."""
    points = pool_of(dimension, offset).astype(np.float64)
    points -= points.mean(axis=0)
    lengths = (points**2).sum(axis=1)
    squared = lengths[:, None] + lengths - 2.0 * (points @ points.T)
    return np.asarray(np.maximum(squared, 0.0))


def exponents_of(pool: GaussianPool) -> Floats:
    """All pairs of the pool in their places, those below the diagonal as 0."""
    found = np.zeros((len(pool), len(pool)))
    for rows in pool.strips():
        for columns, block in pool.blocks_of(rows, exponents=True):
            found[rows, columns] = block.numpy()
    return np.triu(found)


@radii
@offsets
@dimensions
def test_exponents_are_never_too_low_and_too_high_by_no_more_than_stated(
    dimension: int, offset: float, radius: float
) -> None:
    pool = GaussianPool(pool_of(dimension, offset), radius)
    true = np.triu(-squared_of(dimension, offset) / radius**2)

    excess = exponents_of(pool) - true

    assert excess.min() >= -1e-10
    assert excess.max() <= 2.0 * pool.error


@radii
@offsets
@dimensions
def test_similarities_to_all_points_are_bounds_too(
    dimension: int, offset: float, radius: float
) -> None:
    pool = GaussianPool(pool_of(dimension, offset), radius)
    rows = np.array([SIZE - 1, 0, BLOCK, 7])
    true = np.exp(-squared_of(dimension, offset)[rows] / radius**2)

    upper = np.concatenate([block.numpy().copy() for _, block in pool.upper_rows(rows)])
    lower = pool.lower(rows, pool.right).numpy()

    shown = true > 1e-30  # what is smaller is 0 in float32
    assert (upper >= true * (1.0 - 1e-10))[shown].all()
    assert (upper <= true * np.exp(2.0 * pool.error) * (1.0 + 1e-6))[shown].all()
    assert (lower <= true * (1.0 + 1e-10))[shown].all()
    assert (lower >= true * np.exp(-2.0 * pool.error) * (1.0 - 1e-6))[shown].all()


@dimensions
def test_the_error_does_not_grow_with_the_distance_from_the_origin(dimension: int) -> None:
    near = GaussianPool(pool_of(dimension, 0.0), 0.3)
    far = GaussianPool(pool_of(dimension, 30.0), 0.3)

    assert far.error == pytest.approx(near.error, rel=0.01)
    assert near.error < 1e-4


@pytest.mark.parametrize("size", [1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 5])
def test_every_pair_appears_exactly_once(size: int) -> None:
    pool = GaussianPool(spread(0, size, 2), 1.0)
    seen = np.zeros((size, size), dtype=np.int64)

    for rows in pool.strips():
        for columns, block in pool.blocks_of(rows):
            assert block.shape == (rows.stop - rows.start, columns.stop - columns.start)
            seen[rows, columns] += 1
            if rows != columns:
                seen[columns, rows] += 1

    assert (seen == 1).all()


def test_kept_similarities_are_those_of_the_blocks_on_both_sides_of_the_diagonal() -> None:
    pool = GaussianPool(pool_of(16, 0.0), 0.3)

    kept = KeptPool(pool).matrix.numpy()

    for rows in pool.strips():
        for columns, block in pool.blocks_of(rows):
            np.testing.assert_allclose(kept[rows, columns], block.numpy(), rtol=2.0 * pool.error)
    np.testing.assert_allclose(kept, kept.T, rtol=2.0 * pool.error)


def test_kept_similarities_survive_their_use() -> None:
    pool = KeptPool(GaussianPool(spread(0, 30, 4), 0.5))
    before = pool.matrix.numpy().copy()

    for _, block in pool.upper_rows(np.arange(30)):
        block.zero_()

    np.testing.assert_array_equal(pool.matrix.numpy(), before)


def test_a_row_is_most_similar_to_itself_where_it_is_among_the_points() -> None:
    features = with_copies(spread(0, 20, 8), 1, 50)
    points = np.array([3, 10, 49, 20])
    pool = GaussianPool(features, 0.3, points)
    kernel = reference_arrays.similarities(features, 0.3)

    upper = np.concatenate([block.numpy().copy() for _, block in pool.upper_rows(np.arange(50))])

    np.testing.assert_allclose(upper, kernel[:, points], atol=1e-3)
    np.testing.assert_allclose(upper[points, np.arange(4)], 1.0, atol=1e-5)


def test_points_may_come_in_any_order() -> None:
    features = spread(0, 40, 8)
    points = np.random.default_rng(1).permutation(40)

    _, upper = next(GaussianPool(features, 0.8, points).upper_rows(np.arange(40)))

    kernel = reference_arrays.similarities(features, 0.8)
    np.testing.assert_allclose(upper.numpy(), kernel[:, points], atol=1e-3)


def test_similarities_computed_are_counted() -> None:
    pool = GaussianPool(spread(0, 100, 8), 0.5)
    counts = []

    for rows in pool.strips():
        list(pool.blocks_of(rows))
    counts.append(pool.effort.similarities)
    list(pool.upper_rows(np.arange(7)))
    counts.append(pool.effort.similarities)
    pool.exact(0, np.arange(13))
    counts.append(pool.effort.similarities)
    pool.of_rows(np.arange(50)).exact(0, np.arange(11))
    counts.append(pool.effort.similarities)

    assert counts == [10_000, 10_700, 10_713, 10_724]


@radii
@offsets
@dimensions
def test_exact_similarities_are_correct_to_the_last_digits(
    dimension: int, offset: float, radius: float
) -> None:
    features = pool_of(dimension, offset)
    points = np.arange(SIZE)[::-3]

    found = GaussianPool(features, radius, points).exact(5, np.arange(len(points)))

    squared = reference_arrays.squared_distances(features, np.array([5]))[0, points]
    np.testing.assert_allclose(found, np.exp(-squared / radius**2), rtol=0.0, atol=1e-14)


@radii
@offsets
@pytest.mark.parametrize("labels", [1, 3, 100])
def test_the_nearest_label_covers_every_point(offset: float, radius: float, labels: int) -> None:
    features = pool_of(16, offset)
    labeled = np.append(some_rows(0, SIZE, labels), SIZE - 1)  # the last row is a near-copy

    covered = GaussianPool(features, radius).covered_by(labeled)

    squared = reference_arrays.squared_distances(features, labeled).min(axis=0)
    np.testing.assert_allclose(covered, np.exp(-squared / radius**2), rtol=0.0, atol=1e-12)
    assert (covered[labeled] == 1.0).all()


def test_of_labels_that_are_almost_equally_far_the_nearest_counts() -> None:
    points = spread(0, 300, 8)
    labels = np.concatenate([points[:1] * np.float32(1.0 + step * 2e-7) for step in range(20)])
    features = np.concatenate([labels, points, points[:3]])

    covered = GaussianPool(features, 0.1).covered_by(np.arange(20))

    squared = reference_arrays.squared_distances(features, np.arange(20)).min(axis=0)
    np.testing.assert_allclose(covered, np.exp(-squared / 0.1**2), rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("points", [None, np.array([5, 0, 17])])
def test_without_labels_nothing_is_covered(points: Rows | None) -> None:
    pool = GaussianPool(spread(0, 20, 4), 0.5, points)

    covered = pool.covered_by(NO_ROWS)

    assert covered.tolist() == [0.0] * len(pool.points)


def test_some_points_are_covered_as_they_are_among_all() -> None:
    features, labeled, points = spread(0, 90, 8), np.array([3, 50]), np.array([7, 50, 2])

    some = GaussianPool(features, 0.7, points).covered_by(labeled)

    every = GaussianPool(features, 0.7).covered_by(labeled)
    np.testing.assert_allclose(some, every[points], rtol=0.0, atol=1e-15)


def test_the_pool_of_some_rows_has_their_similarities() -> None:
    features, rows = spread(0, 90, 8), np.array([7, 3, 80])

    some = GaussianPool(features, 0.7).of_rows(rows)

    kernel = reference_arrays.similarities(features[rows], 0.7)
    np.testing.assert_allclose(exponents_of(some), np.triu(np.log(kernel)), atol=1e-3)
    np.testing.assert_allclose(some.exact(0, np.arange(3)), kernel[0], atol=1e-14)


def test_copies_have_the_same_number_and_others_another() -> None:
    features = spread(0, 4, 8)[[0, 1, 0, 2, 1, 3]]

    numbers = GaussianPool(features, 0.5).alike(np.arange(6)).tolist()

    assert [numbers.index(number) for number in numbers] == [0, 1, 0, 3, 1, 5]


def test_slices_are_consecutive_and_complete() -> None:
    parts = list(slices(17, 5, start=2))

    assert Counter(row for part in parts for row in range(17)[part]) == Counter(range(2, 17))
    assert [part.stop - part.start for part in parts] == [5, 5, 5]
