"""A Gaussian pool whose similarities are all kept: 4 bytes for every pair of rows."""

from collections.abc import Iterator

import numpy as np
import torch

from model.arrays import Rows
from model.gaussian_pool import BLOCK, GaussianPool, slices
from model.loops import Doubles, Floats, rises
from model.threads import in_threads


class KeptPool(GaussianPool):
    """The same similarities as those of the pool it is made of, each pair computed once."""

    def __init__(self, pool: GaussianPool) -> None:
        """Compute all pairs.

        Args:
            pool: All of its rows are points.
        """
        super().__init__(pool.features, pool.radius)
        self.effort = pool.effort
        self.right = pool.right
        self.error = pool.error
        self.matrix = torch.empty(len(pool), len(pool))
        for _ in in_threads(self._keep, self.strips(), self.device):
            pass

    def _keep(self, rows: slice) -> None:
        for columns, block in self.blocks_of(rows):
            self.matrix[rows, columns] = block
            self.matrix[columns, rows] = block.T

    def rises(self, rows: Rows, covered: Floats, weights: Floats) -> Doubles:
        """As `GaussianPool.rises`."""
        sums = np.empty(len(rows))

        def add(part: slice) -> None:
            sums[part] = rises(self.matrix.numpy(), rows[part], covered, weights)

        for _ in in_threads(add, list(slices(len(rows), BLOCK)), self.matrix.device):
            pass
        return sums

    def upper_rows(self, rows: Rows) -> Iterator[tuple[slice, torch.Tensor]]:
        """As `GaussianPool.upper_rows`."""
        for row in range(len(rows)):
            yield slice(row, row + 1), self.matrix[rows[row : row + 1]]
