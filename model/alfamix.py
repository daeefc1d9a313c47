"""ALFA-Mix (Parvaneh et al. 2022): which images change their class when mixed with a labelled one.

The features of an image are moved towards the mean features of a class, the anchor, and in every
dimension by a share of its own, alpha, from 0 (stay) to 1 (the anchor). Alpha is the one that
raises the loss of the predicted class most, to first order, among steps of one length.

Two things are simpler here: the largest share is doubled until enough images change their class,
where the authors raise it by 1/32 and keep what changed on the way; and images are then covered
(Proposition 4 of the Uncertainty Herding paper) where they cluster them.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from model.arrays import UNLABELED, Features, Labels, Logits, Mask, Probabilities, Uncertainty
from model.classifier import LinearClassifier
from model.kernels import blocks

CAPS = tuple(2.0**power for power in range(-5, 1))  # 1/32, 1/16, ... 1

Gradients = NDArray[np.float64]  # (n, d), of the loss of the predicted class, by the features
Predict = Callable[[Features], Logits]


def mixing_uncertainty(
    features: Features,
    labels: Labels,
    gradients: Gradients,
    logits: Predict,
    *,
    count: int,
    available: Mask,
) -> Uncertainty:
    """1 where mixing with the anchor of some class changes the predicted class, else 0.

    Alpha may be as large as its cap, which is doubled from 1/32 up to 1 until `count` available
    rows are uncertain; if they never are, the answer is that of the cap 1. Labelled rows are 0,
    and without labels all rows.

    Args:
        features: The whole pool.
        labels: One class id for each row, UNLABELED where there is none.
        gradients: As from `linear_gradients`; only their directions matter.
        logits: The classifier.
        count: How many uncertain rows are enough.
        available: True for rows that may be chosen.
    """
    rows = np.flatnonzero(labels == UNLABELED)
    anchors = class_means(features, labels)
    uncertainty = np.zeros(len(features))
    for cap in CAPS:
        uncertainty[rows] = _changes(features[rows], anchors, gradients[rows], logits, cap)
        if uncertainty[available].sum() >= count:
            break
    return uncertainty


def linear_gradients(classifier: LinearClassifier, probabilities: Probabilities) -> Gradients:
    """How the log-loss of the predicted class rises along each feature, (n, d).

    Args:
        classifier: Gave the probabilities, at temperature 1.
        probabilities: Of the rows in question; among equals the first class is predicted.
    """
    errors = probabilities.copy()
    errors[np.arange(len(errors)), probabilities.argmax(axis=1)] -= 1.0
    return np.asarray(errors @ classifier.weights.T)


def class_means(features: Features, labels: Labels) -> NDArray[np.float64]:
    """Mean features of the labelled rows of each class that has any, (classes, d)."""
    classes = np.unique(labels[labels != UNLABELED])
    means = [features[labels == label].mean(axis=0, dtype=np.float64) for label in classes]
    return np.array(means).reshape(len(classes), features.shape[1])


def mixing_shares(offsets: Gradients, gradients: Gradients, cap: float) -> NDArray[np.float64]:
    """Alpha, (n, d), from 0 to the cap; 0 where moving to the anchor would lower the loss.

    The step alpha x offset points along the gradient and is `cap` x the distance to the anchor
    long, before alpha is cut off.

    Args:
        offsets: From the rows to the anchor, (n, d).
        gradients: Of the loss at the rows; no length, no step.
        cap: Largest share of the way to the anchor, both overall and in any dimension.
    """
    lengths = np.linalg.norm(gradients, axis=1, keepdims=True)
    directions = np.divide(gradients, lengths, out=np.zeros_like(gradients), where=lengths > 0)
    steps = cap * np.linalg.norm(offsets, axis=1, keepdims=True) * directions  # (n, d)
    shares = np.divide(steps, offsets, out=np.zeros_like(steps), where=offsets != 0)
    return np.asarray(np.clip(shares, 0.0, cap))


def _changes(
    features: Features, anchors: Gradients, gradients: Gradients, logits: Predict, cap: float
) -> Mask:
    """Whether the prediction of each row changes with any anchor, (n,)."""
    changed = np.zeros(len(features), dtype=np.bool_)
    for block in blocks(len(features), features.shape[1]):
        predicted = logits(features[block]).argmax(axis=1)
        for anchor in anchors:
            offsets = anchor - features[block]
            steps = mixing_shares(offsets, gradients[block], cap) * offsets
            mixed = (features[block] + steps).astype(np.float32)
            changed[block] |= logits(mixed).argmax(axis=1) != predicted
    return changed
