"""Clusters around rows of the pool instead of means: two ways to look for the medoids.

Both make the total deviation small: the sum over all rows of the distance to the nearest medoid.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.arrays import Rows
from model.kernels import blocks

Distances = NDArray[np.floating[Any]]  # (n, n), symmetric, 0 on the diagonal

IMPROVEMENT = 1e-9  # share of the total deviation that a swap must save, well above rounding


def total_deviation(distances: Distances, medoids: Rows) -> float:
    """Sum over all rows of the distance to the nearest medoid, in the unit of the distances."""
    return float(distances[medoids].min(axis=0).sum(dtype=np.float64))


def kmedoids(distances: Distances, count: int, generator: np.random.Generator) -> Rows:
    """Alternate: every row joins its nearest medoid, every cluster elects its best member.

    Stops when the total deviation falls no more, which may be far from the least there is. Ties
    go to the lowest row.

    Args:
        distances: Between all rows.
        count: How many medoids; all rows if there are fewer.
        generator: Decides the rows to start from, all equally likely.
    """
    wanted = min(count, len(distances))
    medoids = generator.choice(len(distances), wanted, replace=False)
    while wanted > 0:
        elected = np.array([_elect(distances, cluster) for cluster in _join(distances, medoids)])
        if total_deviation(distances, elected) >= total_deviation(distances, medoids):
            break
        medoids = elected
    return medoids


def pam(distances: Distances, count: int) -> Rows:
    """Partitioning around medoids: build greedily, then swap as long as a swap helps.

    Every swap that helps is made at once, with the medoid whose replacement saves most
    (FasterPAM, Schubert and Rousseeuw 2021), so that the total deviation never grows. Nothing is
    left to chance: candidates are tried in the order of their rows.

    Args:
        distances: Between all rows.
        count: How many medoids; all rows if there are fewer.
    """
    medoids = _build(distances, min(count, len(distances)))
    if not 0 < len(medoids) < len(distances):
        return medoids
    swapping = _Swapping(distances, medoids)
    candidate, untried = 0, len(distances)
    while untried > 0:
        untried = len(distances) if swapping.swap_if_it_helps(candidate) else untried - 1
        candidate = (candidate + 1) % len(distances)
    return swapping.medoids


class _Swapping:
    """The medoids while they are being replaced, and how far each row is from its two nearest."""

    def __init__(self, distances: Distances, medoids: Rows) -> None:
        self.distances = distances
        self.medoids = medoids
        self._look_around()

    def swap_if_it_helps(self, candidate: int) -> bool:
        """Put the candidate in the place of the medoid where this saves most, if it does."""
        changes = self._changes(candidate)
        if changes.min() >= -IMPROVEMENT * self.nearest.sum():
            return False
        self.medoids[changes.argmin()] = candidate
        self._look_around()
        return True

    def _look_around(self) -> None:
        to_medoids = np.full((len(self.medoids) + 1, len(self.distances)), np.inf)
        to_medoids[:-1] = self.distances[self.medoids]  # the last is for want of a second medoid
        self.owner = to_medoids.argmin(axis=0)  # (n,), a position in `medoids`
        to_medoids.partition(1, axis=0)
        self.nearest, self.second = to_medoids[0], to_medoids[1]  # (n,) each

    def _changes(self, candidate: int) -> NDArray[np.float64]:
        """By how much the total deviation grows if this row replaces each medoid, (k,)."""
        distance = self.distances[candidate]
        added = np.minimum(distance, self.nearest)  # deviations with one medoid more, (n,)
        without_owner = np.minimum(distance, self.second)
        removal = np.bincount(self.owner, without_owner - added, minlength=len(self.medoids))
        return np.asarray((added - self.nearest).sum() + removal)


def _build(distances: Distances, count: int) -> Rows:
    """Rows that lower the total deviation most, one after the other; ties: the lowest row."""
    nearest = np.full(len(distances), distances.max(initial=0.0), dtype=np.float64)
    medoids: list[int] = []
    for _ in range(count):
        saved = np.empty(len(distances))
        for rows in blocks(len(distances), len(distances)):
            saved[rows] = np.maximum(nearest - distances[rows], 0.0).sum(axis=1)
        saved[medoids] = -np.inf
        medoids.append(int(saved.argmax()))
        nearest = np.minimum(nearest, distances[medoids[-1]])
    return np.array(medoids, dtype=np.int64)


def _join(distances: Distances, medoids: Rows) -> list[Rows]:
    """The rows that are nearest to each medoid; a medoid is always among its own."""
    nearest = distances[medoids].argmin(axis=0)  # (n,)
    nearest[medoids] = np.arange(len(medoids))
    return [np.flatnonzero(nearest == cluster) for cluster in range(len(medoids))]


def _elect(distances: Distances, cluster: Rows) -> int:
    """The row of a cluster with the least sum of distances to all others of it."""
    return int(cluster[distances[np.ix_(cluster, cluster)].sum(axis=1).argmin()])
