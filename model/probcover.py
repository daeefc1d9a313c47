"""ProbCover (Yehuda et al. 2022): the radius within which neighbours are of one kind.

Coverage with this radius and `TopHatKernel` is ProbCover itself.
"""

import numpy as np
from numpy.typing import NDArray

from model.arrays import Features
from model.clustering import kmeans
from model.kernels import blocks, squared_distances

RADII = np.arange(1, 201) / 100  # 0.01, 0.02, ... 2, the largest distance of unit rows
SAMPLE = 2000  # balls that are looked at: enough to know a share of 95 % within 1 %


def purity_radius(
    features: Features,
    class_count: int,
    generator: np.random.Generator,
    *,
    purity: float = 0.95,
) -> float:
    """The largest radius, in feature units, at which enough balls around rows are pure.

    A ball is pure if all rows of the pool in it, its border included, are of the same k-means
    cluster as its centre. The balls are those of all rows, or of 2,000 rows drawn at random if
    there are more. Radii go from 0.01, also where that is too large, to 2 in steps of 0.01.

    Args:
        features: The whole pool.
        class_count: How many clusters: as many as there are classes to tell apart.
        generator: Decides the draw and where k-means starts.
        purity: Share of the balls that must be pure, from 0 to 1.
    """
    clusters = kmeans(features, class_count, generator).assignment
    sample = generator.permutation(len(features))[:SAMPLE]
    limits = _distances_to_others(features, clusters, sample)  # (sample,)
    pure = (limits > RADII[:, None]).mean(axis=1)  # (radii,), falls
    return float(RADII[max(0, int((pure >= purity).sum()) - 1)])


def _distances_to_others(
    features: Features, clusters: NDArray[np.int64], sample: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Of each sampled row to the nearest row of another cluster, inf if there is none."""
    points = features.astype(np.float64)
    nearest = np.full(len(sample), np.inf)
    for block in blocks(len(sample), len(points)):
        rows = sample[block]
        squared = squared_distances(points[rows], points)  # (rows, n)
        squared[clusters[rows, None] == clusters] = np.inf
        nearest[block] = np.sqrt(squared.min(axis=1))
    return nearest
