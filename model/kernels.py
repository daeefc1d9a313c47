"""How similar two rows of the pool are: the Gaussian kernel of the paper and its relatives.

In float32 a squared distance of unit rows that comes from a matrix product is off by 1e-6, which
is 5e-4 in similarity at radius 0.05; in float64 it is off by about 1e-15.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from model.arrays import Features, Probabilities, Rows

Points = NDArray[np.float64]  # (n, d)
Similarities = NDArray[np.float64]  # (rows, n), never below 0

BLOCK_ELEMENTS = 1_500_000  # 12 MB per temporary array, whatever the size of the pool
EXACT = 1e-13  # gains are told apart at 1e-12 of the mean uncertainty
PRODUCT_ERROR = 4e-15  # of a squared distance that comes from a matrix product


class Kernel(Protocol):
    """Similarities between the rows of one pool; a row is most similar to itself."""

    @property
    def size(self) -> int:
        """Rows of the pool."""
        ...

    @property
    def error(self) -> float:
        """How far a similarity from `block` may be off."""
        ...

    def block(self, rows: Rows) -> Similarities:
        """Similarities of these rows to every row of the pool, (rows, n); fast."""
        ...

    def column(self, row: int) -> NDArray[np.float64]:
        """Similarity of every row to this one, (n,), off by EXACT at most; may be slow."""
        ...

    def alike(self, rows: Rows) -> NDArray[np.int64]:
        """A number for each row, equal for rows that are known to be copies of each other."""
        ...


class PoolDistances:
    """All squared distances of a pool, kept: worth it where one pool is used again and again."""

    def __init__(self, features: Features) -> None:
        points = features.astype(np.float64)
        self.squared = squared_distances(points, points)  # (n, n)


class GaussianKernel:
    """exp(-||a - b||^2 / radius^2): 1 for a row itself, 1/e at the distance `radius`."""

    def __init__(
        self, features: Features, radius: float, distances: PoolDistances | None = None
    ) -> None:
        """Keep what every block needs.

        Args:
            features: The pool.
            radius: Distance, in feature units, at which similarity has fallen to 1/e.
            distances: Of the same pool, where they are at hand already.
        """
        self.points: Points = features.astype(np.float64)
        self.size = len(features)
        self.radius = radius
        self.distances = distances
        if distances is None:
            self.left = lift_left(self.points, radius)
            self.right = lift_right(self.points, radius)
        self.error = min(1.0, PRODUCT_ERROR / radius**2)

    def block(self, rows: Rows) -> Similarities:
        """As `Kernel.block`."""
        if self.distances is None:
            return lifted_similarities(self.left[rows], self.right)
        exponents = self.distances.squared[rows]
        exponents *= -1.0 / self.radius**2
        return np.exp(exponents, out=exponents)

    def column(self, row: int) -> NDArray[np.float64]:
        """As `Kernel.column`."""
        if self.error <= EXACT:
            return np.asarray(self.block(np.array([row]))[0])
        return similarity_to(self.points, row, self.radius)

    def alike(self, rows: Rows) -> NDArray[np.int64]:
        """As `Kernel.alike`."""
        return alike(self.points[rows])


class TopHatKernel:
    """1 up to the distance `radius`, 0 beyond: the kernel that makes coverage ProbCover's."""

    error = 0.0

    def __init__(
        self, features: Features, radius: float, distances: PoolDistances | None = None
    ) -> None:
        """Keep what every block needs; arguments as in `GaussianKernel`."""
        self.points: Points = features.astype(np.float64)
        self.size = len(features)
        self.radius = radius
        self.distances = distances

    def block(self, rows: Rows) -> Similarities:
        """As `Kernel.block`."""
        if self.distances is None:
            squared = squared_distances(self.points[rows], self.points)
        else:
            squared = self.distances.squared[rows]
        near = squared <= self.radius**2
        near[np.arange(len(rows)), rows] = True
        return near.astype(np.float64)

    def column(self, row: int) -> NDArray[np.float64]:
        """As `Kernel.column`."""
        return np.asarray(self.block(np.array([row]))[0])

    def alike(self, rows: Rows) -> NDArray[np.int64]:
        """As `Kernel.alike`."""
        return rows


@dataclass(frozen=True)
class BadgeKernel:
    """The paper's h for BADGE, raised by a constant so that it is never below 0.

    h(x, x') = 2 <q(x), q(x')> k(x, x') - |q(x)|^2 - |q(x')|^2, where q is the one-hot prediction
    minus the probabilities: minus the squared distance between two loss gradients, with k in
    place of the features' product.
    """

    gaussian: GaussianKernel
    residuals: Probabilities  # (n, c), q(x)

    @property
    def size(self) -> int:
        """As `Kernel.size`."""
        return self.gaussian.size

    @property
    def error(self) -> float:
        """As `Kernel.error`."""
        return self.gaussian.error * self._constant()

    def block(self, rows: Rows) -> Similarities:
        """As `Kernel.block`."""
        return self._raised(rows, self.gaussian.block(rows))

    def column(self, row: int) -> NDArray[np.float64]:
        """As `Kernel.column`."""
        rows = np.array([row])
        return np.asarray(self._raised(rows, self.gaussian.column(row)[None])[0])

    def alike(self, rows: Rows) -> NDArray[np.int64]:
        """As `Kernel.alike`."""
        return rows

    def _raised(self, rows: Rows, similarities: Similarities) -> Similarities:
        lengths = np.einsum("nc,nc->n", self.residuals, self.residuals)
        products = self.residuals[rows] @ self.residuals.T
        raised = 2.0 * products * similarities - lengths[rows, None] - lengths
        return np.asarray(np.maximum(raised + self._constant(), 0.0))

    def _constant(self) -> float:
        return 4.0 * float(np.einsum("nc,nc->n", self.residuals, self.residuals).max(initial=0.0))


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


def squared_between(features: Features, rows: Rows, others: Rows) -> NDArray[np.float64]:
    """Squared distance of each row to the other one at its place, correct to the last digits."""
    squared = np.empty(len(rows))
    for block in blocks(len(rows), features.shape[1]):
        differences = features[rows[block]].astype(np.float64)
        differences -= features[others[block]]
        squared[block] = np.einsum("nd,nd->n", differences, differences)
    return squared


def least(values: NDArray[np.float64], places: Rows, count: int) -> NDArray[np.float64]:
    """The least of the values at each of `count` places, inf where there is none."""
    found = np.full(count, np.inf)
    np.minimum.at(found, places, values)
    return found


def alike(points: NDArray[np.floating]) -> NDArray[np.int64]:
    """A number for each point, equal for equal points."""
    _, which = np.unique(points, axis=0, return_inverse=True)
    return np.asarray(which.reshape(-1))


def blocks(count: int, width: int) -> Iterator[slice]:
    """Slices of range(count), so that one slice times `width` fits into BLOCK_ELEMENTS."""
    step = max(1, BLOCK_ELEMENTS // max(1, width))
    return (slice(start, min(start + step, count)) for start in range(0, count, step))
