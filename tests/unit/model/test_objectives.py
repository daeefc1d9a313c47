import numpy as np
import pytest

from model.arrays import Features
from model.foreseen import ForeseenCoverage
from model.gaussian_pool import GaussianPool
from model.greedy import ignore
from model.kept_pool import KeptPool
from model.kernels import GaussianKernel
from model.objectives import Coverage, DenseCoverage, KernelCoverage, PairedCoverage, Weights
from model.sweep import PairsAbove, sweep
from tests.support import reference_arrays
from tests.support.pools import clustered, some_rows, spread, uncertainties, with_copies

SIZE = 560  # two blocks
TIE = 1e-12
KINDS = ["kernel", "dense", "kept", "paired", "foreseen"]

kinds = pytest.mark.parametrize("kind", KINDS)
radii = pytest.mark.parametrize("radius", [0.02, 0.3, 1.5])


def crowded() -> Features:
    return with_copies(clustered(0, 500, 16), 1, SIZE)


def weights() -> Weights:
    return np.asarray(uncertainties(2, SIZE, zeros=0.2) / SIZE)


def make(kind: str, features: Features, weights: Weights, radius: float) -> Coverage:
    """An objective that begins with nothing covered."""
    covered, pool = np.zeros(len(features)), GaussianPool(features, radius)
    if kind == "kernel":
        return KernelCoverage(GaussianKernel(features, radius), weights, covered, TIE)
    if kind == "foreseen":
        return ForeseenCoverage(
            pool,
            weights,
            covered,
            TIE,
            available=np.ones(len(features), dtype=np.bool_),
            count=20,
            memory=1_000_000,
            on_progress=ignore,
        )
    if kind == "paired":
        near = PairsAbove(pool, covered)
        sweep(pool, [near], ignore)
        return PairedCoverage(pool, weights, covered, TIE, near.pairs())
    return DenseCoverage(KeptPool(pool) if kind == "kept" else pool, weights, covered, TIE)


@radii
@kinds
def test_gains_are_exact_and_bounds_are_above_them_whatever_is_chosen(
    kind: str, radius: float
) -> None:
    objective = make(kind, crowded(), weights(), radius)
    kernel = reference_arrays.similarities(crowded(), radius)
    shuffled, covered = some_rows(3, SIZE, SIZE), np.zeros(SIZE)
    objective.foreseen()

    for row in (0, 17, 250, 251):
        true = np.maximum(kernel - covered, 0.0)[shuffled] @ weights()
        bounds, gains = objective.bounds(shuffled), objective.gains(shuffled[:60])
        np.testing.assert_allclose(gains, true[:60], rtol=0.0, atol=1e-15)
        assert (bounds - true).min() >= -1e-15
        assert (bounds - true).max() <= 0.05 * true.max()
        objective.add(row)
        covered = np.maximum(covered, kernel[row])


@kinds
def test_what_is_covered_stays_covered(kind: str) -> None:
    objective = make(kind, crowded(), weights(), 0.5)
    before = objective.covered.copy()

    for row in (5, 6, 5, 400):
        objective.add(row)
        assert (objective.covered >= before).all()
        before = objective.covered.copy()

    np.testing.assert_allclose(objective.covered[[5, 6, 400]], 1.0, atol=1e-15)


@kinds
def test_copies_gain_the_same_to_the_last_bit(kind: str) -> None:
    features = np.tile(spread(0, 30, 8), (3, 1))
    objective = make(kind, features, np.asarray(uncertainties(1, 90) / 90), 0.4)

    gains = objective.gains(np.arange(90))

    assert gains[:30].tolist() == gains[30:60].tolist() == gains[60:].tolist()


@kinds
def test_a_row_alone_gains_its_own_weight(kind: str) -> None:
    objective = make(kind, spread(0, 40, 32), np.linspace(0.0, 1.0, 40), radius=0.02)

    gains = objective.gains(np.array([3, 0, 39]))

    np.testing.assert_allclose(gains, [3 / 39, 0.0, 1.0], atol=1e-15)


@pytest.mark.parametrize("size", [1500, 8192, 20_000])
def test_sums_of_many_equal_terms_are_bounds_too(size: int) -> None:
    pool = GaussianPool(np.zeros((size, 2), dtype=np.float32), 1.0)
    weights, row = np.full(size, 1.0 / size), np.array([5])

    for share in np.linspace(0.0, 0.95, 60):
        objective = DenseCoverage(pool, weights, np.full(size, share), TIE)
        assert objective.bounds(row)[0] >= 1.0 - share


def test_a_row_without_pairs_adds_nothing() -> None:
    pool, covered = GaussianPool(spread(0, 6, 32), 0.02), np.zeros(6)
    covered[[1, 2, 5]] = 1.0  # the others are too far away to matter
    near = PairsAbove(pool, np.where(covered > 0.0, 2.0, 0.0))
    sweep(pool, [near], ignore)
    objective = PairedCoverage(pool, np.full(6, 0.5), covered, TIE, near.pairs())

    bounds = objective.bounds(np.array([5, 1, 0, 2, 3, 5]))

    np.testing.assert_allclose(bounds, [0.0, 0.0, 0.5, 0.0, 0.5, 0.0], atol=1e-5)
