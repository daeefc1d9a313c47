"""One round as one sentence: labels and features in, the ranking of the pool out."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from model.arrays import UNLABELED, Features, Inputs, Labels, Mask, Probabilities, Uncertainty
from model.calibration import Calibration, softmax
from model.classifier import Classifier, Train, train
from model.coverage import coverage
from model.errors import ModelError
from model.greedy import Selection
from model.greedy import ignore as no_progress
from model.names import DEFAULT_STRATEGY
from model.neighbours import NeighbourGraph
from model.situation import OURS, Adaptation, Situation
from model.strategies import STRATEGIES, Strategy
from model.uncertainty import margin


@dataclass(frozen=True, slots=True)
class Ranking:
    """What one round found out about the pool."""

    selection: Selection
    classifier: Classifier | None  # None: no labels yet
    temperature: float
    probabilities: Probabilities  # (n, class_count), calibrated; 0 for classes without a label
    uncertainty: Uncertainty  # (n,), 0 where labelled
    radius: float
    coverage: float  # 0 to 1: how well the labels from before this round cover the pool
    calibration: Calibration
    warnings: tuple[str, ...]
    seconds: dict[str, float]  # "classifier", "calibration", "selection"


def ignore(step: str) -> None:
    """Listen to no step."""


def rank_pool(  # noqa: PLR0913 (only two are arrays; the rest have names at every call)
    features: Features,
    labels: Labels,
    *,
    class_count: int,
    count: int,
    candidates: Mask | None = None,
    strategy: Strategy = STRATEGIES[DEFAULT_STRATEGY],
    inputs: Inputs | None = None,
    fit: Train = train,
    adaptation: Adaptation = OURS,
    seed: int = 0,
    graph: NeighbourGraph | None = None,
    on_step: Callable[[str], None] = ignore,
    on_progress: Callable[[float], None] = no_progress,
) -> Ranking:
    """Train, calibrate, and choose the rows to label next, most useful first.

    Without labels, with too few or with one class only, every unlabelled item is equally
    uncertain, and Uncertainty Herding chooses by coverage alone; the warnings say so.

    Args:
        features: The whole pool.
        labels: One class id below `class_count` for each row, UNLABELED where there is none.
        class_count: Classes of the project, those without a label included.
        count: How many rows to choose; all that are available if there are fewer.
        candidates: False for rows that must not be chosen.
        strategy: Chooses; Uncertainty Herding unless told otherwise.
        inputs: What the classifier sees, if not the features.
        fit: How the classifier is trained.
        adaptation: How temperature and radius follow the labels.
        seed: Decides what is left to chance, as which labels are held out together.
        graph: Of the features, if it is at hand: with labels it makes selection short.
        on_step: Called with the name of each step as it begins.
        on_progress: Called with the share of the selection that is done.
    """
    _check_labels(features, labels, class_count)
    clock = _Clock(on_step)
    unlabeled = labels == UNLABELED
    available = unlabeled if candidates is None else unlabeled & candidates
    situation = Situation(
        features,
        labels,
        available,
        seed,
        class_count,
        inputs,
        fit,
        adaptation=adaptation,
        graph=graph,
        on_progress=on_progress,
    )
    with clock.step("classifier"):
        classifier = situation.classifier
    with clock.step("calibration"):
        calibration = situation.calibration
    with clock.step("selection"):
        selection = strategy(situation, count)
        radius = situation.radius
        covered = coverage(features, np.ones(len(features)), situation.labeled, radius.value)
    return Ranking(
        selection=selection,
        classifier=classifier,
        temperature=calibration.temperature,
        probabilities=_pool_probabilities(situation, class_count),
        uncertainty=situation.uncertainty(margin),
        radius=radius.value,
        coverage=covered,
        calibration=calibration,
        warnings=(
            *_warnings(labels[situation.labeled], class_count, calibration, radius.note),
            *_estimated(selection),
        ),
        seconds=clock.seconds,
    )


def predict(
    classifier: Classifier | None, temperature: float, inputs: Inputs, class_count: int
) -> Probabilities:
    """Calibrated probabilities, (n, class_count), also for items that are not in the pool.

    Classes without a label have probability 0; without a classifier all classes are equal.
    """
    if classifier is None:
        return np.full((len(inputs), class_count), 1.0 / class_count)
    known = softmax(classifier.logits(inputs), temperature)
    return _among_all_classes(known, classifier.classes, class_count)


def _among_all_classes(
    known: Probabilities, classes: NDArray[np.int64], class_count: int
) -> Probabilities:
    probabilities = np.zeros((len(known), class_count))
    probabilities[:, classes] = known
    return probabilities


def _pool_probabilities(situation: Situation, class_count: int) -> Probabilities:
    if situation.classifier is None:
        return predict(None, 1.0, situation.features, class_count)
    known = situation.probabilities(situation.calibration.temperature)
    return _among_all_classes(known, situation.classifier.classes, class_count)


def _warnings(
    labels: Labels, class_count: int, calibration: Calibration, radius_note: str
) -> tuple[str, ...]:
    if len(labels) == 0:
        return ("There are no labels yet: no image is more uncertain than another.",)
    by_coverage = "Until it is, Uncertainty Herding chooses by coverage alone."
    unfitted = "" if calibration.fitted else f"{calibration.note} {by_coverage}"
    missing = class_count - len(np.unique(labels))
    unseen = f"{missing} of {class_count} classes have no label yet: they cannot be predicted."
    found = (unfitted, unseen if missing else "", radius_note)
    return tuple(sentence for sentence in found if sentence)


def _estimated(selection: Selection) -> tuple[str, ...]:
    if selection.error == 0.0:
        return ()
    return (
        "The pool is too large to compare all of its images, so gains are estimates: the coverage "
        f"of the queue is off by at most {selection.error:.2f}, with probability 99 %.",
    )


def _check_labels(features: Features, labels: Labels, class_count: int) -> None:
    if labels.shape != (len(features),):
        raise ModelError(
            f"The pool has {len(features)} rows, so it needs as many labels, got an array of "
            f"shape {labels.shape}."
        )
    if class_count < 1:
        raise ModelError(f"A project needs at least one class, got {class_count}.")
    if ((labels < UNLABELED) | (labels >= class_count)).any():
        raise ModelError(
            f"Labels must be {UNLABELED} (none) or a class from 0 to {class_count - 1}, got "
            f"values from {labels.min()} to {labels.max()}."
        )


class _Clock:
    """Tells that a step begins and writes down how long it took."""

    def __init__(self, on_step: Callable[[str], None]) -> None:
        self.on_step = on_step
        self.seconds: dict[str, float] = {}

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        self.on_step(name)
        started = time.perf_counter()
        yield
        self.seconds[name] = time.perf_counter() - started
