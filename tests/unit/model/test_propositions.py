"""The paper's theorem, propositions and corollary, each as a check of what the code computes."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from model.arrays import NO_ROWS, UNLABELED, Features, Labels
from model.badge import residuals
from model.classifier import train
from model.coverage import coverage, select, select_by
from model.kernels import BadgeKernel, GaussianKernel
from model.radius import DEFAULT_RADIUS
from model.situation import Situation
from model.strategies import STRATEGIES
from tests.support import reference

CLASSES = 3


def pool(size: int, seed: int = 0) -> tuple[Features, Labels]:
    generator = np.random.default_rng(seed)
    truth = generator.integers(CLASSES, size=size)
    points = np.eye(5)[truth] + generator.normal(scale=0.5, size=(size, 5))
    unit = points / np.linalg.norm(points, axis=1, keepdims=True)
    return unit.astype(np.float32), truth.astype(np.int64)


def situation(size: int, labeled: int, seed: int = 0) -> Situation:
    features, truth = pool(size, seed)
    labels = np.where(np.arange(size) < labeled, truth, UNLABELED)
    return Situation(features, labels, labels == UNLABELED, seed, CLASSES)


def kernel_matrix(features: Features, radius: float) -> NDArray[np.float64]:
    return np.array([[reference.similarity(a, b, radius) for b in features] for a in features])


def greedy_medoids(
    kernel: NDArray[np.float64], weights: NDArray[np.float64], labeled: int, count: int
) -> list[int]:
    """Greedy kernel k-medoids: least weighted squared distance in the kernel's own space."""
    medoids = list(range(labeled))
    for _ in range(count):
        deviations = {
            row: float((weights * (2 - 2 * kernel[:, [*medoids, row]]).min(axis=1)).sum())
            for row in range(len(kernel))
            if row not in medoids
        }
        medoids.append(min(deviations, key=lambda row: (round(deviations[row], 10), row)))
    return medoids[labeled:]


def test_theorem_1_the_pool_estimates_the_coverage_of_everything_it_was_drawn_from() -> None:
    generator = np.random.default_rng(0)
    population = generator.normal(size=(20_000, 2))
    population = (population / np.linalg.norm(population, axis=1, keepdims=True)).astype(np.float32)
    drawn, batch, failure = 2_000, 3, 0.05
    lipschitz = math.sqrt(2 / math.e) / DEFAULT_RADIUS
    bound = math.sqrt(batch / drawn) * (
        8 * lipschitz
        + math.sqrt(2 * math.log(drawn / batch) + 2 / batch * math.log(2 / failure)) / 2
    )
    sample = population[generator.permutation(len(population))[:drawn]]

    errors = []
    for _ in range(40):
        chosen = population[generator.integers(len(population), size=batch)]
        truth, estimate = (
            coverage(
                np.vstack([chosen, points]),
                np.r_[np.zeros(batch), np.full(len(points), (len(points) + batch) / len(points))],
                np.arange(batch),
                DEFAULT_RADIUS,
            )
            for points in (population, sample)
        )
        errors.append(abs(truth - estimate))

    assert 0 < max(errors) <= bound < 1
    # These sets did not look at the sample, so that Hoeffding's far tighter bound holds too.
    assert max(errors) <= math.sqrt(math.log(2 * 40 / failure) / (2 * drawn))


@pytest.mark.parametrize("constant", [0.1, 1.0, 7.0])
def test_proposition_1_constant_uncertainty_is_maxherding(constant: float) -> None:
    features, _ = pool(40)
    constants = np.full(40, constant)

    chosen = select(features, constants, NO_ROWS, count=6, radius=DEFAULT_RADIUS)

    rows, gains = reference.select(features.tolist(), [1.0] * 40, [], 6, DEFAULT_RADIUS)
    assert chosen.rows.tolist() == rows
    np.testing.assert_allclose(chosen.gains, constant * np.array(gains), rtol=1e-9)
    assert STRATEGIES["maxherding"](situation(40, labeled=0), 6).rows.tolist() == rows


def test_proposition_2_a_vanishing_radius_leaves_the_uncertainty_alone() -> None:
    features, _ = pool(40)
    uncertainty = np.random.default_rng(1).random(40)
    chosen = np.array([3, 17, 30])

    covered = coverage(features, uncertainty, chosen, radius=1e-4)
    order = select(features, uncertainty, NO_ROWS, count=40, radius=1e-4)

    assert covered * 40 == pytest.approx(uncertainty[chosen].sum(), rel=1e-9)
    assert order.rows.tolist() == np.argsort(-uncertainty).tolist()


