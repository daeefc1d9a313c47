"""k-means and its random start, k-means++."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from model.arrays import NO_ROWS, Mask, Rows
from model.kernels import squared_distances

Points = NDArray[np.floating[Any]]  # (n, d), of any length
Weights = NDArray[np.float64]  # (n,), never below 0

FAR = 1e100  # squared distance to the nearest of no rows: the same for all, and finite
TIE = 1e-12  # squared distances closer than this are equal


class Metric(Protocol):
    """Squared distances between the rows of one pool."""

    @property
    def size(self) -> int:
        """Rows of the pool."""
        ...

    def squared_distances_to(self, row: int) -> NDArray[np.float64]:
        """From every row to this one, (n,), never below 0."""
        ...


class EuclideanMetric:
    """Between points; off by about 1e-15 of their squared length."""

    def __init__(self, points: Points) -> None:
        self.points = points.astype(np.float64)
        self.lengths = np.einsum("nd,nd->n", self.points, self.points)  # (n,), squared
        self.size = len(points)

    def squared_distances_to(self, row: int) -> NDArray[np.float64]:
        """As `Metric.squared_distances_to`."""
        products = self.points @ self.points[row]
        return np.asarray(np.maximum(self.lengths + self.lengths[row] - 2.0 * products, 0.0))


@dataclass(frozen=True, slots=True)
class Clusters:
    """Where the clusters are, and the cluster whose centre is nearest to each point."""

    centres: NDArray[np.float64]  # (k, d)
    assignment: NDArray[np.int64]  # (n,), from 0 to k - 1; among equals the lowest


def kmeans_plus_plus(
    metric: Metric,
    count: int,
    generator: np.random.Generator,
    *,
    covered: Rows = NO_ROWS,
    available: Mask | None = None,
    weights: Weights | None = None,
) -> Rows:
    """Draw rows one after the other, each with a chance in proportion to weight x D^2.

    D^2 is the squared distance to the nearest row that is covered or drawn, the same for all while
    there is none. Where weight x D^2 is 0 in all that is left, all are equally likely.

    Args:
        metric: Distances of the pool.
        count: How many rows to draw; all that are available if there are fewer.
        generator: Decides the draws.
        covered: Rows that repel what is drawn, as though they had been drawn before.
        available: False for rows that must not be drawn.
        weights: How much each row counts; 1 if not given.
    """
    free = np.ones(metric.size, dtype=np.bool_) if available is None else available.copy()
    nearest = np.full(metric.size, FAR)  # (n,), D^2
    for row in covered:
        np.minimum(nearest, metric.squared_distances_to(int(row)), out=nearest)
    importance = np.ones(metric.size) if weights is None else weights
    drawn: list[int] = []
    for _ in range(min(count, int(free.sum()))):
        chances = importance * nearest * free
        chances = chances if chances.any() else free.astype(np.float64)
        drawn.append(int(generator.choice(metric.size, p=chances / chances.sum())))
        np.minimum(nearest, metric.squared_distances_to(drawn[-1]), out=nearest)
        free[drawn[-1]] = False
    return np.array(drawn, dtype=np.int64)


def kmeans(
    points: Points,
    count: int,
    generator: np.random.Generator,
    *,
    weights: Weights | None = None,
    iterations: int = 100,
) -> Clusters:
    """Lloyd's iteration from a k-means++ start, until no point changes its cluster.

    A cluster that is left empty starts again at the point with the most weight x D^2.

    Args:
        points: What to cluster; float32 is faster than float64.
        count: How many clusters, at least 1; one for each point if there are fewer points.
        generator: Decides the start.
        weights: How much each point pulls at its centre; 1 if not given.
        iterations: After how many to stop at the latest.
    """
    pull = np.ones(len(points)) if weights is None else weights
    start = kmeans_plus_plus(EuclideanMetric(points), count, generator, weights=pull)
    clusters = _nearest_centres(points, points[start].astype(np.float64))
    for _ in range(iterations):
        previous = clusters.assignment
        clusters = _nearest_centres(points, _weighted_means(points, pull, clusters))
        if np.array_equal(previous, clusters.assignment):
            break
    return clusters


def nearest_rows(points: Points, clusters: Clusters, available: Mask) -> Rows:
    """For each cluster in turn the available row nearest to its centre that is not taken yet.

    Ties go to the lowest row. Clusters for which no row is left get none.
    """
    squared = squared_distances(clusters.centres, points.astype(np.float64))  # (k, n)
    squared[:, ~available] = np.inf
    rows: list[int] = []
    for distances in squared[: int(available.sum())]:
        distances[rows] = np.inf
        rows.append(int(np.argmax(distances <= distances.min() + TIE)))
    return np.array(rows, dtype=np.int64)


def _nearest_centres(points: Points, centres: NDArray[np.float64]) -> Clusters:
    products = points @ centres.T.astype(points.dtype)  # (n, k)
    return Clusters(centres, (np.square(centres).sum(axis=1) / 2 - products).argmin(axis=1))


def _weighted_means(points: Points, weights: Weights, clusters: Clusters) -> NDArray[np.float64]:
    """Centre of gravity of each cluster, (k, d); empty ones move to the points that cost most."""
    centres = clusters.centres.copy()
    mass = np.bincount(clusters.assignment, weights, minlength=len(centres))  # (k,)
    for cluster in np.flatnonzero(mass):
        inside = clusters.assignment == cluster
        centres[cluster] = weights[inside] @ points[inside] / mass[cluster]
    if (empty := mass == 0).any():
        costs = weights * np.square(points - clusters.centres[clusters.assignment]).sum(axis=1)
        centres[empty] = points[np.argsort(-costs, kind="stable")[: empty.sum()]]
    return centres
