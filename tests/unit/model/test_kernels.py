import numpy as np
import pytest

from model.arrays import Features
from model.badge import residuals
from model.kernels import (
    EXACT,
    BadgeKernel,
    GaussianKernel,
    Kernel,
    PoolDistances,
    TopHatKernel,
    least,
    squared_between,
)
from tests.support import reference

SIZE = 25


def pool() -> Features:
    points = np.random.default_rng(0).normal(size=(SIZE, 4))
    unit = points / np.linalg.norm(points, axis=1, keepdims=True)
    return np.asarray(unit, dtype=np.float32)


def badge_kernel(radius: float) -> BadgeKernel:
    probabilities = np.random.default_rng(1).dirichlet(np.ones(3), size=SIZE)
    return BadgeKernel(GaussianKernel(pool(), radius), residuals(probabilities))


KERNELS = [
    GaussianKernel(pool(), 0.7),
    GaussianKernel(pool(), 0.7, PoolDistances(pool())),
    GaussianKernel(pool(), 0.05),
    TopHatKernel(pool(), 0.7),
    TopHatKernel(pool(), 0.7, PoolDistances(pool())),
    badge_kernel(0.7),
]


@pytest.mark.parametrize("kernel", KERNELS)
def test_blocks_and_columns_agree_within_the_stated_error(kernel: Kernel) -> None:
    rows = np.array([3, 0, 17])

    block = kernel.block(rows)

    for row, similarities in zip(rows, block, strict=True):
        np.testing.assert_allclose(similarities, kernel.column(row), atol=kernel.error + 2 * EXACT)


@pytest.mark.parametrize("kernel", KERNELS)
def test_no_similarity_is_below_0_and_all_are_symmetric(kernel: Kernel) -> None:
    matrix = kernel.block(np.arange(SIZE))

    assert (matrix >= 0).all()
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-12)


@pytest.mark.parametrize("radius", [0.05, 0.7, 3.0])
def test_the_gaussian_kernel_is_the_papers(radius: float) -> None:
    features = pool()

    column = GaussianKernel(features, radius).column(4)

    expected = [reference.similarity(point, features[4], radius) for point in features]
    np.testing.assert_allclose(column, expected, atol=1e-12)


def test_the_top_hat_ends_at_its_radius() -> None:
    features = pool()
    distances = np.linalg.norm(features.astype(np.float64) - features[4], axis=1)

    column = TopHatKernel(features, 0.7).column(4)

    assert column.tolist() == (distances <= 0.7).astype(float).tolist()
    assert column[4] == 1.0


def test_the_badge_kernel_differs_from_the_papers_by_a_constant() -> None:
    kernel = badge_kernel(0.7)
    gaussian = GaussianKernel(pool(), 0.7).block(np.arange(SIZE))
    q = kernel.residuals

    raised = kernel.block(np.arange(SIZE))

    papers = [
        [2 * (q[a] @ q[b]) * gaussian[a, b] - q[a] @ q[a] - q[b] @ q[b] for b in range(SIZE)]
        for a in range(SIZE)
    ]
    constants = raised - np.array(papers)
    np.testing.assert_allclose(constants, constants[0, 0], atol=1e-12)


def test_squared_distances_of_pairs_are_exact() -> None:
    features = np.array([[0.0, 0.0], [3.0, 4.0], [3.0, 4.00001]], dtype=np.float32)

    squared = squared_between(features, np.array([0, 1, 1, 2]), np.array([1, 1, 2, 0]))

    step = np.float64(features[2, 1]) - 4.0
    np.testing.assert_allclose(squared[:3], [25.0, 0.0, step**2], rtol=1e-12)
    assert squared[3] > 25.0


def test_the_least_value_of_each_place_is_found() -> None:
    found = least(np.array([3.0, 1.0, 2.0]), np.array([2, 0, 2]), 4)

    assert found.tolist() == [1.0, np.inf, 2.0, np.inf]
