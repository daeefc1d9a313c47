"""Uncertainty coverage and its greedy maximiser: exact, and fast enough for 20,000 images.

Coverage of a set S is the mean over the pool of U(x) * max over s in S of k(x, s). Adding a row
raises it by its gain; the gain of a row can only shrink while S grows, so an old gain is an upper
bound of the new one and most rows never have to be looked at again (lazy greedy).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from model.arrays import Features, Mask, Rows, Uncertainty
from model.errors import ModelError
from model.kernels import (
    Points,
    blocks,
    lift_left,
    lift_right,
    lifted_similarities,
    similarities,
    similarity_to,
)

TIE = 1e-12  # gains closer than this share of the mean uncertainty are equal: lowest row wins
PRODUCT_ERROR = 4e-15  # of a squared distance that comes from a matrix product
REFRESHED_AT_ONCE = 32  # rows whose gain one matrix product brings up to date


@dataclass(frozen=True, slots=True)
class Selection:
    """Chosen pool rows, best first, and the coverage each one added when it was chosen."""

    rows: Rows
    gains: NDArray[np.float64]


def select(
    features: Features,
    uncertainty: Uncertainty,
    labeled: Rows,
    *,
    count: int,
    radius: float,
    candidates: Mask | None = None,
) -> Selection:
    """Choose the rows that raise the uncertainty coverage of the pool most, one after the other.

    Ties go to the lowest row, so that uncertainty 0 everywhere gives the rows in their order.

    Args:
        features: The whole pool, labelled rows included.
        uncertainty: 0 = the classifier is sure, 1 = it cannot tell two classes apart.
        labeled: Rows that are covered already and never chosen.
        count: How many rows to choose; all that are available if there are fewer.
        radius: Distance, in feature units, at which similarity has fallen to 1/e.
        candidates: False for rows that must not be chosen; they still want to be covered.
    """
    _check_pool(features, uncertainty, radius)
    available = _available(len(features), labeled, candidates)
    wanted = min(max(count, 0), int(available.sum()))
    greedy = _LazyGreedy(features, uncertainty, radius)
    if wanted > 0:
        greedy.start(labeled, available)
    chosen = [greedy.choose() for _ in range(wanted)]
    return Selection(
        rows=np.array([row for row, _ in chosen], dtype=np.int64),
        gains=np.array([gain for _, gain in chosen], dtype=np.float64),
    )


def coverage(features: Features, uncertainty: Uncertainty, chosen: Rows, radius: float) -> float:
    """The objective itself: mean over the pool of uncertainty x similarity to the nearest chosen.

    0 = nothing is covered (nothing chosen), mean(uncertainty) = every uncertain item is covered.
    """
    _check_pool(features, uncertainty, radius)
    if len(features) == 0:
        return 0.0
    nearest = _nearest_similarity(features.astype(np.float64), chosen, radius)
    return float(np.mean(uncertainty * nearest))


class _LazyGreedy:
    """The pool while rows are being chosen: what is covered, and a bound on every row's gain."""

    def __init__(self, features: Features, uncertainty: Uncertainty, radius: float) -> None:
        self.points: Points = features.astype(np.float64)
        self.radius = radius
        self.counted = np.flatnonzero(uncertainty > 0)  # the other items add nothing to any gain
        self.left = lift_left(self.points, radius)
        self.right = lift_right(self.points[self.counted], radius)
        self.weights = uncertainty[self.counted] / max(1, len(features))
        self.covered = np.zeros(len(self.counted))  # similarity to the nearest covered row
        self.bounds = np.full(len(features), -np.inf)  # (n,), -inf = not a candidate
        self.fresh = np.zeros(len(features), dtype=np.bool_)
        largest_gain = float(self.weights.sum())
        self.tie = TIE * largest_gain
        self.noise = self.tie + largest_gain * min(1.0, PRODUCT_ERROR / radius**2)

    def start(self, labeled: Rows, available: Mask) -> None:
        """Cover what is labelled and compute every available row's first gain."""
        self.covered = _nearest_similarity(self.points, labeled, self.radius)[self.counted]
        self._refresh(np.flatnonzero(available))

    def choose(self) -> tuple[int, float]:
        """The row with the largest gain, and that gain; from now on it is covered."""
        row = self._best_row()
        column = self._column(row)
        gain = self._gain(column)
        self.covered = np.maximum(self.covered, column)
        self.bounds[row] = -np.inf
        self.fresh[:] = False
        return row, gain

    def _best_row(self) -> int:
        if self.bounds.max() <= self.tie:  # everything is covered: every row is as good
            return int(np.argmax(self.bounds > -np.inf))
        self._refresh_leaders()
        contenders = np.flatnonzero(self.bounds >= self.bounds.max() - 2 * self.noise)
        if len(contenders) == 1:
            return int(contenders[0])
        return self._decide(contenders)

    def _refresh_leaders(self) -> None:
        """Bring gains up to date until no outdated bound can reach the best of them."""
        while len(outdated := self._outdated_leaders()) > 0:
            order = np.argsort(-self.bounds[outdated], kind="stable")
            self._refresh(outdated[order[:REFRESHED_AT_ONCE]])

    def _outdated_leaders(self) -> Rows:
        best = self.bounds[self.fresh].max(initial=-np.inf)
        reachable = self.bounds >= best - 2 * self.noise
        return np.flatnonzero(reachable & ~self.fresh & (self.bounds > -np.inf))

    def _refresh(self, rows: Rows) -> None:
        before = self.covered @ self.weights
        for block in blocks(len(rows), len(self.counted)):
            reached = lifted_similarities(self.left[rows[block]], self.right)  # (rows, counted)
            np.maximum(reached, self.covered, out=reached)
            self.bounds[rows[block]] = reached @ self.weights - before
        self.fresh[rows] = True

    def _decide(self, contenders: Rows) -> int:
        """The best of rows whose gains the matrix product cannot tell apart."""
        _, firsts = np.unique(self.points[contenders], axis=0, return_index=True)
        distinct = contenders[np.sort(firsts)]  # equal features have equal gains: lowest row
        gains = np.array([self._gain(self._column(int(row))) for row in distinct])
        return int(distinct[np.argmax(gains >= gains.max() - self.tie)])

    def _column(self, row: int) -> NDArray[np.float64]:
        return similarity_to(self.points, row, self.radius)[self.counted]

    def _gain(self, column: NDArray[np.float64]) -> float:
        return float(np.maximum(column - self.covered, 0.0) @ self.weights)


