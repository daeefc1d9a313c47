"""A neighbour graph: for every point all rows that are nearer than its reach, made once.

A row can cover a point better only if it is nearer to it than the nearest label. Where that label
lies within the point's reach, the graph holds all such rows. Features never change and labels
become more, so that one graph serves every later round.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from model.arrays import Features, Rows
from model.errors import ModelError
from model.files import UNREADABLE, Arrays, load_arrays, save_arrays
from model.gaussian_pool import GaussianPool
from model.greedy import ignore
from model.kernels import least, squared_between
from model.pair_loops import no_farther, shortest, within
from model.pairs import PAIR_BYTES, Pairs
from model.sweep import PairsAbove, share_above, sweep

MEMORY = 1_000_000_000  # bytes that building may use beside the features
BYTES_IN_USE = 20  # for every pair at most, beside the graph itself, while it is used
MOST_OPEN = 0.05  # share of the points that may have no label within reach


@dataclass(frozen=True)
class NeighbourGraph:
    """Pairs of rows that are nearer to each other than the reach of one of them.

    Attributes:
        pairs: For every row the points within whose reach it is; the similarities of these pairs
            are minus the squared distance, too high by `error` at most.
        reach: (n,), squared distance up to which all rows are among the pairs of a point.
        error: How far a squared distance may be off.
    """

    pairs: Pairs
    reach: NDArray[np.float64]
    error: float

    @classmethod
    def around(
        cls,
        features: Features,
        centres: Rows,
        *,
        memory: int = MEMORY,
        on_progress: Callable[[float], None] = ignore,
    ) -> "NeighbourGraph | None":
        """Compare all rows with each other, once; a point reaches as far as its nearest centre.

        Args:
            features: The pool.
            centres: Rows that have a label, or will have one when the graph is used.
            memory: Bytes that may be used beside the features, about.
            on_progress: Called with the share that is done.

        Returns:
            None if there would be too many pairs, because there are too few centres.
        """
        if len(centres) == 0:
            return None
        pool = GaussianPool(features, radius=1.0)
        error = 2.0 * pool.error
        reach = pool.squared_to(centres) + 2.0 * error  # the centre itself is within it for sure
        share = share_above(pool, -reach, exponents=True)
        if share * len(pool) ** 2 * PAIR_BYTES > memory:
            return None
        near = PairsAbove(pool, -reach)
        sweep(pool, [near], on_progress, exponents=True)
        return cls(near.pairs(), reach, error)

    def narrowed(self, squared: NDArray[np.float64]) -> "NeighbourGraph":
        """The same with a shorter reach: no farther than this at each point."""
        reach = np.minimum(self.reach, squared + 2.0 * self.error)
        return NeighbourGraph(self._within(reach), reach, self.error)

    def squared_to_labels(self, features: Features, labeled: Rows) -> NDArray[np.float64]:
        """Exact squared distance (n,) of every point to its nearest label, inf out of reach."""
        theirs = (*self.pairs.ends(labeled), self.pairs.points, self.pairs.similarities)
        lowest = shortest(*theirs, len(self.reach))  # none is nearer than this
        which, points = no_farther(*theirs, lowest + self.error)
        exact = least(squared_between(features, labeled[which], points), points, len(self.reach))
        exact[exact > self.reach - self.error] = np.inf  # another may be nearer, out of reach
        return exact

    def nearer_than(self, squared: NDArray[np.float64], radius: float) -> Pairs:
        """Pairs nearer than this at the point, with their similarities, which are not too low."""
        near = self._within(squared)
        values = near.similarities  # nobody else has them; a copy would take as much again
        values *= np.float32(1.0 / radius**2)
        np.exp(np.minimum(values, 0.0, out=values), out=values)
        values *= np.float32(1.0 + 1e-6)
        return near

    def _within(self, squared: NDArray[np.float64]) -> Pairs:
        return Pairs(*within(*self.pairs.arrays(), squared))

    def save(self, path: Path) -> None:
        """Write one file."""
        arrays: Arrays = {
            "starts": self.pairs.starts,
            "points": self.pairs.points,
            "similarities": self.pairs.similarities,
            "reach": self.reach,
            "error": np.array(self.error),
        }
        save_arrays(path, arrays)

    @classmethod
    def load(cls, path: Path) -> "NeighbourGraph":
        """Read what `save` wrote."""
        try:
            file = load_arrays(path)
            pairs = Pairs(file["starts"], file["points"], file["similarities"])
            return cls(pairs, file["reach"], float(file["error"]))
        except UNREADABLE as error:
            raise ModelError(
                f"{path} is no neighbour graph ({error}). Delete it; it will be built again."
            ) from error
