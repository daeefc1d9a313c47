"""Coreset (Sener and Savarese 2018): greedy k-center, the farthest row first."""

import numpy as np
from numpy.typing import NDArray

from model.arrays import Features, Mask, Rows
from model.clustering import EuclideanMetric
from model.greedy import Selection

DIAMETER = 2.0  # no two unit rows are farther apart
TIE = 1e-12  # squared distances closer than this are equal: lowest row wins


def k_center_greedy(features: Features, labeled: Rows, count: int, available: Mask) -> Selection:
    """Choose the row farthest from all that is labelled or chosen, one after the other.

    Without labels the first is the row nearest to the mean of the pool. Ties go to the lowest
    row. The gains are the distances, in feature units, from 0 to 2, and never grow; of a first
    row without labels it is 2, more than which is not possible.

    Args:
        features: The whole pool, labelled rows included.
        labeled: Rows to keep away from; never chosen.
        count: How many rows to choose; all that are available if there are fewer.
        available: False for rows that must not be chosen.
    """
    metric = EuclideanMetric(features)
    free = available.copy()
    free[labeled] = False
    squared = np.full(metric.size, DIAMETER**2)  # (n,), to the nearest labelled or chosen row
    for row in labeled:
        np.minimum(squared, metric.squared_distances_to(int(row)), out=squared)
    rows: list[int] = []
    gains: list[float] = []
    for _ in range(min(count, int(free.sum()))):
        first_of_all = len(labeled) == 0 and not rows
        row = _lowest_best(_closeness_to_mean(features) if first_of_all else squared, free)
        rows.append(row)
        gains.append(float(np.sqrt(squared[row])))
        free[row] = False
        np.minimum(squared, metric.squared_distances_to(row), out=squared)
    return Selection(np.array(rows, dtype=np.int64), np.array(gains, dtype=np.float64))


def _closeness_to_mean(features: Features) -> NDArray[np.float64]:
    """Minus the squared distance to the mean of the pool, (n,)."""
    points = features.astype(np.float64)
    return np.asarray(-np.square(points - points.mean(axis=0)).sum(axis=1))


def _lowest_best(scores: NDArray[np.float64], free: Mask) -> int:
    scores = np.where(free, scores, -np.inf)
    return int(np.argmax(scores >= scores.max() - TIE))
