"""TypiClust (Hacohen et al. 2022): the most typical image of each cluster without a label."""

import numpy as np
from numpy.typing import NDArray

from model.arrays import NO_ROWS, Features, Mask, Rows
from model.clustering import kmeans
from model.kernels import Points, blocks, squared_distances

MAX_CLUSTERS = 500
LEAST_MEMBERS = 5  # smaller clusters are passed over as long as there are larger ones
NEIGHBOURS = 20

Assignment = NDArray[np.int64]  # (n,), the cluster of each row


def typiclust(
    features: Features, labeled: Rows, count: int, available: Mask, generator: np.random.Generator
) -> Rows:
    """Choose typical rows, best first, from as many clusters as there will be labels.

    The next cluster is always the one with the fewest labelled or chosen rows, among equals the
    largest, then the first. Of its available rows the most typical is chosen, among equals the
    lowest.

    Args:
        features: The whole pool, labelled rows included.
        labeled: Rows whose clusters can wait; never chosen.
        count: How many rows to choose; all that are available if there are fewer.
        available: False for rows that must not be chosen.
        generator: Decides where k-means starts.
    """
    free = available.copy()
    free[labeled] = False
    wanted = min(count, int(free.sum()))
    if wanted <= 0:
        return NO_ROWS
    clusters = kmeans(features, min(len(labeled) + count, MAX_CLUSTERS), generator).assignment
    spreads = neighbour_distances(features, clusters)
    served = np.bincount(clusters[labeled], minlength=clusters.max() + 1)  # (k,)
    rows: list[int] = []
    for _ in range(wanted):
        cluster = _next_cluster(clusters, served, free)
        row = int(np.where(free & (clusters == cluster), spreads, np.inf).argmin())
        free[row] = False
        served[cluster] += 1
        rows.append(row)
    return np.array(rows, dtype=np.int64)


def neighbour_distances(features: Features, clusters: Assignment) -> NDArray[np.float64]:
    """1 / typicality: mean distance to the nearest rows of the same cluster, (n,).

    In feature units, over the 20 nearest, or all others of the cluster if it is smaller; 0 for a
    row that is alone.
    """
    points = features.astype(np.float64)
    spreads = np.zeros(len(points))
    for cluster in np.unique(clusters):
        members = np.flatnonzero(clusters == cluster)
        spreads[members] = _mean_distances(points[members], min(NEIGHBOURS, len(members) - 1))
    return spreads


def _mean_distances(points: Points, neighbours: int) -> NDArray[np.float64]:
    """From each point to its nearest others, (n,); 0 without neighbours."""
    means = np.zeros(len(points))
    for block in blocks(len(points), len(points)):
        squared = squared_distances(points[block], points)  # (block, n)
        squared.partition(neighbours, axis=1)
        nearest = squared[:, : neighbours + 1]  # the point itself is among them, at 0
        means[block] = np.sqrt(nearest).sum(axis=1) / max(1, neighbours)
    return means


def _next_cluster(clusters: Assignment, served: NDArray[np.int64], free: Mask) -> int:
    sizes = np.bincount(clusters, minlength=len(served))
    candidates = np.bincount(clusters[free], minlength=len(served)) > 0
    if (large := candidates & (sizes >= LEAST_MEMBERS)).any():
        candidates = large
    order = np.lexsort((-sizes, served))  # stable: the first among equals
    return int(order[candidates[order]][0])