def _nearest_similarity(points: Points, chosen: Rows, radius: float) -> NDArray[np.float64]:
    """Similarity of every point to the chosen point nearest to it, (n,); 0 if none is chosen."""
    nearest = np.zeros(len(points))
    if len(chosen) == 0:
        return nearest
    for block in blocks(len(points), len(chosen)):
        nearest[block] = similarities(points[block], points[chosen], radius).max(axis=1)
    nearest[chosen] = 1.0
    return nearest


def _available(count: int, labeled: Rows, candidates: Mask | None) -> Mask:
    available = np.ones(count, dtype=np.bool_) if candidates is None else candidates.copy()
    if available.shape != (count,):
        raise ModelError(
            f"candidates must hold one True or False for each of the {count} rows of the pool, "
            f"got an array of shape {available.shape}."
        )
    available[labeled] = False
    return available


def _check_pool(features: Features, uncertainty: Uncertainty, radius: float) -> None:
    if features.ndim != 2 or uncertainty.shape != (len(features),):
        raise ModelError(
            "The pool needs features of shape (n, d) and one uncertainty for each row, got "
            f"shapes {features.shape} and {uncertainty.shape}."
        )
    if not (radius > 0 and np.isfinite(radius)):
        raise ModelError(f"The radius must be a positive distance, got {radius}.")
    if not np.isfinite(features).all():
        raise ModelError("The features hold values that are not finite; extract them again.")
    if not (np.isfinite(uncertainty).all() and (uncertainty >= 0).all()):
        raise ModelError("Every uncertainty must be a finite number of at least 0.")
