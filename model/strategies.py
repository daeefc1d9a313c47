"""Every method of the paper, told the way the paper tells it.

Most are the one greedy with another uncertainty or another kernel and take a line or two here;
those that are not have a small module of their own.
"""

from collections.abc import Callable

import numpy as np

from model.activeft import activeft
from model.alfamix import linear_gradients, mixing_uncertainty
from model.arrays import NO_ROWS, Rows, Uncertainty
from model.badge import GradientMetric, gradient_distances, gradient_embeddings, residuals
from model.classifier import LinearClassifier
from model.clustering import kmeans, kmeans_plus_plus, nearest_rows
from model.coreset import k_center_greedy
from model.coverage import select, select_by
from model.errors import ModelError
from model.greedy import Selection
from model.kernels import BadgeKernel, GaussianKernel, TopHatKernel
from model.medoids import kmedoids, pam
from model.probcover import purity_radius
from model.radius import DEFAULT_RADIUS
from model.situation import PAPERS, Measure, Situation
from model.typiclust import typiclust
from model.uncertainty import confidence, entropy, margin

Strategy = Callable[[Situation, int], Selection]
Cluster = Callable[[Situation, int], Rows]

CONSIDERED = 10  # times as many items as are wanted go into weighted k-means (Zhdanov 2019)


def uherding(measure: Measure, *, scaled: bool = True, adapted: bool = True) -> Strategy:
    """Uncertainty Herding.

    Args:
        measure: How probabilities become uncertainty.
        scaled: Whether the temperature is fitted; if not it is 1.
        adapted: Whether the radius follows the labels; if not it is the default.
    """

    def choose(situation: Situation, count: int) -> Selection:
        radius = situation.radius.value if adapted else DEFAULT_RADIUS
        return _herd(situation, count, situation.uncertainty(measure, scaled=scaled), radius)

    return choose


def uherding_of_the_paper(situation: Situation, count: int) -> Selection:
    """Uncertainty Herding with one random split and the smallest distance, to the letter."""
    return uherding(margin)(situation.adapted(PAPERS), count)


def maxherding(situation: Situation, count: int) -> Selection:
    """Every item weighs the same and the radius stays: coverage of the pool alone."""
    return _herd(situation, count, np.ones(len(situation.features)), DEFAULT_RADIUS)


def probcover(situation: Situation, count: int) -> Selection:
    """An item is covered or not: the kernel is a top hat, as wide as balls stay pure."""
    generator = np.random.default_rng(0)  # the same radius in every round
    radius = purity_radius(situation.features, situation.class_count, generator)
    kernel = TopHatKernel(situation.features, radius, situation.distances)
    everything = np.ones(len(situation.features))
    return select_by(
        kernel, everything, situation.labeled, count=count, candidates=situation.available
    )


def weighted_kmeans(situation: Situation, count: int) -> Selection:
    """Only the most uncertain items count, each by its uncertainty (Proposition 3)."""
    uncertainty = situation.uncertainty(margin, scaled=False)
    least = np.sort(uncertainty)[-min(CONSIDERED * count, len(uncertainty))]
    return _herd(situation, count, uncertainty * (uncertainty >= least), DEFAULT_RADIUS)


def alfa_mix(situation: Situation, count: int) -> Selection:
    """Only items whose class changes when mixed with another one's count (Proposition 4)."""
    classifier = situation.classifier
    if classifier is None:
        return at_random(situation, count)
    if not isinstance(classifier, LinearClassifier):
        raise ModelError("alfa-mix mixes features: it needs the classifier `linear`.")
    gradients = linear_gradients(classifier, situation.probabilities())
    uncertainty = mixing_uncertainty(
        situation.features,
        situation.labels,
        gradients,
        classifier.logits,
        count=count,
        available=situation.available,
    )
    if not uncertainty.any():  # as with one class only, which nothing can be mixed into
        return at_random(situation, count)
    return _herd(situation, count, uncertainty, DEFAULT_RADIUS)


def badge(cluster: Cluster) -> Strategy:
    """Cluster the loss gradients of the last layer, whatever the way."""

    def choose(situation: Situation, count: int) -> Selection:
        wanted = min(count, int(situation.available.sum()))
        return _unscored(cluster(situation, wanted) if wanted > 0 else NO_ROWS)

    return choose


