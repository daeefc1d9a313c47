"""One round as one sentence: labels and features in, the ranking of the pool out."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from model.arrays import UNLABELED, Features, Labels, Mask, Probabilities, Rows, Uncertainty
from model.calibration import Calibration, calibrate, softmax
from model.classifier import LinearClassifier, train
from model.coverage import Selection, coverage, select
from model.errors import ModelError
from model.radius import labeled_radius
from model.uncertainty import margin


@dataclass(frozen=True, slots=True)
class Ranking:
    """What one round found out about the pool."""

    selection: Selection
    classifier: LinearClassifier | None  # None: no labels yet
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
    seed: int = 0,
    on_step: Callable[[str], None] = ignore,
) -> Ranking:
    """Train, calibrate, and choose the rows to label next, most useful first.

    Without labels, with too few or with one class only, every unlabelled item is equally
    uncertain and the choice is by coverage alone; the warnings say so.

    Args:
        features: The whole pool.
        labels: One class id below `class_count` for each row, UNLABELED where there is none.
        class_count: Classes of the project, those without a label included.
        count: How many rows to choose; all that are available if there are fewer.
        candidates: False for rows that must not be chosen.
        seed: Decides which labels are held out together in the calibration.
        on_step: Called with the name of each step as it begins.
    """
    _check_labels(features, labels, class_count)
    clock = _Clock(on_step)
    labeled = np.flatnonzero(labels != UNLABELED)
    with clock.step("classifier"):
        classifier = train(features[labeled], labels[labeled]) if len(labeled) else None
    with clock.step("calibration"):
        calibration = calibrate(features[labeled], labels[labeled], seed=seed)
    with clock.step("selection"):
        radius = labeled_radius(features, labeled)
        uncertainty = _uncertainty(features, labeled, classifier, calibration)
        selection = select(
            features, uncertainty, labeled, count=count, radius=radius.value, candidates=candidates
        )
        covered = coverage(features, np.ones(len(features)), labeled, radius.value)
    return Ranking(
        selection=selection,
        classifier=classifier,
        temperature=calibration.temperature,
        probabilities=predict(classifier, calibration.temperature, features, class_count),
        uncertainty=uncertainty,
        radius=radius.value,
        coverage=covered,
        calibration=calibration,
        warnings=_warnings(labels[labeled], calibration, radius.note),
        seconds=clock.seconds,
    )


def predict(
    classifier: LinearClassifier | None, temperature: float, features: Features, class_count: int
) -> Probabilities:
    """Calibrated probabilities, (n, class_count), also for items that are not in the pool.

    Classes without a label have probability 0; without a classifier all classes are equal.
    """
    if classifier is None:
        return np.full((len(features), class_count), 1.0 / class_count)
    probabilities = np.zeros((len(features), class_count))
    probabilities[:, classifier.classes] = softmax(classifier.logits(features), temperature)
    return probabilities


def _uncertainty(
    features: Features,
    labeled: Rows,
    classifier: LinearClassifier | None,
    calibration: Calibration,
) -> Uncertainty:
    uncertainty = np.ones(len(features))
    if classifier is not None and calibration.fitted:
        uncertainty = margin(softmax(classifier.logits(features), calibration.temperature))
    uncertainty[labeled] = 0.0
    return uncertainty


def _warnings(labels: Labels, calibration: Calibration, radius_note: str) -> tuple[str, ...]:
    if len(labels) == 0:
        return ("There are no labels yet: the images were chosen by coverage alone.",)
    by_coverage = "The images were chosen by coverage alone."
    unfitted = "" if calibration.fitted else f"{calibration.note} {by_coverage}"
    return tuple(sentence for sentence in (unfitted, radius_note) if sentence)


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
