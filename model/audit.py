"""What a random slice of the labels tells, if nothing is trained on it.

Accuracy on it is unbiased: it stands for the whole pool, which the labels that were chosen do not.
And it is a second training set, drawn at random, to compare the chosen labels with.
"""

from dataclasses import dataclass

import numpy as np

from model.arrays import Inputs, Labels, Mask, Rows
from model.classifier import Classifier, Train, train
from model.intervals import Estimate, share

FOLDS = 5
T95 = 2.776  # two-sided 95 % of Student's t with FOLDS - 1 degrees of freedom
LEAST_AUDITED = 25  # five in each fold


@dataclass(frozen=True, slots=True)
class Comparison:
    """Chosen against random labels, as many of each, judged on audited items they never saw.

    Attributes:
        labels: Each classifier was trained on so many.
        difference: Of the accuracies, with its 95 % interval; above 0 the chosen labels win.
    """

    labels: int
    tested: int
    chosen: float
    random: float
    difference: float
    low: float
    high: float


def audited_accuracy(answers: Labels, labels: Labels) -> Estimate | None:
    """Share of the audited items that a classifier gets right; None if there are none.

    Args:
        answers: Of a classifier that was trained on none of the items, as class ids.
        labels: What people said.
    """
    if len(labels) == 0:
        return None
    return share(int((answers == labels).sum()), len(labels))


def compare_with_random(
    chosen: tuple[Inputs, Labels],
    audited: tuple[Inputs, Labels],
    *,
    seed: int,
    fit: Train = train,
) -> Comparison | None:
    """Train on audited labels and on as many chosen ones; None while there are too few.

    Each fifth of the audited items is the test of a classifier that learned from the other four,
    and of one that learned from the first labels which were chosen. The interval allows for the
    overlap of the folds (Nadeau and Bengio, 2003).

    Args:
        chosen: What the strategy chose, in the order in which it was labelled.
        audited: What was drawn at random.
        seed: Decides the folds.
        fit: How to train.
    """
    count = len(audited[1])
    if count < LEAST_AUDITED or len(chosen[1]) < count - count // FOLDS:
        return None
    folds = np.array_split(np.random.default_rng(seed).permutation(count), FOLDS)
    scores = np.array([_fold(chosen, audited, test, seed, fit) for test in folds])  # (folds, 2)
    sizes = np.array([len(test) for test in folds])
    by_chosen, by_random = (scores * sizes[:, None]).sum(axis=0) / count
    differences = scores[:, 0] - scores[:, 1]
    spread = float(np.sqrt((1 / FOLDS + 1 / (FOLDS - 1)) * differences.var(ddof=1)))
    spread = max(spread, 1.0 / count)  # folds that agree by chance prove nothing
    difference = float(by_chosen - by_random)
    return Comparison(
        labels=count - int(sizes.max()),
        tested=count,
        chosen=float(by_chosen),
        random=float(by_random),
        difference=difference,
        low=max(-1.0, difference - T95 * spread),
        high=min(1.0, difference + T95 * spread),
    )


def _fold(
    chosen: tuple[Inputs, Labels], audited: tuple[Inputs, Labels], test: Rows, seed: int, fit: Train
) -> tuple[float, float]:
    """Accuracy on one fold, by chosen and by random labels."""
    inputs, labels = audited
    rest = np.setdiff1d(np.arange(len(labels)), test)
    by_random = fit(inputs[rest], labels[rest], seed=seed)
    by_chosen = fit(chosen[0][: len(rest)], chosen[1][: len(rest)], seed=seed)
    return (
        float(_right(by_chosen, inputs[test], labels[test]).mean()),
        float(_right(by_random, inputs[test], labels[test]).mean()),
    )


def _right(classifier: Classifier, inputs: Inputs, labels: Labels) -> Mask:
    answers = classifier.classes[classifier.logits(inputs).argmax(axis=1)]
    return np.asarray(answers == labels)
