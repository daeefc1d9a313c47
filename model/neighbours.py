"""A neighbour graph: for every point all rows that are nearer than its reach, made once.

With labels all over the pool a row can cover a point better only if it is nearer to it than the
nearest label. Where that label lies within the point's reach, the graph holds all such rows.
Features never change, so that one graph serves every round.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
import torch
from numpy.typing import NDArray

from model.arrays import Features, Mask
from model.errors import ModelError
from model.gaussian_pool import GaussianPool
from model.greedy import ignore
from model.kernels import blocks
from model.pairs import Pairs
from model.sweep import PairsAbove, sweep
from model.threads import in_threads

NEIGHBOURS = 256  # rows within the reach of a point, on average
LEAST_SAMPLE, SAMPLE = 1_024, 4_096  # rows whose distances tell how far a reach must be
SEEN = 24  # of them within a reach; so many are enough


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
    def build(
        cls,
        features: Features,
        *,
        neighbours: int = NEIGHBOURS,
        on_progress: Callable[[float], None] = ignore,
        seed: int = 0,
    ) -> "NeighbourGraph":
        """Compare all rows with each other, once.

        Args:
            features: The pool.
            neighbours: How many rows a point reaches, about; 8 bytes for each.
            on_progress: Called with the share that is done.
            seed: Draws the rows by which the reach is found.
        """
        pool = GaussianPool(features, radius=1.0)
        reach = _reach(pool, neighbours, np.random.default_rng(seed))
        observer = PairsAbove(pool, -reach)
        sweep(pool, [observer], on_progress, exponents=True)
        return cls(observer.pairs(), reach, 2.0 * pool.error)

    def squared_to_labels(self, features: Features, labeled: Mask) -> NDArray[np.float64]:
        """Exact squared distance (n,) of every point to its nearest label, inf out of reach."""
        rows = np.flatnonzero(labeled)
        places, _ = self.pairs.of_many(rows)
        labels = np.repeat(rows, self.pairs.counts(rows))
        points = self.pairs.points[places]
        lowest = -self.pairs.similarities[places].astype(np.float64)  # none is nearer than this
        nearest = np.full(len(self.reach), np.inf)
        np.minimum.at(nearest, points, lowest)
        rivals = np.flatnonzero(lowest <= nearest[points] + self.error)
        exact = np.full(len(self.reach), np.inf)
        for part in blocks(len(rivals), features.shape[1]):
            some = rivals[part]
            differences = features[points[some]].astype(np.float64)
            differences -= features[labels[some]]
            squared = np.einsum("nd,nd->n", differences, differences)
            np.minimum.at(exact, points[some], squared)
        exact[exact > self.reach - self.error] = np.inf
        return exact

    def nearer_than(self, squared: NDArray[np.float64], radius: float) -> Pairs:
        """Pairs nearer than this at the point, with their similarities, which are not too low."""
        kept = -self.pairs.similarities < squared[self.pairs.points]
        counts = np.add.reduceat(np.append(kept, False), self.pairs.starts[:-1], dtype=np.int64) * (
            np.diff(self.pairs.starts) > 0
        )
        exponents = self.pairs.similarities[kept] * np.float32(1.0 / radius**2)
        similarities = np.exp(np.minimum(exponents, 0.0)) * np.float32(1.0 + 1e-6)
        return Pairs(
            np.concatenate([[0], np.cumsum(counts)]), self.pairs.points[kept], similarities
        )

    def save(self, path: Path) -> None:
        """Write one file."""
        with path.open("wb") as file:
            np.savez(
                file,
                starts=self.pairs.starts,
                points=self.pairs.points,
                similarities=self.pairs.similarities,
                reach=self.reach,
                error=np.array(self.error),
            )

    @classmethod
    def load(cls, path: Path) -> "NeighbourGraph":
        """Read what `save` wrote."""
        try:
            with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
                pairs = Pairs(file["starts"], file["points"], file["similarities"])
                return cls(pairs, file["reach"], float(file["error"]))
        except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
            raise ModelError(
                f"{path} is no neighbour graph ({error}). Delete it; it will be built again."
            ) from error


def _reach(
    pool: GaussianPool, neighbours: int, generator: np.random.Generator
) -> NDArray[np.float64]:
    """Squared distance within which each row has about that many others, by a random sample."""
    size = min(SAMPLE, max(LEAST_SAMPLE, SEEN * len(pool) // max(1, neighbours)))
    sample = generator.permutation(len(pool))[:size]
    rank = max(1, min(len(sample), round(len(sample) * (neighbours + 1) / max(1, len(pool)))))
    right = pool.right[torch.from_numpy(sample).to(pool.device)]
    reach = np.empty(len(pool))

    def look(rows: slice) -> None:
        block = torch.empty(rows.stop - rows.start, len(sample), device=pool.device)
        pool.exponents(pool.left(rows), right, block)
        nearest = block.kthvalue(len(sample) + 1 - rank, dim=1).values
        reach[rows] = -nearest.cpu().numpy()

    for _ in in_threads(look, pool.strips(), pool.device):
        pass
    return np.maximum(reach, 0.0)
