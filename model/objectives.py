"""Uncertainty coverage as the greedy sees it: three ways to know what a row would add."""

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from model.arrays import NO_ROWS, Rows
from model.gaussian_pool import GaussianPool
from model.greedy import Gains
from model.kernels import EXACT, Kernel, blocks
from model.pair_loops import rises_of_pairs
from model.pairs import Pairs

Weights = NDArray[np.float64]  # (points,), how much each point counts
Covered = NDArray[np.float64]  # (points,), similarity to the nearest covered row
Rising = tuple[Rows, NDArray[np.float64]]  # points, and how similar a row is to each of them
NOBODY: tuple[int, float, Rising] = (-1, -1.0, (NO_ROWS, np.empty(0)))  # row, gain, and points


class Coverage(ABC):
    """What is covered so far, and what a row adds to it."""

    exact = False

    def __init__(self, weights: Weights, covered: Covered, tie: float) -> None:
        """Begin with what is covered already.

        Args:
            weights: How much each point counts.
            covered: Similarity of every point to the nearest covered row; changed by `add`.
            tie: Gains closer than this are equal.
        """
        self.weights = weights
        self.covered = covered
        self.tie = tie
        self._foremost = NOBODY  # of the rows that were looked at since `add`

    def foreseen(self) -> tuple[Rows, Gains]:
        """Nothing is at hand."""
        return NO_ROWS, np.empty(0)

    @abstractmethod
    def bounds(self, rows: Rows) -> Gains:
        """As `Objective.bounds`."""

    def gains(self, rows: Rows) -> Gains:
        """As `Objective.gains`; the same for copies of one row, which are looked at once."""
        alike = self.alike(rows) if len(rows) > 1 else np.zeros(1, dtype=np.int64)
        _, firsts, which = np.unique(alike, return_index=True, return_inverse=True)
        gains = np.array([self._gain(int(rows[first])) for first in firsts])
        return np.asarray(gains[which.reshape(-1)])

    def add(self, row: int) -> None:
        """As `Objective.add`."""
        row_looked_at, _, rising = self._foremost
        points, similarity = rising if row_looked_at == row else self.rising(row)
        self.covered[points] = np.maximum(self.covered[points], similarity)
        self._foremost = NOBODY

    @abstractmethod
    def rising(self, row: int) -> Rising:
        """At least the points that this row covers better than they are covered now."""

    @abstractmethod
    def alike(self, rows: Rows) -> NDArray[np.int64]:
        """A number for each row, equal for copies of each other."""

    def _gain(self, row: int) -> float:
        points, similarity = self.rising(row)
        gain = float(np.maximum(similarity - self.covered[points], 0.0) @ self.weights[points])
        if gain > self._foremost[1]:
            self._foremost = row, gain, (points, similarity)  # will be added, presumably
        return gain


class KernelCoverage(Coverage):
    """For any kernel, in float64; a bound costs as many similarities as there are rows."""

    def __init__(self, kernel: Kernel, weights: Weights, covered: Covered, tie: float) -> None:
        """Begin with what is covered already; arguments as in `Coverage`."""
        super().__init__(weights, covered, tie)
        self.kernel = kernel
        self.exact = kernel.error <= EXACT
        self.noise = 0.0 if self.exact else kernel.error * float(weights.sum())

    def bounds(self, rows: Rows) -> Gains:
        """As `Objective.bounds`."""
        bounds = np.empty(len(rows))
        for part in blocks(len(rows), self.kernel.size):
            rise = self.kernel.block(rows[part])  # (rows, n)
            rise -= self.covered
            np.maximum(rise, 0.0, out=rise)
            bounds[part] = rise @ self.weights
        return bounds + self.noise

    def rising(self, row: int) -> Rising:
        """All points."""
        return np.arange(self.kernel.size), self.kernel.column(row)

    def alike(self, rows: Rows) -> NDArray[np.int64]:
        """As `Coverage.alike`."""
        return self.kernel.alike(rows)


class DenseCoverage(Coverage):
    """For a Gaussian pool, kept or computed again; a bound costs a similarity for each point."""

    def __init__(self, pool: GaussianPool, weights: Weights, covered: Covered, tie: float) -> None:
        """Begin with what is covered already; arguments as in `Coverage`."""
        super().__init__(weights, covered, tie)
        self.pool = pool

    def bounds(self, rows: Rows) -> Gains:
        """As `Objective.bounds`."""
        return self.pool.rises(
            rows, self.covered.astype(np.float32), self.weights.astype(np.float32)
        )

    def rising(self, row: int) -> Rising:
        """As `Coverage.rising`."""
        _, block = next(self.pool.upper_rows(np.array([row])))
        points = np.flatnonzero(block[0].cpu().numpy() > self.covered.astype(np.float32))
        return points, self.pool.exact(row, points)

    def alike(self, rows: Rows) -> NDArray[np.int64]:
        """As `Coverage.alike`."""
        return self.pool.alike(rows)


class PairedCoverage(Coverage):
    """For the pairs of a Gaussian pool that still matter; a bound costs the pairs of its row."""

    def __init__(
        self, pool: GaussianPool, weights: Weights, covered: Covered, tie: float, pairs: Pairs
    ) -> None:
        """Begin with what is covered already; arguments as in `Coverage`.

        Args:
            pool: Gives the exact similarities.
            weights: As in `Coverage`.
            covered: As in `Coverage`.
            tie: As in `Coverage`.
            pairs: All that are more similar than the point is covered.
        """
        super().__init__(weights, covered, tie)
        self.pool = pool
        self.pairs = pairs

    def bounds(self, rows: Rows) -> Gains:
        """As `Objective.bounds`."""
        pairs = self.pairs
        return rises_of_pairs(
            *pairs.ends(rows), pairs.points, pairs.similarities, self.covered, self.weights
        )

    def rising(self, row: int) -> Rising:
        """As `Coverage.rising`."""
        part = self.pairs.of(row)
        points = self.pairs.points[part].astype(np.int64)
        points = points[self.pairs.similarities[part] > self.covered[points]]
        return points, self.pool.exact(row, points)

    def alike(self, rows: Rows) -> NDArray[np.int64]:
        """As `Coverage.alike`."""
        return self.pool.alike(rows)
