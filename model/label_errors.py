"""Labels that are probably wrong: held-out answers contradict them with confidence.

After confident learning (Northcutt, Jiang and Chuang, 2021): an answer counts as confident if it is
as sure as answers of its class are where people agree. They compare with the mean, which half of
the right answers miss; here it is the quantile that three quarters of them reach.
"""

from dataclasses import dataclass

import numpy as np

from model.arrays import Labels, Mask, Probabilities

LEAST_CONFIDENCE = 0.6
USUAL = 0.25  # quantile of the confidence in right labels
LEAST_SEEN = 3  # items of a class without which nothing is typical of it


@dataclass(frozen=True, slots=True)
class Suspect:
    """A labelled item and what the classifier would have said instead."""

    item: int  # position among the labelled items
    label: int  # column of what people said
    instead: int  # column of the classifier's answer
    confidence: float  # in the classifier's answer
    doubt: float  # confidence minus what is left for the label; sorts suspects


def suspects(probabilities: Probabilities, columns: Labels, held_out: Mask) -> list[Suspect]:
    """The likely label errors, the most likely first.

    Args:
        probabilities: Calibrated, of classifiers that did not see the item's own label, (n, c).
        columns: What people said, as columns of these.
        held_out: False for items whose probabilities cannot be used.
    """
    if probabilities.shape[1] < 2:
        return []
    typical = _typical(probabilities, columns, held_out)
    answers = probabilities.argmax(axis=1)
    confidence = probabilities.max(axis=1)
    sure = confidence >= np.maximum(typical[answers], LEAST_CONFIDENCE)
    wrong = np.flatnonzero(held_out & (answers != columns) & sure)
    found = [
        Suspect(
            item=int(item),
            label=int(columns[item]),
            instead=int(answers[item]),
            confidence=float(confidence[item]),
            doubt=float(confidence[item] - probabilities[item, columns[item]]),
        )
        for item in wrong
    ]
    return sorted(found, key=lambda suspect: -suspect.doubt)


def _typical(probabilities: Probabilities, columns: Labels, held_out: Mask) -> Probabilities:
    """How sure answers of each class usually are, on items with that label, (c,)."""
    typical = np.ones(probabilities.shape[1])
    for column in range(probabilities.shape[1]):
        own = probabilities[held_out & (columns == column), column]
        if len(own) >= LEAST_SEEN:
            typical[column] = np.quantile(own, USUAL)
    return typical
