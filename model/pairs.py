"""Pairs of rows that still matter: a candidate and a point that it is nearer to than any label.

All other pairs add nothing to any gain, now or later, because what is covered stays covered.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from model.arrays import Rows
from model.loops import lay_out
from model.pair_loops import PairArrays, joined

PAIR_BYTES = 12  # while pairs are being collected and put in order
GROWTH = 8  # one in so many places is spare


@dataclass(frozen=True)
class Pairs:
    """For every candidate the points it can cover better, and how similar they are."""

    starts: NDArray[np.int64]  # (candidates + 1,), where each candidate's points begin
    points: NDArray[np.int32]  # (pairs,)
    similarities: NDArray[np.float32]  # (pairs,), never too low
    turns: Rows | None = None  # (candidates,), whose pairs come how manieth; None = as numbered

    def __len__(self) -> int:
        return len(self.points)

    def arrays(self) -> PairArrays:
        """As loops take them."""
        return self.starts, self.points, self.similarities

    def of(self, candidate: int) -> slice:
        """Where the pairs of one candidate lie."""
        turn = candidate if self.turns is None else int(self.turns[candidate])
        return slice(int(self.starts[turn]), int(self.starts[turn + 1]))

    def ends(self, candidates: Rows) -> tuple[Rows, Rows]:
        """Where the pairs of each of these candidates begin and end."""
        turns = candidates if self.turns is None else self.turns[candidates]
        return self.starts[turns], self.starts[turns + 1]


@dataclass(frozen=True, slots=True)
class Fragment:
    """The pairs of the candidates of one block and the points of another, by candidate."""

    counts: NDArray[np.int64]  # (candidates,), how many pairs each one has
    points: NDArray[np.uint16]  # (pairs,), counted from the first of their block
    similarities: NDArray[np.float32]  # (pairs,)


class PairsBuilder:
    """Pairs as they are found, block by block; a block is put in order when it is complete."""

    def __init__(self, size: int, block: int, rows: Rows | None = None) -> None:
        """Prepare for pairs among `size` rows.

        Args:
            size: How many rows there are.
            block: How many of them are a block.
            rows: What each row is called in the result; its own number if not given.
        """
        self.block = block
        self.rows = rows
        self.names = (np.arange(size) if rows is None else rows).astype(np.int32)
        self.fragments: list[dict[int, Fragment]] = [{} for _ in range(-(-size // block))]
        self.starts = np.zeros(size + 1, dtype=np.int64)
        self.points = np.empty(0, dtype=np.int32)
        self.similarities = np.empty(0, dtype=np.float32)

    def add(self, candidates: int, points: int, fragment: Fragment) -> None:
        """Keep the pairs of two blocks, which are given by their numbers."""
        if len(fragment.points) > 0:
            self.fragments[candidates][points] = fragment

    def finish(self, candidates: int) -> None:
        """All pairs of the candidates of this block were found; it is the next one."""
        found = self.fragments[candidates]
        first = candidates * self.block
        stop = min(first + self.block, len(self.starts) - 1)
        counts = np.zeros(stop - first, dtype=np.int64)
        for fragment in found.values():
            counts += fragment.counts
        self.starts[first + 1 : stop + 1] = self.starts[first] + np.cumsum(counts)
        self._make_place(int(self.starts[stop]))
        places = self.starts[first:stop].copy()
        for number in sorted(found):
            names = self.names[number * self.block : (number + 1) * self.block]
            fragment = found.pop(number)
            lay_out(
                fragment.counts,
                fragment.points,
                fragment.similarities,
                names,
                places,
                (self.points, self.similarities),
            )

    def build(self) -> Pairs:
        """All pairs, ordered by candidate."""
        total = int(self.starts[-1])
        turns = None if self.rows is None else np.argsort(self.rows)
        return Pairs(self.starts, self.points[:total], self.similarities[:total], turns)

    def _make_place(self, needed: int) -> None:
        if needed > len(self.points):
            size = needed + needed // GROWTH
            self.points.resize(size, refcheck=False)  # nobody else has seen it yet
            self.similarities.resize(size, refcheck=False)


def merged(left: Pairs, right: Pairs) -> Pairs:
    """The pairs of both, which have none in common."""
    return Pairs(left.starts + right.starts, *joined((left.arrays(), right.arrays())))
