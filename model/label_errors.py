"""Labels that are probably wrong: held-out answers contradict them, and leave nothing for them.

What is left for a label is compared with what labels of its class usually get (the adjusted
self-confidence of Kuan and Mueller, 2022): classes that are hard to recognise are not full of
errors. docs/dashboard.md says how often such a label is wrong.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from model.arrays import Labels, Mask, Probabilities

LEAST_CONFIDENCE = 0.6  # in another class
LEFT = 0.1  # of the usual probability; a label with more is only doubtful
LEAST_SEEN = 3  # items of a class without which nothing is usual for it


@dataclass(frozen=True, slots=True)
class Suspect:
    """A labelled item and what the classifier would have said instead."""

    item: int  # position among the labelled items
    label: int  # column of what people said
    instead: int  # column of the classifier's answer
    confidence: float  # in the classifier's answer


def suspects(probabilities: Probabilities, columns: Labels, held_out: Mask) -> list[Suspect]:
    """The likely label errors, the most likely first.

    Args:
        probabilities: Calibrated, of classifiers that did not see the item's own label, (n, c).
        columns: What people said, as columns of these.
        held_out: False for items whose probabilities cannot be used.
    """
    usual = _usual(probabilities, columns, held_out)
    answers = probabilities.argmax(axis=1)
    confidence = probabilities.max(axis=1)
    given = probabilities[np.arange(len(columns)), columns]  # (n,), to the label
    contradicted = (answers != columns) & (confidence >= LEAST_CONFIDENCE) & (usual[answers] > 0)
    wrong = np.flatnonzero(held_out & contradicted & (given < LEFT * usual[columns]))
    left = given[wrong] / usual[columns[wrong]]
    doubt = (confidence[wrong] - left) * usual[answers[wrong]]  # hard classes say less
    return [
        Suspect(int(item), int(columns[item]), int(answers[item]), float(confidence[item]))
        for item in wrong[np.argsort(-doubt, kind="stable")]
    ]


def _usual(probabilities: Probabilities, columns: Labels, held_out: Mask) -> NDArray[np.float64]:
    """The median probability that labels of each class get, (c,); 0 if there are too few."""
    usual = np.zeros(probabilities.shape[1])
    for column in range(probabilities.shape[1]):
        own = probabilities[held_out & (columns == column), column]
        if len(own) >= LEAST_SEEN:
            usual[column] = np.median(own)
    return usual
