"""How unsure the classifier is: 0 = sure, 1 = it cannot tell the classes apart.

Each function takes calibrated probabilities (n, c) and returns (n,). A classifier that knows one
class only has nothing to compare it with, so everything is uncertain: ones.
"""

import numpy as np

from model.arrays import Probabilities, Uncertainty


def margin(probabilities: Probabilities) -> Uncertainty:
    """1 - (largest - second largest probability); the default of the paper."""
    if probabilities.shape[1] < 2:
        return np.ones(len(probabilities))
    top = np.partition(probabilities, -2, axis=1)[:, -2:]  # (n, 2), second and first
    return np.clip(1.0 - (top[:, 1] - top[:, 0]), 0.0, 1.0)


def entropy(probabilities: Probabilities) -> Uncertainty:
    """Shannon entropy as a share of its largest value, log(c)."""
    classes = probabilities.shape[1]
    if classes < 2:
        return np.ones(len(probabilities))
    logarithms = np.log(np.where(probabilities > 0, probabilities, 1.0))  # 0 log 0 = 0
    nats = -(probabilities * logarithms).sum(axis=1)
    return np.asarray(np.clip(nats / np.log(classes), 0.0, 1.0))


def confidence(probabilities: Probabilities) -> Uncertainty:
    """1 - largest probability, times c / (c - 1) so that equal probabilities give 1."""
    classes = probabilities.shape[1]
    if classes < 2:
        return np.ones(len(probabilities))
    doubt = 1.0 - probabilities.max(axis=1)
    return np.asarray(np.clip(doubt * classes / (classes - 1), 0.0, 1.0))
