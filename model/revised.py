"""The coverage of a pool too large for its similarities to be kept: old bounds are revised.

A row that is chosen raises the coverage of few points. Of an old bound only the part of these
points has to be computed again. The first choices raise the coverage of nearly all points: they are
guessed by a random sample, so that one sweep gives all gains before and after each of them.
"""

from collections.abc import Callable

import numpy as np
import torch

from model.arrays import NO_ROWS, Mask, Rows
from model.gaussian_pool import SUM_ERROR, GaussianPool, slices, weighted_sums
from model.greedy import Gains, maximise
from model.objectives import Covered, DenseCoverage, Weights
from model.sweep import GainsAt, sweep

GUESSED = 3  # first choices; with more, summing up costs as much as revising
SAMPLE = 4_096  # points by which they are guessed
CONTENDERS = 256  # rows that are best by the sample, of which the best is found exactly
AT_ONCE = 4_000_000  # similarities, 16 MB


class RevisedCoverage(DenseCoverage):
    """An objective that knows a bound for every row from some moment and revises it when asked."""

    def __init__(  # noqa: PLR0913 (each has its name at the one call)
        self,
        pool: GaussianPool,
        weights: Weights,
        covered: Covered,
        tie: float,
        *,
        available: Mask,
        count: int,
        on_progress: Callable[[float], None],
    ) -> None:
        """Guess the first choices and sweep.

        Args:
            pool: All of its rows are points.
            weights: As in `Coverage`.
            covered: As in `Coverage`.
            tie: As in `Coverage`.
            available: True for rows that may be chosen.
            count: How many rows will be chosen at most.
            on_progress: Called with the share of the sweep that is done.
        """
        super().__init__(pool, weights, covered, tie)
        self.guessed, moments = self._guess(available, min(GUESSED, count - 1))
        self.prepared = [GainsAt(pool, weights, moment) for moment in moments]
        sweep(pool, self.prepared, on_progress)
        self.known = np.zeros(len(pool))  # a bound of every row's gain
        self.since = np.full(len(pool), -1)  # after how many choices; -1 = never
        self.raised = np.zeros(len(pool), dtype=np.int64)  # after how many choices a point was last
        self.history = [covered.astype(np.float32)]  # the coverage after each number of choices

    def foreseen(self) -> tuple[Rows, Gains]:
        """All gains, while the choices are as they were guessed."""
        if self.chosen >= len(self.prepared):
            return NO_ROWS, np.empty(0)
        return self._learn(np.arange(len(self.known)), self.prepared[self.chosen].gains())

    def bounds(self, rows: Rows) -> Gains:
        """As `Objective.bounds`."""
        age = np.where(self.since[rows] < 0, 0, self.chosen - self.since[rows] + 1)
        bounds = np.empty(len(rows))
        for octave in np.unique(np.frexp(age)[1]):  # rows of about the same age have most in common
            some = np.flatnonzero(np.frexp(age)[1] == octave)
            revise = super().bounds if octave == 0 else self._revised
            bounds[some] = revise(rows[some])
        return self._learn(rows, bounds)[1]

    def add(self, row: int) -> None:
        """As `Objective.add`."""
        before = self.covered.copy()
        super().add(row)
        if self.guessed[self.chosen : self.chosen + 1] != [row]:
            self.prepared = []
        self.raised[self.covered > before] = self.chosen + 1
        self.history.append(self.covered.astype(np.float32))

    @property
    def chosen(self) -> int:
        """How many rows were chosen so far."""
        return len(self.history) - 1

    def _learn(self, rows: Rows, bounds: Gains) -> tuple[Rows, Gains]:
        self.known[rows] = bounds
        self.since[rows] = self.chosen
        return rows, bounds

    def _revised(self, rows: Rows) -> Gains:
        """The known bounds without what other rows have covered since."""
        since = self.since[rows]
        points = np.flatnonzero(self.raised > since.min())
        right = self.pool.right[torch.from_numpy(points).to(self.pool.device)]
        weights = torch.from_numpy(self.weights[points].astype(np.float32)).to(self.pool.device)
        now = self._covered(self.chosen, points, towards=0.0)
        before = {moment: self._covered(moment, points, towards=2.0) for moment in np.unique(since)}
        lost = np.empty(len(rows))
        for part in slices(len(rows), max(1, AT_ONCE // max(1, len(points)))):
            least = self.pool.lower(rows[part], right)
            then = torch.stack([before[moment] for moment in since[part]])
            lost[part] = weighted_sums(least.clamp_(then, now).sub_(then), weights)
        return np.maximum(self.known[rows] - (1.0 - SUM_ERROR) * lost, 0.0)

    def _covered(self, moment: int, points: Rows, towards: float) -> torch.Tensor:
        """The coverage then, rounded in the direction that leaves the bounds above the gains."""
        covered = np.nextafter(self.history[moment][points], np.float32(towards))
        return torch.from_numpy(covered).to(self.pool.device)

    def _guess(self, available: Mask, count: int) -> tuple[list[int], list[Covered]]:
        """The first rows, presumably, and the coverage before and after each of them."""
        ahead = DenseCoverage(self.pool, self.weights, self.covered.copy(), self.tie)
        weighty = np.flatnonzero(self.weights > 0)
        points = np.random.default_rng(0).permutation(weighty)[:SAMPLE]
        rows: list[int] = []
        moments = [self.covered.copy()]
        for _ in range(count):
            likely = np.zeros(len(self.pool), dtype=np.bool_)
            estimates = np.where(available, ahead.sampled_bounds(points), -np.inf)
            likely[np.argsort(-estimates)[:CONTENDERS]] = True
            likely[rows] = False
            rows.extend(maximise(ahead, likely & available, 1).rows.tolist())
            moments.append(ahead.covered.copy())
        return rows, moments
