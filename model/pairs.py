"""Pairs of rows that still matter: a candidate and a point that it is nearer to than any label.

All other pairs add nothing to any gain, now or later, because what is covered stays covered.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from model.arrays import Rows


@dataclass(frozen=True)
class Pairs:
    """For every candidate the points it can cover better, and how similar they are."""

    starts: NDArray[np.int64]  # (candidates + 1,), where each candidate's points begin
    points: NDArray[np.int32]  # (pairs,)
    similarities: NDArray[np.float32]  # (pairs,), never too low

    def __len__(self) -> int:
        return len(self.points)

    def of(self, candidate: int) -> slice:
        """Where the pairs of one candidate lie."""
        return slice(int(self.starts[candidate]), int(self.starts[candidate + 1]))

    def counts(self, candidates: Rows) -> NDArray[np.int64]:
        """How many pairs each of these candidates has."""
        return np.asarray(self.starts[candidates + 1] - self.starts[candidates])

    def of_many(self, candidates: Rows) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the pairs of these candidates lie, and where each candidate's begin therein."""
        counts = self.counts(candidates)
        begins = np.concatenate([[0], np.cumsum(counts)])
        shifts = np.repeat(self.starts[candidates] - begins[:-1], counts)
        return np.arange(begins[-1]) + shifts, begins[:-1]


@dataclass(frozen=True, slots=True)
class Fragment:
    """Some pairs of the candidates of one block."""

    candidates: NDArray[np.uint16]  # (pairs,), counted from the block's first
    points: NDArray[np.int32]
    similarities: NDArray[np.float32]


class PairsBuilder:
    """Pairs as they are found, block by block, in any order."""

    def __init__(self, size: int, block: int) -> None:
        """Prepare for `size` candidates in blocks of `block`."""
        self.size = size
        self.block = block
        self.fragments: list[list[Fragment]] = [[] for _ in range(-(-size // block))]

    def add(self, block: int, fragment: Fragment) -> None:
        """Keep pairs of the candidates of this block."""
        self.fragments[block].append(fragment)

    def build(self) -> Pairs:
        """All pairs, ordered by candidate."""
        counts = np.zeros(self.size + 1, dtype=np.int64)
        total = sum(len(f.points) for fragments in self.fragments for f in fragments)
        points = np.empty(total, dtype=np.int32)
        similarities = np.empty(total, dtype=np.float32)
        filled = 0
        for number, fragments in enumerate(self.fragments):
            if not fragments:
                continue
            candidates = np.concatenate([f.candidates for f in fragments])
            order = np.argsort(candidates, kind="stable")
            end = filled + len(order)
            points[filled:end] = np.concatenate([f.points for f in fragments])[order]
            similarities[filled:end] = np.concatenate([f.similarities for f in fragments])[order]
            first = number * self.block
            last = min(first + self.block, self.size)
            counts[first + 1 : last + 1] = np.bincount(candidates, minlength=last - first)
            filled = end
            fragments.clear()
        return Pairs(np.cumsum(counts), points, similarities)


def merged(left: Pairs, right: Pairs) -> Pairs:
    """The pairs of both, which have none in common."""
    counts = np.diff(left.starts) + np.diff(right.starts)
    starts = np.concatenate([[0], np.cumsum(counts)])
    candidates = np.concatenate(
        [np.repeat(np.arange(len(counts)), np.diff(pairs.starts)) for pairs in (left, right)]
    )
    order = np.argsort(candidates, kind="stable")
    return Pairs(
        starts,
        np.concatenate([left.points, right.points])[order],
        np.concatenate([left.similarities, right.similarities])[order],
    )
