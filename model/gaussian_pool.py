"""Gaussian similarities of a large pool: float32 blocks that are never too low, and exact ones.

A block is one matrix product and one exponential. In float32 a squared distance that comes from a
matrix product is off by about 1e-6; the blocks add what it may be off by, so that gains computed
from them are upper bounds. Where that does not decide, the differences are taken in float64.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from threading import Lock

import numpy as np
import torch
from numpy.typing import NDArray

from model.arrays import Features, Rows
from model.kernels import alike, blocks, least, squared_between
from model.loops import Doubles, Floats, rises
from model.threads import in_threads

PRODUCT_ERROR = 3e-6  # of a squared distance in float32 between points of length 1
SUM_ERROR = 4e-6  # of float32 coverage and sums, as a share
ITSELF = 1.0 + SUM_ERROR  # what a block has for the similarity of a row to itself
BLOCK = 512  # rows and columns of a block: 1 MB, which stays in the cache
TILE = 262_144  # similarities of some rows to some points that a thread computes at once
LONG = 2_048  # points of a tile at least
FEWEST = 256  # the same where they meet all labels
WIDE = 2_000_000  # similarities computed at once where some rows meet all points, 8 MB


@dataclass
class Effort:
    """What was computed so far, by all threads."""

    similarities: int = 0
    lock: Lock = field(default_factory=Lock, repr=False)

    def add(self, similarities: int) -> None:
        """Count these too."""
        with self.lock:
            self.similarities += similarities


Block = tuple[slice, torch.Tensor]  # columns, and what belongs to each pair of them and the rows


class GaussianPool:
    """exp(-||a - b||^2 / radius^2) between the rows of a pool and its points."""

    def __init__(self, features: Features, radius: float, points: Rows | None = None) -> None:
        """Keep what every block needs.

        Args:
            features: The pool.
            radius: Distance, in feature units, at which similarity has fallen to 1/e.
            points: Rows that want to be covered; all of them if not given.
        """
        self.features = features
        self.radius = radius
        self.points = np.arange(len(features)) if points is None else points
        self.effort = Effort()
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    @cached_property
    def right(self) -> torch.Tensor:
        """The points with two more columns, (n, d + 2): one side of the product.

        Distances do not change when all points move, and shorter points round less: they are
        centred.
        """
        lifted = np.empty((len(self), self.features.shape[1] + 2), dtype=np.float32)
        centred = lifted[:, :-2]
        np.subtract(self.features, self.features.mean(axis=0), out=centred)
        lifted[:, -2] = 1.0
        lifted[:, -1] = np.einsum("nd,nd->n", centred, centred)
        return torch.from_numpy(lifted).to(self.device)

    @cached_property
    def error(self) -> float:
        """How far an exponent may be too high or too low, before `left` raises it."""
        longest = float(self.right[:, -1].max()) if len(self) > 0 else 0.0
        return PRODUCT_ERROR * longest / self.radius**2 + SUM_ERROR

    def __len__(self) -> int:
        return len(self.features)

    def left(self, rows: slice | torch.Tensor) -> torch.Tensor:
        """The other side of the product: with `right` it gives exponents that are not too low."""
        points = self.right[rows]
        lengths = points[:, -1:]
        lifted = torch.cat([2.0 * points[:, :-2], -lengths, -torch.ones_like(lengths)], dim=1)
        lifted *= 1.0 / self.radius**2
        lifted[:, -2] += self.error
        return lifted

    def exponents(self, left: torch.Tensor, right: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        """-||a - b||^2 / radius^2, (left, right), not too low and too high by 2 `error` at most."""
        self.effort.add(len(left) * len(right))
        torch.mm(left, right.T, out=out)
        return out.clamp_(max=SUM_ERROR) if self.error > 1e-3 else out

    def strips(self) -> list[slice]:
        """The rows in parts; the blocks of all of them are every pair, computed once."""
        return list(slices(len(self), BLOCK))

    def blocks_of(self, rows: slice, *, exponents: bool = False) -> Iterator[Block]:
        """The blocks of a strip, on and right of the diagonal; each is overwritten by the next.

        Args:
            rows: One of `strips`.
            exponents: Give the exponents themselves, not their exponentials.
        """
        memory = torch.empty((rows.stop - rows.start) * BLOCK, device=self.device)
        left = self.left(rows)
        for columns in slices(len(self), BLOCK, rows.start):
            shape = (rows.stop - rows.start, columns.stop - columns.start)
            block = memory[: shape[0] * shape[1]].view(shape)
            self.exponents(left, self.right[columns], block)
            if not exponents:
                block.exp_()
            if rows == columns:
                block.fill_diagonal_(0.0 if exponents else ITSELF)
            yield columns, block

    def upper_rows(self, rows: Rows) -> Iterator[tuple[slice, torch.Tensor]]:
        """Similarities to all points: some rows at a time, and (rows, points) to write into."""
        right = self._right_points
        step = max(1, WIDE // max(1, len(right)))
        memory = torch.empty(min(step, len(rows)), len(right), device=self.device)
        for part in slices(len(rows), step):
            block = memory[: part.stop - part.start]
            chosen = torch.from_numpy(rows[part]).to(self.device)
            self.exponents(self.left(chosen), right, block).exp_()
            place = self._place[chosen]
            own = place >= 0
            block[own.nonzero()[:, 0], place[own]] = ITSELF
            yield part, block

    def rises(self, rows: Rows, covered: Floats, weights: Floats) -> Doubles:
        """What each row would add to the coverage of the points, not too low."""
        chosen = torch.from_numpy(rows).to(self.device)
        sums, lock = np.zeros(len(rows)), Lock()

        def add(tile: tuple[slice, slice]) -> None:
            part, points = tile
            right = self._right_points[points]
            block = torch.empty(part.stop - part.start, len(right), device=self.device)
            self.exponents(self.left(chosen[part]), right, block).exp_()
            place = self._place[chosen[part]] - points.start
            own = (place >= 0) & (place < len(right))
            block[own.nonzero()[:, 0], place[own]] = ITSELF
            every = np.arange(len(block))
            added = rises(block.cpu().numpy(), every, covered[points], weights[points])
            with lock:
                sums[part] += added

        length = max(LONG, TILE // max(1, len(rows)))
        tiles = product(slices(len(rows), BLOCK), slices(len(self.points), length))
        for _ in in_threads(add, list(tiles), self.device):
            pass
        return sums

    def exact(self, row: int, points: Rows) -> NDArray[np.float64]:
        """Similarity of one row to some of the points, correct to the last digits."""
        self.effort.add(len(points))
        squared = np.empty(len(points))
        centre = self.features[row].astype(np.float64)
        for block in blocks(len(points), self.features.shape[1]):
            differences = self.features[self.points[points[block]]] - centre
            squared[block] = np.einsum("nd,nd->n", differences, differences)
        return np.exp(squared * (-1.0 / self.radius**2))

    def of_rows(self, rows: Rows) -> "GaussianPool":
        """The pool of these rows alone, in this order, all of them points."""
        if np.array_equal(rows, np.arange(len(self))):
            return self
        other = GaussianPool(self.features[rows], self.radius)
        other.effort = self.effort
        other.right = self.right[torch.from_numpy(rows).to(self.device)]
        other.error = self.error
        return other

    def lower(self, rows: Rows, right: torch.Tensor) -> torch.Tensor:
        """Similarities (rows, right) that are at most the true ones."""
        left = self.left(torch.from_numpy(rows).to(self.device))
        left[:, -2] -= 2.0 * self.error
        block = torch.empty(len(left), len(right), device=self.device)
        return self.exponents(left, right, block).exp_()

    def alike(self, rows: Rows) -> NDArray[np.int64]:
        """A number for each row, equal for copies of each other."""
        return alike(self.features[rows])

    def covered_by(self, labeled: Rows) -> NDArray[np.float64]:
        """Exact similarity of every point to the nearest of these rows; 0 if there are none."""
        if len(labeled) == 0:
            return np.zeros(len(self.points))
        return np.exp(self.squared_to(labeled) * (-1.0 / self.radius**2))

    def squared_to(self, labeled: Rows) -> NDArray[np.float64]:
        """Exact squared distance of every point to the nearest of these rows, at least one."""
        right = self.right[torch.from_numpy(labeled).to(self.device)]
        squared = np.empty(len(self.points))

        def compare(part: slice) -> None:
            points = self.points[part]
            left = self.left(torch.from_numpy(points).to(self.device))
            block = torch.empty(len(left), len(right), device=self.device)
            nearest = self.exponents(left, right, block).max(dim=1, keepdim=True).values
            rivals = (block >= nearest - 2.0 * self.error).nonzero().cpu().numpy()
            places, rows = rivals[:, 0], labeled[rivals[:, 1]]
            of_rivals = squared_between(self.features, rows, points[places])
            squared[part] = least(of_rivals, places, len(points))

        parts = slices(len(self.points), max(FEWEST, TILE // len(labeled)))
        for _ in in_threads(compare, list(parts), self.device):
            pass
        return squared

    @cached_property
    def _right_points(self) -> torch.Tensor:
        if np.array_equal(self.points, np.arange(len(self))):
            return self.right
        return self.right[torch.from_numpy(self.points).to(self.device)]

    @cached_property
    def _place(self) -> torch.Tensor:
        """Where each row is among the points, -1 = it is none of them."""
        place = np.full(len(self), -1)
        place[self.points] = np.arange(len(self.points))
        return torch.from_numpy(place).to(self.device)


def slices(stop: int, step: int, start: int = 0) -> Iterator[slice]:
    """Consecutive parts of range(start, stop)."""
    return (slice(first, min(first + step, stop)) for first in range(start, stop, step))
