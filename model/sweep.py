"""One pass over all pairs of a pool, each computed once: gains at several moments, and pairs.

The matrix product is by far the dearest part of a similarity. While a block is in the cache, the
gains for several states of the coverage cost little more than those for one.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from threading import Lock

import numpy as np
import torch
from numpy.typing import NDArray

from model.arrays import NO_ROWS, Rows
from model.gaussian_pool import BLOCK, GaussianPool
from model.greedy import Gains
from model.loops import Floats, above, rises_at_moments
from model.objectives import Covered, Weights
from model.pairs import Fragment, Pairs, PairsBuilder
from model.threads import in_threads

PROBE = 1_024  # rows and points by which pairs are counted beforehand


class GainsAlong:
    """Upper bounds of the gains of some rows at several moments, each with its coverage."""

    def __init__(
        self,
        pool: GaussianPool,
        weights: Weights,
        covered: Sequence[Covered],
        rows: Sequence[Rows],
    ) -> None:
        """Begin with nothing seen.

        Args:
            pool: All of its rows are points.
            weights: How much each point counts.
            covered: Similarity of every point to the nearest covered row, at each moment.
            rows: Whose gains are wanted at each moment.
        """
        moments = np.repeat(np.arange(len(rows), dtype=np.int32), [len(some) for some in rows])
        wanted = np.concatenate([NO_ROWS, *rows])
        self.order = np.lexsort((moments, wanted))  # by block, since a block comes at a time
        self.ends = np.cumsum([len(some) for some in rows]).tolist()
        blocks = wanted[self.order] // BLOCK
        self.begins = np.searchsorted(blocks, np.arange(-(-len(pool) // BLOCK) + 1)).tolist()
        self.rows = (wanted[self.order] % BLOCK).astype(np.uint16)
        self.moments = moments[self.order]
        self.weights = weights.astype(np.float32)
        self.covered = np.array(covered, dtype=np.float32).reshape(len(rows), len(pool))
        self.sums = np.zeros(len(wanted))
        self.lock = Lock()

    def see(self, candidates: slice, points: slice, similarity: Floats) -> None:
        """Add what these pairs contribute."""
        number = candidates.start // BLOCK
        part = slice(self.begins[number], self.begins[number + 1])
        added = rises_at_moments(
            similarity,
            points.start,
            self.rows[part],
            self.moments[part],
            self.covered,
            self.weights,
        )
        with self.lock:
            self.sums[part] += added

    def finish(self, candidates: slice) -> None:
        """Nothing is left to do for these."""

    def gains(self) -> list[Gains]:
        """Of the rows of each moment."""
        gains = np.empty(len(self.order))
        gains[self.order] = self.sums
        return [gains[begin:end] for begin, end in pairwise([0, *self.ends])]


class PairsAbove:
    """Pairs that are more similar than a threshold, which every point has of its own."""

    def __init__(
        self,
        pool: GaussianPool,
        thresholds: NDArray[np.float64],
        *,
        called: Rows | None = None,
    ) -> None:
        """Begin with nothing found.

        Args:
            pool: All of its rows are points.
            thresholds: Of every point.
            called: What the rows are called in the result; their own number if not given.
        """
        self.thresholds = thresholds.astype(np.float32)
        self.found = PairsBuilder(len(pool), BLOCK, called)

    def see(self, candidates: slice, points: slice, similarity: Floats) -> None:
        """Keep the pairs of this block that are similar enough."""
        fragment = Fragment(*above(similarity, points.start, self.thresholds))
        self.found.add(candidates.start // BLOCK, points.start // BLOCK, fragment)

    def finish(self, candidates: slice) -> None:
        """Put the pairs of these candidates in order: no more will come."""
        self.found.finish(candidates.start // BLOCK)

    def pairs(self) -> Pairs:
        """All that were kept."""
        return self.found.build()


def share_above(
    pool: GaussianPool, thresholds: NDArray[np.float64], *, exponents: bool = False
) -> float:
    """How many of all pairs `PairsAbove` would keep, by a random sample."""
    generator = np.random.default_rng(0)
    rows, points = (
        torch.from_numpy(generator.permutation(len(pool))[:PROBE]).to(pool.device) for _ in range(2)
    )
    block = torch.empty(len(rows), len(points), device=pool.device)
    pool.exponents(pool.left(rows), pool.right[points], block)
    if not exponents:
        block.exp_()
    wanted = torch.from_numpy(thresholds.astype(np.float32)).to(pool.device)[points]
    return float((block > wanted).double().mean())


def sweep(
    pool: GaussianPool,
    observers: Sequence[GainsAlong | PairsAbove],
    on_progress: Callable[[float], None],
    *,
    exponents: bool = False,
) -> None:
    """Show every block of the pool to every observer, with the rows and with the columns as points.

    Args:
        pool: Rows that are both candidates and points.
        observers: What is to be found out.
        on_progress: Called with the share that is done.
        exponents: As in `GaussianPool.blocks_of`.
    """

    def show(rows: slice) -> None:
        memory = torch.empty(BLOCK * BLOCK, device=pool.device)
        for columns, block in pool.blocks_of(rows, exponents=exponents):
            for observer in observers:
                observer.see(rows, columns, block.cpu().numpy())
            if rows != columns:
                mirrored = memory[: block.numel()].view_as(block.T).copy_(block.T)
                for observer in observers:
                    observer.see(columns, rows, mirrored.cpu().numpy())

    for rows in in_threads(show, pool.strips(), pool.device):
        for observer in observers:
            observer.finish(rows)
        on_progress(1.0 - (1.0 - rows.stop / len(pool)) ** 2)
    on_progress(1.0)
