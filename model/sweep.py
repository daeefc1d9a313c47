"""One pass over all pairs of a pool, each computed once: gains at several moments, and pairs.

The matrix product is by far the dearest part of a similarity. While a block is in the cache, the
gains for several states of the coverage cost little more than those for one.
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from model.gaussian_pool import BLOCK, Block, GaussianPool
from model.greedy import Gains
from model.objectives import Covered, Weights
from model.pairs import Fragment, Pairs, PairsBuilder


class GainsAt:
    """Upper bounds of all gains with a given coverage."""

    def __init__(self, pool: GaussianPool, weights: Weights, covered: Covered) -> None:
        self.weights = torch.from_numpy(weights.astype(np.float32)).to(pool.device)
        self.covered = torch.from_numpy(covered.astype(np.float32)).to(pool.device)
        self.sums = torch.zeros(len(pool), dtype=torch.float64, device=pool.device)

    def see(self, block: Block, memory: torch.Tensor) -> None:
        """Add what these pairs contribute."""
        rows, columns, similarity = block
        rise = memory[: similarity.numel()].view_as(similarity)
        torch.sub(similarity, self.covered[columns], out=rise).relu_()
        self.sums[rows] += torch.mv(rise, self.weights[columns])
        if rows != columns:
            torch.sub(similarity, self.covered[rows, None], out=rise).relu_()
            self.sums[columns] += torch.mv(rise.T, self.weights[rows])

    def gains(self) -> Gains:
        """Of every row."""
        return np.asarray(self.sums.cpu().numpy())


class PairsAbove:
    """Pairs that are more similar than a threshold, which every point has of its own."""

    def __init__(self, pool: GaussianPool, thresholds: NDArray[np.float64]) -> None:
        self.thresholds = torch.from_numpy(thresholds.astype(np.float32)).to(pool.device)
        self.found = PairsBuilder(len(pool), BLOCK)

    def see(self, block: Block, memory: torch.Tensor) -> None:
        """Keep the pairs of this block that are similar enough."""
        rows, columns, similarity = block
        flat = similarity.cpu().numpy().reshape(-1)
        near = np.flatnonzero((similarity > self.thresholds[columns]).cpu().numpy())
        row, column = np.divmod(near, similarity.shape[1])
        self._keep(rows, row, columns, column, flat[near])
        if rows != columns:
            near = np.flatnonzero((similarity > self.thresholds[rows, None]).cpu().numpy())
            row, column = np.divmod(near, similarity.shape[1])
            self._keep(columns, column, rows, row, flat[near])

    def _keep(
        self,
        candidates: slice,
        candidate: NDArray[np.int64],
        points: slice,
        point: NDArray[np.int64],
        similarities: NDArray[np.float32],
    ) -> None:
        fragment = Fragment(
            candidate.astype(np.uint16), (point + points.start).astype(np.int32), similarities
        )
        self.found.add(candidates.start // BLOCK, fragment)

    def pairs(self) -> Pairs:
        """All that were kept."""
        return self.found.build()


def sweep(
    pool: GaussianPool,
    observers: Sequence[GainsAt | PairsAbove],
    on_progress: Callable[[float], None],
    *,
    exponents: bool = False,
) -> None:
    """Show every block of the pool to every observer.

    Args:
        pool: Rows that are both candidates and points.
        observers: What is to be found out.
        on_progress: Called with the share that is done.
        exponents: As in `GaussianPool.symmetric_blocks`.
    """
    memory = torch.empty(BLOCK * BLOCK, device=pool.device)  # for whatever an observer needs
    begun = 0
    for block in pool.symmetric_blocks(exponents=exponents):
        if block[0].start > begun:
            begun = block[0].start
            on_progress(1.0 - (1.0 - begun / len(pool)) ** 2)
        for observer in observers:
            observer.see(block, memory)
    on_progress(1.0)
