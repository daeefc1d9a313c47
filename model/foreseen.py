"""The coverage of a pool too large for its similarities to be kept: one sweep ahead of the choices.

Some choices are guessed. One sweep over all pairs gives the gains before and after each of them,
and the pairs that still matter after the last, if there is place for them. Where a guess was wrong,
what follows it is forgotten: only the time is lost.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from model.arrays import NO_ROWS, Mask, Rows
from model.gaussian_pool import GaussianPool
from model.greedy import Gains
from model.guessing import Cells, guess
from model.objectives import Covered, DenseCoverage, PairedCoverage, Rising, Weights
from model.pairs import PAIR_BYTES, Pairs
from model.sweep import GainsAlong, PairsAbove, share_above, sweep

MOST = 64  # choices to guess for one sweep
WORTH = 8  # choices that must have been guessed rightly for another sweep
PAIRS_FILL = 0.5  # share of the memory; the pool in another order takes some as well


@dataclass
class _Plan:
    """What one sweep found out.

    Attributes:
        rows: The guessed choices.
        gains: Before each of them and after the last.
        pairs: That matter after the last; None = there was no place for them.
        taken: How many of the guesses were right so far.
    """

    rows: list[int]
    gains: list[tuple[Rows, Gains]]
    pairs: PairedCoverage | None
    taken: int = 0


class ForeseenCoverage(DenseCoverage):
    """An objective that knows the gains and pairs it will be asked for, if it guesses well."""

    def __init__(  # noqa: PLR0913 (each has its name at the one call)
        self,
        pool: GaussianPool,
        weights: Weights,
        covered: Covered,
        tie: float,
        *,
        available: Mask,
        count: int,
        memory: int,
        on_progress: Callable[[float], None],
    ) -> None:
        """Begin with what is covered already; nothing is foreseen yet.

        Args:
            pool: All of its rows are points.
            weights: As in `Coverage`.
            covered: As in `Coverage`.
            tie: As in `Coverage`.
            available: True for rows that may be chosen.
            count: How many rows will be chosen at most.
            memory: Bytes that may be used.
            on_progress: Called with the share of a sweep that is done.
        """
        super().__init__(pool, weights, covered, tie)
        self.available = available.copy()
        self.missing = count
        self.memory = memory
        self.on_progress = on_progress
        self.plan: _Plan | None = None
        self.worthwhile = True

    @cached_property
    def cells(self) -> Cells:
        """Of the pool."""
        return Cells.of_pool(self.pool)

    def foreseen(self) -> tuple[Rows, Gains]:
        """The gains that are needed now."""
        if self.plan is None and self.worthwhile:
            self.plan = self._look_ahead()
        if self.plan is None or self.plan.taken == len(self.plan.gains):
            return NO_ROWS, np.empty(0)
        return self.plan.gains[self.plan.taken]

    def bounds(self, rows: Rows) -> Gains:
        """As `Objective.bounds`."""
        pairs = self._pairs()
        return super().bounds(rows) if pairs is None else pairs.bounds(rows)

    def rising(self, row: int) -> Rising:
        """As `Coverage.rising`."""
        pairs = self._pairs()
        return super().rising(row) if pairs is None else pairs.rising(row)

    def add(self, row: int) -> None:
        """As `Objective.add`."""
        super().add(row)
        self.available[row] = False
        self.missing -= 1
        plan = self.plan
        if plan is None:
            return
        if plan.rows[plan.taken : plan.taken + 1] not in ([row], []):
            self.plan, self.worthwhile = None, plan.taken >= WORTH
        elif plan.taken == len(plan.rows) and plan.pairs is None:
            self.plan = None
        else:
            plan.taken = min(plan.taken + 1, len(plan.gains))

    def _pairs(self) -> PairedCoverage | None:
        plan = self.plan
        return plan.pairs if plan is not None and plan.taken >= len(plan.rows) else None

    def _look_ahead(self) -> _Plan:
        guessed = guess(
            self.pool,
            self.weights,
            self.covered,
            available=self.available,
            cells=self.cells,
            most=min(MOST, self.missing - 1),
            memory=self.memory,
            enough=self._pairs_have_place,
        )
        order = self.cells.order  # in which the pairs that matter are in few blocks
        ordered, place = self.pool.of_rows(order), np.argsort(order)
        covered = [moment[order] for moment in guessed.covered]
        rows = [place[needed] for needed in guessed.needed]
        gains = GainsAlong(ordered, self.weights[order], covered, rows)
        near = self._pairs_after(ordered, guessed.covered[-1])
        sweep(ordered, [gains, *near], self.on_progress)
        return _Plan(
            guessed.rows,
            list(zip(guessed.needed, gains.gains(), strict=True)),
            self._paired(near[0].pairs()) if near else None,
        )

    def _pairs_after(self, ordered: GaussianPool, covered: Covered) -> list[PairsAbove]:
        """What collects the pairs that still matter then; nothing if they have no place."""
        if not self._pairs_have_place(covered):
            return []
        order = self.cells.order
        return [PairsAbove(ordered, covered[order], called=order)]

    def _paired(self, pairs: Pairs) -> PairedCoverage:
        return PairedCoverage(self.pool, self.weights, self.covered, self.tie, pairs)

    def _place_for_pairs(self) -> int:
        return int(PAIRS_FILL * self.memory / PAIR_BYTES)

    def _pairs_have_place(self, covered: Covered) -> bool:
        share = share_above(self.pool, covered)
        return share * len(self.pool) ** 2 <= self._place_for_pairs()
