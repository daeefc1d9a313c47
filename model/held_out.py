"""How good the classifier is on labels that it has not seen: overall, by class, by confidence.

The same held-out answers that the temperature was fitted on; nothing is trained again. They come
from classifiers that had half of the labels.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from model.arrays import Labels, Mask, Probabilities, Rows
from model.calibration import Calibration, softmax
from model.intervals import Estimate, share

BINS = 10


@dataclass(frozen=True, slots=True)
class HeldOutAnswers:
    """One answer for each labelled item: the mean over the times when it was held out."""

    classes: NDArray[np.int64]  # (c,), class ids with labels, ascending
    labels: Labels  # (n,), what people said
    probabilities: Probabilities  # (n, c), calibrated; 0 where it was never held out
    right: NDArray[np.float64]  # (n,), share of the times when the answer was right
    held_out: Mask  # (n,), False where it was always trained on

    def accuracy(self, among: Mask | None = None) -> Estimate | None:
        """Share of right answers, among some of the items; None if none of them was held out."""
        counted = self.held_out if among is None else self.held_out & among
        tested = int(counted.sum())
        return share(float(self.right[counted].sum()), tested) if tested else None

    def by_class(self) -> dict[int, Estimate]:
        """Of each class, how many of its items were recognised."""
        found = {int(one): self.accuracy(self.labels == one) for one in self.classes}
        return {one: estimate for one, estimate in found.items() if estimate is not None}


@dataclass(frozen=True, slots=True)
class Bin:
    """Answers of about the same confidence."""

    count: int
    confidence: float
    accuracy: float


def held_out_answers(labels: Labels, calibration: Calibration) -> HeldOutAnswers | None:
    """The held-out answers behind a calibration; None where nothing was held out.

    Args:
        labels: Class ids of the labelled items, as they were given to `calibrate`.
        calibration: What came of it.
    """
    if calibration.held_out is None:
        return None
    rows, logits = calibration.held_out.rows, calibration.held_out.logits
    classes = np.unique(labels)
    times = np.bincount(rows, minlength=len(labels))
    divisor = np.maximum(times, 1)
    correct = classes[logits.argmax(axis=1)] == labels[rows]
    right = np.bincount(rows, weights=correct, minlength=len(labels)) / divisor
    probabilities = np.zeros((len(labels), len(classes)))
    np.add.at(probabilities, rows, softmax(logits, calibration.temperature))
    return HeldOutAnswers(classes, labels, probabilities / divisor[:, None], right, times > 0)


def reliability(labels: Labels, calibration: Calibration, temperature: float) -> list[Bin]:
    """Confidence against accuracy, in bins of equal width; empty bins are left out."""
    if calibration.held_out is None:
        return []
    probabilities = softmax(calibration.held_out.logits, temperature)
    columns = np.searchsorted(np.unique(labels), labels[calibration.held_out.rows])
    confidence = probabilities.max(axis=1)
    right = probabilities.argmax(axis=1) == columns
    bin_of = np.clip(np.ceil(confidence * BINS).astype(np.int64) - 1, 0, BINS - 1)
    return [_bin(confidence, right, np.flatnonzero(bin_of == at)) for at in np.unique(bin_of)]


def _bin(confidence: NDArray[np.float64], right: Mask, rows: Rows) -> Bin:
    return Bin(len(rows), float(confidence[rows].mean()), float(right[rows].mean()))
