"""Temperature scaling: make the classifier's probabilities as right as they claim to be.

Classifiers trained on part of the labels are judged on the rest. The paper takes one random
split; with few labels one split is noise, so every label is held out once (cross-fitting) and
all held-out logits are judged together.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from model.arrays import Features, Labels, Logits, Probabilities
from model.classifier import train

TEMPERATURES = np.arange(10, 201) / 10  # 1.0, 1.1, ... 20.0, the candidates of the paper
FOLDS = 5
LEAST_LABELS = 10  # fewer held-out answers say nothing about 191 temperatures
LEAST_CLASSES = 2  # classes that have at least two labels, so that one can be held out
BINS = 15
LEAST_PROBABILITY = 1e-12  # keeps the log-loss finite where a class could not be predicted

Columns = NDArray[np.int64]  # (n,), the column of the right class


@dataclass(frozen=True, slots=True)
class Calibration:
    """The temperature, and how well held-out labels were predicted with and without it."""

    temperature: float  # 1 where it could not be fitted
    fitted: bool
    ece_before: float | None  # expected calibration error at temperature 1
    ece_after: float | None
    accuracy: float | None  # share of held-out labels that were predicted
    note: str  # why it was not fitted, or ""


def calibrate(features: Features, labels: Labels, *, seed: int) -> Calibration:
    """Fit the temperature on held-out labels.

    Args:
        features: Labelled rows only.
        labels: Their class ids.
        seed: Decides which labels are held out together.
    """
    note = _reason_not_to_fit(labels)
    if note:
        return Calibration(1.0, False, None, None, None, note)
    classes, columns = np.unique(labels, return_inverse=True)
    logits = _held_out_logits(features, labels, classes, np.random.default_rng(seed))
    temperature = best_temperature(logits, columns)
    return Calibration(
        temperature=temperature,
        fitted=True,
        ece_before=expected_calibration_error(softmax(logits, 1.0), columns),
        ece_after=expected_calibration_error(softmax(logits, temperature), columns),
        accuracy=float(np.mean(logits.argmax(axis=1) == columns)),
        note="",
    )


def softmax(logits: Logits, temperature: float) -> Probabilities:
    """Probabilities of logits / temperature; a logit of -inf has probability 0."""
    scaled = logits / temperature
    scaled = scaled - scaled.max(axis=1, keepdims=True)  # exp never overflows
    exponentials = np.exp(scaled)
    return np.asarray(exponentials / exponentials.sum(axis=1, keepdims=True))


def expected_calibration_error(
    probabilities: Probabilities, correct_class_columns: Columns, bins: int = BINS
) -> float:
    """Mean distance between confidence and accuracy, over bins of equal width in confidence.

    0 = of all answers given with 80 % confidence 80 % are right, and so on; 1 is the worst.
    """
    confidences = probabilities.max(axis=1)
    correct = probabilities.argmax(axis=1) == correct_class_columns
    bin_of = np.clip(np.ceil(confidences * bins).astype(np.int64) - 1, 0, bins - 1)
    surplus = np.bincount(bin_of, weights=confidences - correct, minlength=bins)  # (bins,)
    return float(np.abs(surplus).sum() / max(1, len(probabilities)))


def log_loss(probabilities: Probabilities, correct_class_columns: Columns) -> float:
    """Mean of -log(probability given to the right class)."""
    given = probabilities[np.arange(len(probabilities)), correct_class_columns]
    return float(-np.log(np.maximum(given, LEAST_PROBABILITY)).mean())


def best_temperature(
    logits: Logits,
    correct_class_columns: Columns,
    temperatures: NDArray[np.float64] = TEMPERATURES,
) -> float:
    """The temperature with the least calibration error; among equals, the least log-loss."""

    def errors(temperature: float) -> tuple[float, float]:
        probabilities = softmax(logits, temperature)
        error = expected_calibration_error(probabilities, correct_class_columns)
        return round(error, 12), log_loss(probabilities, correct_class_columns)

    return min((float(temperature) for temperature in temperatures), key=errors)


def _reason_not_to_fit(labels: Labels) -> str:
    _, counts = np.unique(labels, return_counts=True)
    if len(labels) < LEAST_LABELS:
        return (
            f"The temperature is not fitted yet: it needs {LEAST_LABELS} labels, "
            f"there are {len(labels)}."
        )
    if (counts >= 2).sum() < LEAST_CLASSES:
        return (
            "The temperature is not fitted yet: it needs two classes with two labels each, "
            f"there are {int((counts >= 2).sum())}."
        )
    return ""


def _held_out_logits(
    features: Features, labels: Labels, classes: NDArray[np.int64], generator: np.random.Generator
) -> Logits:
    """Logits (n, c) of classifiers that have not seen the row they judge.

    A class that is missing among the labels a classifier was trained on gets the logit -inf.
    """
    logits = np.full((len(labels), len(classes)), -np.inf)
    folds = _stratified_folds(labels, generator)
    for fold in range(FOLDS):
        held_out = np.flatnonzero(folds == fold)
        classifier = train(features[folds != fold], labels[folds != fold])
        seen = np.searchsorted(classes, classifier.classes)
        logits[np.ix_(held_out, seen)] = classifier.logits(features[held_out])
    return logits


def _stratified_folds(labels: Labels, generator: np.random.Generator) -> NDArray[np.int64]:
    """A fold from 0 to FOLDS - 1 for each label; each class is spread evenly over the folds."""
    shuffled = generator.permutation(len(labels))
    by_class = shuffled[np.argsort(labels[shuffled], kind="stable")]
    folds = np.empty(len(labels), dtype=np.int64)
    folds[by_class] = np.arange(len(labels)) % FOLDS
    return folds