def test_proposition_3_weighted_k_means_is_herding_with_a_cut_off_uncertainty() -> None:
    here = situation(60, labeled=9)
    probabilities = here.probabilities()
    uncertainty = np.array([reference.margin(row) for row in probabilities])
    uncertainty[:9] = 0.0
    most = set(np.argsort(-uncertainty)[:20].tolist())
    weights = np.array([u if row in most else 0.0 for row, u in enumerate(uncertainty)])

    chosen = STRATEGIES["weighted-kmeans"](here, 2)

    kernel = kernel_matrix(here.features, DEFAULT_RADIUS)
    assert chosen.rows.tolist() == greedy_medoids(kernel, weights, labeled=9, count=2)


def test_proposition_4_alfa_mix_is_herding_over_items_whose_class_can_be_mixed_away() -> None:
    here = situation(60, labeled=9)
    classifier = train(here.features[:9], here.labels[:9])
    predicted = classifier.logits(here.features).argmax(axis=1)
    anchors = [here.features[:9][here.labels[:9] == c].mean(axis=0) for c in range(CLASSES)]

    def changes(row: int, cap: float) -> bool:
        probabilities = here.probabilities()[row]
        gradient = classifier.weights @ (probabilities - np.eye(CLASSES)[predicted[row]])
        for anchor in anchors:
            offset = anchor - here.features[row]
            step = cap * np.linalg.norm(offset) * gradient / np.linalg.norm(gradient)
            share = np.clip(step / offset, 0, cap)
            mixed = (share * anchor + (1 - share) * here.features[row]).astype(np.float32)
            if classifier.logits(mixed[None]).argmax() != predicted[row]:
                return True
        return False

    weights = np.zeros(60)
    for cap in (1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1):
        weights = np.array([row >= 9 and changes(row, cap) for row in range(60)], dtype=float)
        if weights.sum() >= 4:
            break

    chosen = STRATEGIES["alfa-mix"](here, 4)

    kernel = kernel_matrix(here.features, DEFAULT_RADIUS)
    assert chosen.rows.tolist() == greedy_medoids(kernel, weights, labeled=9, count=4)


def test_proposition_5_badge_with_equal_probabilities_is_herding_within_the_predicted_class() -> (
    None
):
    features, truth = pool(30)
    nearly_equal = np.full((30, CLASSES), 1 / CLASSES)
    nearly_equal[np.arange(30), truth] += 1e-9
    gaussian = GaussianKernel(features, DEFAULT_RADIUS)

    chosen = select_by(
        BadgeKernel(gaussian, residuals(nearly_equal)), np.ones(30), np.array([0, 1]), count=5
    )

    same_class = truth[:, None] == truth[None, :]
    modified = (same_class - 1 / CLASSES) * kernel_matrix(features, DEFAULT_RADIUS)
    rows = [0, 1]
    for _ in range(5):
        totals = {
            row: modified[:, [*rows, row]].max(axis=1).sum() for row in range(30) if row not in rows
        }
        rows.append(max(totals, key=lambda row: totals[row]))
    assert chosen.rows.tolist() == rows[2:]


def test_proposition_5_badge_with_a_vanishing_radius_looks_at_each_gradient_alone() -> None:
    features, _ = pool(400)
    generator = np.random.default_rng(0)
    short = residuals(generator.dirichlet(np.ones(CLASSES), size=400))
    lengths = np.einsum("nc,nc->n", short, short)
    kernel = BadgeKernel(GaussianKernel(features, 1e-4), short)
    labeled = np.array([5, 9])

    chosen = select_by(kernel, np.ones(400), labeled, count=1).rows[0]

    # Then max h(x, x') = -|q(x)|^2 - min |q(x')|^2 up to the chosen item's own 1 / n.
    assert lengths[chosen] <= lengths.min() + 4 * lengths.max() / 400


def test_corollary_greedy_reaches_most_of_the_best_coverage() -> None:
    features, _ = pool(9)
    uncertainty = np.random.default_rng(3).random(9)

    total = select(features, uncertainty, np.array([0]), count=3, radius=0.5).gains.sum()

    best = reference.best_total_gain(features.tolist(), uncertainty.tolist(), [0], 3, 0.5)
    assert (1 - 1 / math.e) * best <= total <= best + 1e-12
