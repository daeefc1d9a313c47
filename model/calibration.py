"""Temperature scaling: make the classifier's probabilities as right as they claim to be.

A classifier trained on one half of the labels is judged on the other. The paper takes one random
split; with few labels one split is noise, so several are drawn and all held-out logits are judged
together. docs/quality.md says how one split, several and five folds compare.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from model.arrays import Inputs, Labels, Logits, Probabilities, Rows
from model.classifier import Train, train

TEMPERATURES = np.arange(10, 201) / 10  # 1.0, 1.1, ... 20.0, the candidates of the paper
SPLITS = 5
LEAST_LABELS = 10  # fewer held-out answers say nothing about 191 temperatures
LEAST_CLASSES = 2  # classes that have at least two labels, so that one can be held out
BINS = 15
LEAST_PROBABILITY = 1e-12  # keeps the log-loss finite where a class could not be predicted

Columns = NDArray[np.int64]  # (n,), the column of the right class


@dataclass(frozen=True, slots=True)
class HeldOut:
    """What classifiers said of labels that they were not trained on, split after split."""

    rows: Rows  # (m,), positions among the labelled items; one for each time it was held out
    logits: Logits  # (m, c), a column for each class that has labels


@dataclass(frozen=True, slots=True)
class Calibration:
    """The temperature, and how well held-out labels were predicted with and without it."""

    temperature: float  # 1 where it could not be fitted
    fitted: bool
    ece_before: float | None  # expected calibration error at temperature 1
    ece_after: float | None
    accuracy: float | None  # share of held-out labels that half of the labels could predict
    note: str  # why it was not fitted, or ""
    held_out: HeldOut | None = field(default=None, compare=False)  # what it was fitted on


def calibrate(
    inputs: Inputs, labels: Labels, *, seed: int, fit: Train = train, splits: int = SPLITS
) -> Calibration:
    """Find the temperature on held-out labels.

    Args:
        inputs: What the classifier sees of labelled rows only.
        labels: Their class ids.
        seed: Decides which labels are held out together.
        fit: How the classifier is trained.
        splits: How often the labels are split in halves; 1 is the paper's way.
    """
    note = _reason_not_to_fit(labels)
    if note:
        return Calibration(1.0, False, None, None, None, note)
    generator = np.random.default_rng(seed)
    orders = [generator.permutation(len(labels)) for _ in range(splits)]
    halves = [(order[: len(order) // 2], order[len(order) // 2 :]) for order in orders]
    logits = np.concatenate([_held_out_logits(inputs, labels, *half, seed, fit) for half in halves])
    held_out = np.concatenate([held_out for _, held_out in halves])
    columns = np.searchsorted(np.unique(labels), labels[held_out])
    temperature = best_temperature(logits, columns)
    return Calibration(
        temperature=temperature,
        fitted=True,
        ece_before=expected_calibration_error(softmax(logits, 1.0), columns),
        ece_after=expected_calibration_error(softmax(logits, temperature), columns),
        accuracy=float(np.mean(logits.argmax(axis=1) == columns)),
        note="",
        held_out=HeldOut(held_out, logits),
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
    correct = probabilities.argmax(axis=1) == correct_class_columns
    return _binned_error(probabilities.max(axis=1), correct, bins)


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
    correct = logits.argmax(axis=1) == correct_class_columns  # the same at every temperature
    behind = (logits - logits.max(axis=1, keepdims=True)).T.copy()  # (c, n), 0 for the likeliest

    def error(temperature: float) -> float:
        confidences = 1.0 / np.exp(behind / temperature).sum(axis=0)  # all that is needed of it
        return round(_binned_error(confidences, correct, BINS), 12)

    def loss(temperature: float) -> float:
        return log_loss(softmax(logits, temperature), correct_class_columns)

    errors = {float(temperature): error(float(temperature)) for temperature in temperatures}
    least = min(errors.values())
    return min((temperature for temperature in errors if errors[temperature] == least), key=loss)


def _binned_error(confidences: NDArray[np.float64], correct: NDArray[np.bool_], bins: int) -> float:
    bin_of = np.clip(np.ceil(confidences * bins).astype(np.int64) - 1, 0, bins - 1)
    surplus = np.bincount(bin_of, weights=confidences - correct, minlength=bins)  # (bins,)
    return float(np.abs(surplus).sum() / max(1, len(confidences)))


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
    inputs: Inputs, labels: Labels, seen: Rows, held_out: Rows, seed: int, fit: Train
) -> Logits:
    """Logits (held out, c) of a classifier that was trained on the seen rows.

    A class that is missing among these gets the logit -inf.
    """
    classes = np.unique(labels)
    classifier = fit(inputs[seen], labels[seen], seed=seed)
    logits = np.full((len(held_out), len(classes)), -np.inf)
    known = np.searchsorted(classes, classifier.classes)
    logits[:, known] = classifier.logits(inputs[held_out])
    return logits
