"""The Gaussian kernel of the paper, exp(-||a - b||^2 / radius^2), in float64.

In float32 a squared distance of unit rows is off by 1e-6, which is 5e-4 in similarity at radius
0.05; in float64 it is off by about 1e-15.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]  # (n, d)

BLOCK_ELEMENTS = 1_500_000  # 12 MB per temporary array, whatever the size of the pool


def squared_distances(left: Points, right: Points) -> NDArray[np.float64]:
    """All squared distances, (n, m), by one matrix product; absolute error about 1e-15."""
    products = left @ right.T
    products *= -2.0
    products += np.einsum("nd,nd->n", left, left)[:, None]
    products += np.einsum("md,md->m", right, right)[None, :]
    return np.maximum(products, 0.0, out=products)


def similarities(left: Points, right: Points, radius: float) -> NDArray[np.float64]:
    """Kernel values, (n, m), from 0 to 1 (and past 1 by rounding only).

    Args:
        left: n points.
        right: m points.
        radius: Distance, in feature units, at which similarity has fallen to 1/e.
    """
    return lifted_similarities(lift_left(left, radius), lift_right(right, radius))


def lifted_similarities(left: Points, right: Points) -> NDArray[np.float64]:
    """The same for points that are lifted already, which pays when one side is used again."""
    exponents = left @ right.T
    return np.exp(exponents, out=exponents)


def lift_left(points: Points, radius: float) -> Points:
    """Two more columns make the product with the other side -||a - b||^2 / radius^2."""
    scaled = points / radius
    lengths = np.einsum("nd,nd->n", scaled, scaled)[:, None]
    return np.hstack([2.0 * scaled, -lengths, -np.ones_like(lengths)])


def lift_right(points: Points, radius: float) -> Points:
    """The other side of `lift_left`."""
    scaled = points / radius
    lengths = np.einsum("nd,nd->n", scaled, scaled)[:, None]
    return np.hstack([scaled, np.ones_like(lengths), lengths])


def similarity_to(points: Points, row: int, radius: float) -> NDArray[np.float64]:
    """Kernel values between every point and the point in `row`, (n,), with no cancellation.

    Slower than `similarities` but correct to the last digits at every radius, because the
    differences are taken before they are squared.
    """
    squared = np.empty(len(points))
    for block in blocks(len(points), points.shape[1]):
        differences = points[block] - points[row]
        squared[block] = np.einsum("nd,nd->n", differences, differences)
    return np.exp(-squared / (radius * radius))


def blocks(count: int, width: int) -> Iterator[slice]:
    """Slices of range(count), so that one slice times `width` fits into BLOCK_ELEMENTS."""
    step = max(1, BLOCK_ELEMENTS // max(1, width))
    return (slice(start, min(start + step, count)) for start in range(0, count, step))
