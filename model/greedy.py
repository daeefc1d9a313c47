"""Lazy greedy: choose the row with the largest gain, again and again, looking at few rows.

The gain of a row can only shrink while others are chosen. A gain from before is therefore an upper
bound of the gain now, and rows whose bound is below the best gain need not be looked at.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from model.arrays import NO_ROWS, Mask, Rows

Gains = NDArray[np.float64]  # (rows,), what each row would add to the coverage

FRONT = 2_048  # rows with the largest bounds, among which the best one usually is
REFRESHED_AT_ONCE = 32  # rows whose bounds are brought up to date together, doubled if not enough


@dataclass(frozen=True, slots=True)
class Selection:
    """Chosen pool rows, best first, and the coverage each one added when it was chosen.

    Attributes:
        rows: Positions in the pool.
        gains: What each one added.
        evaluations: Similarities that were computed on the way; 0 where nobody counted.
        error: 0 = exact. Above 0 the gains are estimates: for every batch of this size the
            estimated coverage is this close to the true one, with probability 99 %.
    """

    rows: Rows
    gains: NDArray[np.float64]
    evaluations: int = 0
    error: float = 0.0


class Objective(Protocol):
    """What the greedy asks about the pool; all answers are for what is covered at that moment."""

    @property
    def tie(self) -> float:
        """Gains that differ by less than this are equal, and the lowest row wins."""
        ...

    @property
    def exact(self) -> bool:
        """Whether the bounds are the gains themselves."""
        ...

    def foreseen(self) -> tuple[Rows, Gains]:
        """Bounds that are at hand already, and the rows they belong to."""
        ...

    def bounds(self, rows: Rows) -> Gains:
        """Upper bounds of the gains, tight enough to tell most rows apart; fast."""
        ...

    def gains(self, rows: Rows) -> Gains:
        """The gains themselves; slow."""
        ...

    def add(self, row: int) -> None:
        """Cover what is similar to this row."""
        ...


def ignore(share: float) -> None:
    """Listen to no progress."""


def maximise(
    objective: Objective,
    available: Mask,
    count: int,
    on_progress: Callable[[float], None] = ignore,
) -> Selection:
    """Choose up to `count` available rows; ties go to the lowest row."""
    greedy = _LazyGreedy(objective, available)
    chosen: list[tuple[int, float]] = []
    wanted = min(max(count, 0), int(available.sum()))
    while len(chosen) < wanted:
        chosen.append(greedy.choose())
        on_progress(len(chosen) / wanted)
    return Selection(
        rows=np.array([row for row, _ in chosen], dtype=np.int64),
        gains=np.array([gain for _, gain in chosen], dtype=np.float64),
    )


class _LazyGreedy:
    """An upper bound on every row's gain: outdated, up to date (fresh), or the gain itself."""

    def __init__(self, objective: Objective, available: Mask) -> None:
        self.objective = objective
        self.upper = np.where(available, np.inf, -np.inf)  # (n,), -inf = cannot be chosen
        self.fresh = np.zeros(len(available), dtype=np.bool_)
        self.exact = np.zeros(len(available), dtype=np.bool_)
        self.front = NO_ROWS  # ascending
        self.beyond = np.inf  # no row outside of the front has a larger bound

    def choose(self) -> tuple[int, float]:
        """The best row and its gain; from now on it is covered."""
        self.fresh[:] = False
        self.exact[:] = False
        self._look_at_foreseen()
        row = self._best_row()
        gain = float(self.upper[row])
        self.objective.add(row)
        self.upper[row] = -np.inf
        return row, gain

    def _look_at_foreseen(self) -> None:
        rows, bounds = self.objective.foreseen()
        if len(rows) > 0:
            self._lower(rows, bounds)
        if len(rows) > 0 or len(self.front) > FRONT:
            self._find_front(FRONT)

    def _best_row(self) -> int:
        refreshed, compared = REFRESHED_AT_ONCE, 1  # rows at once, doubled whenever not enough
        while True:
            winner, best = self._winner()
            if self._better_beyond(winner, best):
                self._find_front(2 * max(len(self.front), FRONT // 2))
                continue
            rivals = self._rivals(winner, best)
            if len(rivals) == 0:
                return winner
            fresh = self.fresh[rivals]
            if fresh[np.argmax(self.upper[rivals])]:
                self._compare(self._foremost(rivals[fresh], compared))
                compared *= 2
            else:
                self._refresh(self._foremost(rivals[~fresh], refreshed))
                refreshed *= 2

    def _winner(self) -> tuple[int, float]:
        """The lowest of the best rows whose gains are known, or -1."""
        known = self.exact[self.front]
        if not known.any():
            return -1, -np.inf
        gains = np.where(known, self.upper[self.front], -np.inf)
        best = float(gains.max())
        return int(self.front[np.argmax(gains >= best - self.objective.tie)]), best

    def _better_beyond(self, winner: int, best: float) -> bool:
        """Whether a row outside of the front may be better than all in it."""
        if not np.isfinite(self.beyond):
            return self.beyond > 0.0
        if winner < 0:
            return bool(self.upper[self.front].max() < self.beyond)
        return self.beyond >= best - self.objective.tie

    def _rivals(self, winner: int, best: float) -> Rows:
        """Rows that may still turn out to be better than the winner, ascending."""
        upper, tie = self.upper[self.front], self.objective.tie
        gain = self.upper[winner] if winner >= 0 else -np.inf  # the best one's or less, by a tie
        better = (upper > gain + tie) | ((upper >= best - tie) & (self.front < winner))
        return np.asarray(self.front[better & ~self.exact[self.front] & (upper > -np.inf)])

    def _foremost(self, rows: Rows, count: int) -> Rows:
        """The rows with the largest bounds, in any order; the lowest of equal ones."""
        if count >= len(rows):
            return rows
        if count == 1:
            return rows[[np.argmax(self.upper[rows])]]
        least = -np.partition(-self.upper[rows], count - 1)[count - 1]
        above = self.upper[rows] > least
        equal = np.flatnonzero(self.upper[rows] == least)[: count - int(above.sum())]
        above[equal] = True
        return np.asarray(rows[above])

    def _refresh(self, rows: Rows) -> None:
        self._lower(rows, self.objective.bounds(rows))
        self.exact[rows] = self.objective.exact

    def _compare(self, rows: Rows) -> None:
        self.upper[rows] = self.objective.gains(rows)
        self.exact[rows] = True

    def _lower(self, rows: Rows, bounds: Gains) -> None:
        self.upper[rows] = bounds if self.objective.exact else np.minimum(self.upper[rows], bounds)
        self.fresh[rows] = True

    def _find_front(self, size: int) -> None:
        if size >= len(self.upper):
            self.front, self.beyond = np.arange(len(self.upper)), -np.inf
            return
        order = np.argpartition(-self.upper, size)
        self.front = np.sort(order[:size])
        self.beyond = float(self.upper[order[size]])