def badge_herding(*, adapted: bool) -> Strategy:
    """Herding with BADGE's kernel; coverage alone while all gradients are 0 (Proposition 5)."""

    def choose(situation: Situation, count: int) -> Selection:
        temperature = situation.calibration.temperature if adapted else 1.0
        radius = situation.radius.value if adapted else DEFAULT_RADIUS
        short = residuals(situation.probabilities(temperature))
        if not short.any():
            return maxherding(situation, count)
        gaussian = GaussianKernel(situation.features, radius, situation.distances)
        return select_by(
            BadgeKernel(gaussian, short),
            np.ones(len(short)),
            situation.labeled,
            count=count,
            candidates=situation.available,
        )

    return choose


def by_kmeans_plus_plus(situation: Situation, count: int) -> Rows:
    """The random start of k-means, as BADGE has it."""
    metric = GradientMetric(situation.probabilities(), situation.features)
    return kmeans_plus_plus(metric, count, situation.generator, available=situation.available)


def by_kmeans(situation: Situation, count: int) -> Rows:
    """The rows nearest to the centres."""
    points = gradient_embeddings(situation.probabilities(), situation.features)
    free = np.flatnonzero(situation.available)
    clusters = kmeans(points[free], count, situation.generator)
    return nearest_rows(points, clusters, situation.available)


def by_kmedoids(situation: Situation, count: int) -> Rows:
    """Medoids by alternation."""
    free = np.flatnonzero(situation.available)
    distances = gradient_distances(situation.probabilities()[free], situation.features[free])
    return np.asarray(free[kmedoids(distances, count, situation.generator)])


def by_pam(situation: Situation, count: int) -> Rows:
    """Medoids by swapping."""
    free = np.flatnonzero(situation.available)
    distances = gradient_distances(situation.probabilities()[free], situation.features[free])
    return np.asarray(free[pam(distances, count)])


def typical(situation: Situation, count: int) -> Selection:
    """TypiClust: the most typical item of each cluster."""
    return _unscored(
        typiclust(
            situation.features,
            situation.labeled,
            count,
            situation.available,
            situation.generator,
        )
    )


def coreset(situation: Situation, count: int) -> Selection:
    """The item farthest from everything labelled, again and again."""
    return k_center_greedy(situation.features, situation.labeled, count, situation.available)


def active_finetuning(situation: Situation, count: int) -> Selection:
    """ActiveFT: items nearest to learned points that together resemble the pool."""
    rows = activeft(situation.features, count, situation.available, situation.generator)
    return _unscored(rows)


def most_uncertain(measure: Measure) -> Strategy:
    """The items that the classifier is least sure of; by chance while there is no classifier."""

    def choose(situation: Situation, count: int) -> Selection:
        return _largest(situation, situation.uncertainty(measure, scaled=False), count)

    return choose


def at_random(situation: Situation, count: int) -> Selection:
    """Every item has the same chance."""
    return _largest(situation, np.zeros(len(situation.features)), count)


def _herd(situation: Situation, count: int, uncertainty: Uncertainty, radius: float) -> Selection:
    return select(
        situation.features,
        uncertainty,
        situation.labeled,
        count=count,
        radius=radius,
        candidates=situation.available,
        distances=situation.distances,
        graph=situation.graph,
        on_progress=situation.on_progress,
    )


def _largest(situation: Situation, score: Uncertainty, count: int) -> Selection:
    """The available rows with the largest score; chance decides between equals."""
    rows = situation.generator.permutation(np.flatnonzero(situation.available))
    rows = rows[np.argsort(-score[rows], kind="stable")][: max(count, 0)]
    return Selection(rows=rows, gains=score[rows])


def _unscored(rows: Rows) -> Selection:
    return Selection(rows=rows, gains=np.zeros(len(rows)))


STRATEGIES: dict[str, Strategy] = {
    "uherding": uherding(margin),
    "uherding-paper": uherding_of_the_paper,
    "uherding-entropy": uherding(entropy),
    "uherding-confidence": uherding(confidence),
    "uherding-no-temperature": uherding(margin, scaled=False),
    "uherding-no-radius": uherding(margin, adapted=False),
    "uherding-fixed": uherding(margin, scaled=False, adapted=False),
    "maxherding": maxherding,
    "probcover": probcover,
    "typiclust": typical,
    "coreset": coreset,
    "activeft": active_finetuning,
    "weighted-kmeans": weighted_kmeans,
    "alfa-mix": alfa_mix,
    "badge": badge(by_kmeans_plus_plus),
    "badge-kmeans": badge(by_kmeans),
    "badge-kmedoids": badge(by_kmedoids),
    "badge-pam": badge(by_pam),
    "badge-maxherding": badge_herding(adapted=False),
    "badge-adapted": badge_herding(adapted=True),
    "margin": most_uncertain(margin),
    "entropy": most_uncertain(entropy),
    "confidence": most_uncertain(confidence),
    "random": at_random,
}
