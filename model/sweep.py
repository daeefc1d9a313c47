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
from model.gaussian_pool import BLOCK, GaussianPool, slices
from model.greedy import Gains
from model.objectives import Covered, Weights
from model.pairs import Fragment, Pairs, PairsBuilder
from model.threads import in_threads

AT_ONCE = 1_024  # gains to which a block contributes together: 2 MB, which stay in the cache
MANY = 0.5  # share of all rows; where more are wanted, all are looked at together


class GainsAt:
    """Upper bounds of all gains with a given coverage."""

    def __init__(self, pool: GaussianPool, weights: Weights, covered: Covered) -> None:
        self.weights = torch.from_numpy(weights.astype(np.float32)).to(pool.device)
        self.covered = torch.from_numpy(covered.astype(np.float32)).to(pool.device)
        self.nothing_covered = not covered.any()
        self.sums = torch.zeros(len(pool), dtype=torch.float64, device=pool.device)
        self.lock = Lock()

    def see(self, candidates: slice, points: slice, similarity: torch.Tensor) -> None:
        """Add what these pairs contribute."""
        if self.nothing_covered:
            rise = similarity
        else:
            rise = torch.sub(similarity, self.covered[points]).relu_()
        added = torch.mv(rise, self.weights[points])
        with self.lock:
            self.sums[candidates] += added

    def finish(self, candidates: slice) -> None:
        """Nothing is left to do for these."""

    def gains(self) -> Gains:
        """Of every row."""
        return np.asarray(self.sums.cpu().numpy())


class GainsOfSome:
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
        moments = np.repeat(np.arange(len(rows)), [len(some) for some in rows])
        wanted = np.concatenate([NO_ROWS, *rows])
        self.order = np.lexsort((moments, wanted))  # by block, since a block comes at a time
        self.ends = np.cumsum([len(some) for some in rows]).tolist()
        blocks = wanted[self.order] // BLOCK
        self.begins = np.searchsorted(blocks, np.arange(-(-len(pool) // BLOCK) + 1)).tolist()
        self.places = torch.from_numpy(wanted[self.order] % BLOCK).to(pool.device)
        self.moments = torch.from_numpy(moments[self.order]).to(pool.device)
        self.weights = torch.from_numpy(weights.astype(np.float32)).to(pool.device)
        floors = np.array(covered, dtype=np.float32).reshape(len(rows), len(pool))
        self.covered = torch.from_numpy(floors).to(pool.device)
        self.sums = torch.zeros(len(wanted), dtype=torch.float64, device=pool.device)
        self.lock = Lock()

    def see(self, candidates: slice, points: slice, similarity: torch.Tensor) -> None:
        """Add what these pairs contribute."""
        number = candidates.start // BLOCK
        for part in slices(self.begins[number + 1], AT_ONCE, self.begins[number]):
            rise = similarity.index_select(0, self.places[part])
            rise.sub_(self.covered[:, points].index_select(0, self.moments[part])).relu_()
            added = torch.mv(rise, self.weights[points])
            with self.lock:
                self.sums[part] += added

    def finish(self, candidates: slice) -> None:
        """Nothing is left to do for these."""

    def gains(self) -> list[Gains]:
        """Of the rows of each moment."""
        gains = np.empty(len(self.order))
        gains[self.order] = self.sums.cpu().numpy()
        return [gains[begin:end] for begin, end in pairwise([0, *self.ends])]


class GainsAlong:
    """Upper bounds of gains at several moments, of all rows where nearly all are wanted."""

    def __init__(
        self,
        pool: GaussianPool,
        weights: Weights,
        covered: Sequence[Covered],
        rows: Sequence[Rows],
    ) -> None:
        """Begin with nothing seen; arguments as in `GainsOfSome`."""
        self.rows = rows
        few = [moment for moment, some in enumerate(rows) if len(some) <= MANY * len(pool)]
        self.of_all = {
            moment: GainsAt(pool, weights, covered[moment])
            for moment in range(len(rows))
            if moment not in few
        }
        self.few = few
        self.of_some = GainsOfSome(
            pool, weights, [covered[moment] for moment in few], [rows[moment] for moment in few]
        )

    @property
    def observers(self) -> list[GainsAt | GainsOfSome]:
        """What must see the pool."""
        return [*self.of_all.values(), self.of_some]

    def gains(self) -> list[Gains]:
        """Of the rows of each moment."""
        gains = dict(zip(self.few, self.of_some.gains(), strict=True))
        for moment, found in self.of_all.items():
            gains[moment] = found.gains()[self.rows[moment]]
        return [gains[moment] for moment in range(len(self.rows))]


class PairsAbove:
    """Pairs that are more similar than a threshold, which every point has of its own."""

    def __init__(
        self,
        pool: GaussianPool,
        thresholds: NDArray[np.float64],
        *,
        expected: int = 0,
        called: Rows | None = None,
    ) -> None:
        """Begin with nothing found.

        Args:
            pool: All of its rows are points.
            thresholds: Of every point.
            expected: How many pairs there will be at most, about.
            called: What the rows are called in the result; their own number if not given.
        """
        self.thresholds = thresholds.astype(np.float32)
        self.found = PairsBuilder(len(pool), BLOCK, expected=expected, rows=called)

    def see(self, candidates: slice, points: slice, similarity: torch.Tensor) -> None:
        """Keep the pairs of this block that are similar enough."""
        block = similarity.cpu().numpy()
        near = np.flatnonzero(block > self.thresholds[points])
        candidate, point = np.divmod(near.astype(np.uint32), np.uint32(block.shape[1]))
        fragment = Fragment(
            candidate.astype(np.uint16), point.astype(np.uint16), block.reshape(-1)[near]
        )
        self.found.add(candidates.start // BLOCK, points.start // BLOCK, fragment)

    def finish(self, candidates: slice) -> None:
        """Put the pairs of these candidates in order: no more will come."""
        self.found.finish(candidates.start // BLOCK)

    def pairs(self) -> Pairs:
        """All that were kept."""
        return self.found.build()


def sweep(
    pool: GaussianPool,
    observers: Sequence[GainsAt | GainsOfSome | PairsAbove],
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
                observer.see(rows, columns, block)
            if rows != columns:
                mirrored = memory[: block.numel()].view_as(block.T).copy_(block.T)
                for observer in observers:
                    observer.see(columns, rows, mirrored)

    for rows in in_threads(show, pool.strips(), pool.device):
        for observer in observers:
            observer.finish(rows)
        on_progress(1.0 - (1.0 - rows.stop / len(pool)) ** 2)
    on_progress(1.0)
