"""What a greedy will presumably choose, found with a sample of the points.

Points that are drawn at equal steps, from rows that were put in order by what they are similar to,
stand for a pool far better than points drawn at random. In a pool of 100,000 rows in clusters the
row with the largest gain was among the best 30 by a sample of 4,096 points, for each of the first
40 choices.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray

from model.arrays import Mask, Rows
from model.gaussian_pool import GaussianPool, slices
from model.greedy import Gains
from model.objectives import Covered, DenseCoverage, Weights
from model.threads import in_threads

LANDMARKS = 1_024  # rows at most; a cell is all rows that are most similar to the same one
CELL = 100  # rows in a cell at least, on average
SAMPLE = 4_096  # points
SAMPLE_BYTES = 2  # for every row and point of the sample
SAMPLE_FILLS = 0.4  # share of the memory
ESTIMATED_AT_ONCE = 256  # rows, more if not enough
COMPARED_AT_ONCE = 32  # rows whose gains are computed with all points
COMPARED = 192  # such rows for one choice, at most
COMPARED_SHARE = 0.01  # of all rows, likewise
HOPE = 1.15  # what the estimates of a cell are multiplied with before one was compared
MARGIN = 0.08  # by how much a corrected estimate may be too low, about
SLACK = 0.15  # the same for a gain that will be known, and needed again where it is not low enough
REGIONS = 32  # landmarks, by the most similar of which the others are put in order


@dataclass
class Guess:
    """The next choices, presumably.

    Attributes:
        rows: The choices.
        covered: The coverage before each of them and after the last, never too high.
        needed: At each of these moments the rows whose gains will have to be known, ascending.
    """

    rows: list[int] = field(default_factory=list)
    covered: list[Covered] = field(default_factory=list)
    needed: list[Rows] = field(default_factory=list)


@dataclass(frozen=True)
class Cells:
    """The rows of a pool, parted by the landmark that is most similar to them.

    Attributes:
        of: (n,), the number of every row's cell; similar cells are near each other.
        order: All rows, cell by cell, in each the most similar to its landmark last.
    """

    of: NDArray[np.int64]
    order: Rows

    @classmethod
    def of_pool(cls, pool: GaussianPool) -> "Cells":
        """With landmarks drawn at random."""
        count = min(LANDMARKS, 1 + len(pool) // CELL)
        landmarks = np.random.default_rng(0).permutation(len(pool))[:count]
        right = pool.right[torch.from_numpy(landmarks).to(pool.device)]
        closeness = pool.left(torch.from_numpy(landmarks).to(pool.device)) @ right[:REGIONS].T
        right = right[closeness.argmax(dim=1).argsort(stable=True)]
        cells, exponents = np.empty(len(pool), dtype=np.int64), np.empty(len(pool))

        def compare(rows: slice) -> None:
            block = torch.empty(rows.stop - rows.start, len(right), device=pool.device)
            best = pool.exponents(pool.left(rows), right, block).max(dim=1)
            cells[rows], exponents[rows] = best.indices.cpu().numpy(), best.values.cpu().numpy()

        for _ in in_threads(compare, pool.strips(), pool.device):
            pass
        return cls(cells, np.lexsort((exponents, cells)))


def guess(  # noqa: PLR0913 (each has its name at the one call)
    pool: GaussianPool,
    weights: Weights,
    covered: Covered,
    *,
    available: Mask,
    cells: Cells,
    most: int,
    memory: int,
    enough: Callable[[Covered], bool],
) -> Guess:
    """Guess choices until there are enough.

    Args:
        pool: All of its rows are points.
        weights: How much each point counts.
        covered: Similarity of every point to the nearest covered row.
        available: True for rows that may be chosen; more than `most`.
        cells: Of this pool.
        most: How many choices to guess at most.
        memory: Bytes that may be used.
        enough: Tells by the coverage whether to stop.
    """
    guessed = Guess()
    guesser = _Guesser(pool, weights, covered.copy(), available, cells, memory)
    while True:
        row = guesser.look_around()
        guessed.covered.append(guesser.covered.copy())
        guessed.needed.append(guesser.needed())
        if len(guessed.rows) >= most or enough(guesser.covered):
            return guessed
        guesser.choose(row)
        guessed.rows.append(row)


class _Guesser:
    """A lazy greedy by estimates, which the gains of a few rows of each cell correct."""

    def __init__(
        self,
        pool: GaussianPool,
        weights: Weights,
        covered: Covered,
        available: Mask,
        cells: Cells,
        memory: int,
    ) -> None:
        self.coverage = DenseCoverage(pool, weights, covered, 0.0)
        self.sample = _Sample(pool, weights, cells.order, memory)
        self.cells = cells.of
        self.corrections = np.ones(int(cells.of.max()) + 1)
        self.hopes = np.full(len(self.corrections), HOPE)
        self.estimates = np.where(available, np.inf, -np.inf)  # (n,), -inf = cannot be chosen
        self.fresh = np.zeros(len(pool), dtype=np.bool_)  # whose estimates are up to date
        self.known = self.estimates.copy()  # gains that will be known, from when they were needed
        self.best = -1.0

    @property
    def covered(self) -> Covered:
        return self.coverage.covered

    def look_around(self) -> int:
        """The row with the largest gain, presumably."""
        self.fresh[:] = False
        self.best = -1.0
        compared = np.zeros(len(self.fresh), dtype=np.bool_)
        most = min(COMPARED, math.ceil(COMPARED_SHARE * len(compared)))
        winner, estimated = -1, ESTIMATED_AT_ONCE
        while True:
            values = self._corrected() * self.hopes[self.cells]
            values[compared] = -np.inf
            rows = _foremost(values, COMPARED_AT_ONCE)
            rows = rows[values[rows] >= self.best]
            if len(rows) == 0 or compared.sum() >= most:
                self.known[winner] = max(self.known[winner], self.best)
                return winner
            if not self.fresh[rows].all():
                rows = _foremost(np.where(self.fresh, -np.inf, values), estimated)
                self._estimate(rows[values[rows] >= self.best])
                estimated += estimated // 4
                continue
            gains = self.coverage.bounds(rows)
            compared[rows] = True
            self._correct(rows, gains)
            if gains.max() > self.best:
                winner, self.best = int(rows[np.argmax(gains)]), float(gains.max())

    def needed(self) -> Rows:
        """The rows whose gains will have to be known at this moment, ascending."""
        rows = np.flatnonzero(self.known * (1.0 + SLACK) >= self.best)
        self._estimate(rows[~self.fresh[rows]])
        self.known[rows] = self._corrected()[rows]
        return rows

    def _corrected(self) -> Gains:
        return np.asarray(self.estimates * self.corrections[self.cells])

    def _estimate(self, rows: Rows) -> None:
        self.estimates[rows] = self.sample.gains(rows, self.covered)
        self.fresh[rows] = True

    def _correct(self, rows: Rows, gains: Gains) -> None:
        """Learn how far the estimates in the cells of these rows are off."""
        cells = self.cells[rows]
        known = np.bincount(cells, weights=gains, minlength=len(self.corrections))
        estimated = np.bincount(
            cells, weights=self.estimates[rows], minlength=len(self.corrections)
        )
        learned = estimated > 0
        self.corrections[learned] = np.clip(known[learned] / estimated[learned], 0.5, 2.0)
        self.hopes[learned] = 1.0 + MARGIN

    def choose(self, row: int) -> None:
        """Cover what is similar to this row; not too much of it."""
        pool = self.coverage.pool
        similarity = pool.lower(np.array([row]), pool.right)[0].cpu().numpy()
        np.maximum(self.covered, similarity, out=self.covered)
        self.covered[row] = 1.0
        self.estimates[row] = self.known[row] = -np.inf


def _foremost(values: Gains, count: int) -> Rows:
    """The rows with the largest values, ascending; none with -inf."""
    count = min(count, len(values))
    rows = np.argpartition(-values, count - 1)[:count]
    return np.sort(rows[values[rows] > -np.inf])


class _Sample:
    """The similarities of all rows to a sample of the points, kept."""

    def __init__(self, pool: GaussianPool, weights: Weights, order: Rows, memory: int) -> None:
        size = int(SAMPLE_FILLS * memory / (SAMPLE_BYTES * len(pool)))
        size = max(1, min(SAMPLE, size, len(pool)))
        sums = np.cumsum(weights[order])  # heavy points are drawn more often, and count alike
        steps = (np.arange(size) + 0.5) / size * sums[-1]
        self.points = order[np.minimum(np.searchsorted(sums, steps), len(order) - 1)]
        self.weight = sums[-1] / size
        right = pool.right[torch.from_numpy(self.points).to(pool.device)]
        self.similarity = torch.empty(len(pool), size, dtype=torch.float16, device=pool.device)

        def keep(rows: slice) -> None:
            block = torch.empty(rows.stop - rows.start, size, device=pool.device)
            self.similarity[rows] = pool.exponents(pool.left(rows), right, block).exp_()

        for _ in in_threads(keep, pool.strips(), pool.device):
            pass

    def gains(self, rows: Rows, covered: Covered) -> Gains:
        """Estimates for these rows."""
        gains = np.empty(len(rows))
        floor = torch.from_numpy(covered[self.points].astype(np.float32)).to(self.similarity.device)

        def estimate(part: slice) -> None:
            some = torch.from_numpy(rows[part]).to(self.similarity.device)
            rise = self.similarity.index_select(0, some).float().sub_(floor).relu_()
            gains[part] = rise.sum(dim=1).cpu().numpy() * self.weight

        for _ in in_threads(estimate, list(slices(len(rows), 128)), self.similarity.device):
            pass
        return gains
