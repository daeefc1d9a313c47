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
from model.kernels import GaussianKernel, Kernel, PoolDistances, blocks, similarities

TIE = 1e-12  # gains closer than this share of the mean uncertainty are equal: lowest row wins
REFRESHED_AT_ONCE = 32  # rows whose gain one matrix product brings up to date


@dataclass(frozen=True, slots=True)
class Selection:
    """Chosen pool rows, best first, and the coverage each one added when it was chosen."""

    rows: Rows
    gains: NDArray[np.float64]


def select(  # noqa: PLR0913 (only three are arrays; the rest have names at every call)
    features: Features,
    uncertainty: Uncertainty,
    labeled: Rows,
    *,
    count: int,
    radius: float,
    candidates: Mask | None = None,
    distances: PoolDistances | None = None,
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
        distances: Of this pool, if they are at hand; the same rows are chosen sooner.
    """
    _check_pool(features, uncertainty, radius)
    kernel = GaussianKernel(features, radius, distances)
    return select_by(kernel, uncertainty, labeled, count=count, candidates=candidates)


def select_by(
    kernel: Kernel,
    uncertainty: Uncertainty,
    labeled: Rows,
    *,
    count: int,
    candidates: Mask | None = None,
) -> Selection:
    """The same greedy choice with any kernel; arguments as in `select`."""
    available = _available(kernel.size, labeled, candidates)
    wanted = min(max(count, 0), int(available.sum()))
    greedy = _LazyGreedy(kernel, uncertainty)
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
    nearest = _nearest_similarity(features, chosen, radius)
    return float(np.mean(uncertainty * nearest))


class _LazyGreedy:
    """The pool while rows are being chosen: what is covered, and a bound on every row's gain."""

    def __init__(self, kernel: Kernel, uncertainty: Uncertainty) -> None:
        self.kernel = kernel
        self.weights = uncertainty / max(1, kernel.size)
        self.covered = np.zeros(kernel.size)  # similarity to the nearest covered row
        self.bounds = np.full(kernel.size, -np.inf)  # (n,), -inf = not a candidate
        self.fresh = np.zeros(kernel.size, dtype=np.bool_)
        total = float(self.weights.sum())
        self.tie = TIE * total
        self.noise = self.tie + total * kernel.error
        self.exact = kernel.error == 0.0

    def start(self, labeled: Rows, available: Mask) -> None:
        """Cover what is labelled and compute every available row's first gain."""
        for block in blocks(len(labeled), self.kernel.size):
            similarity = self.kernel.block(labeled[block])  # (labelled, n)
            np.maximum(self.covered, similarity.max(axis=0, initial=0.0), out=self.covered)
        self._refresh(np.flatnonzero(available))

    def choose(self) -> tuple[int, float]:
        """The row with the largest gain, and that gain; from now on it is covered."""
        row = self._best_row()
        column = self.kernel.column(row)
        gain = self._gain(column)
        self.covered = np.maximum(self.covered, column)
        self.bounds[row] = -np.inf
        self.fresh[:] = False
        return row, gain

    def _best_row(self) -> int:
        if self.bounds.max() <= self.tie:  # everything is covered: every row is as good
            return int(np.argmax(self.bounds > -np.inf))
        self._refresh_leaders()
        if self.exact:
            return int(np.argmax(self.bounds >= self.bounds.max() - self.tie))
        contenders = np.flatnonzero(self.bounds >= self.bounds.max() - 2 * self.noise)
        if len(contenders) == 1:
            return int(contenders[0])
        return self._decide(contenders)

    def _refresh_leaders(self) -> None:
        """Bring gains up to date until no outdated bound can reach the best of them."""
        while len(outdated := self._outdated_leaders()) > 0:
            self._refresh(outdated[:REFRESHED_AT_ONCE])

    def _outdated_leaders(self) -> Rows:
        """Rows, highest bound first, that may turn out to be the best."""
        best = self.bounds[self.fresh].max(initial=-np.inf)
        reachable = self.bounds >= best - 2 * self.noise
        if self.exact:  # ties go to the lowest row: rows behind it could at most be equal
            lowest = int(np.argmax(self.fresh & (self.bounds >= best - self.tie)))
            reachable[lowest:] = self.bounds[lowest:] > best + self.tie
        rows = np.flatnonzero(reachable & ~self.fresh & (self.bounds > -np.inf))
        return rows[np.argsort(-self.bounds[rows], kind="stable")]

    def _refresh(self, rows: Rows) -> None:
        for block in blocks(len(rows), self.kernel.size):
            rise = self.kernel.block(rows[block])  # (rows, n)
            rise -= self.covered
            np.maximum(rise, 0.0, out=rise)
            self.bounds[rows[block]] = rise @ self.weights
        self.fresh[rows] = True

    def _decide(self, contenders: Rows) -> int:
        """The best of rows whose gains `block` cannot tell apart."""
        distinct = self.kernel.distinct(contenders)
        gains = np.array([self._gain(self.kernel.column(int(row))) for row in distinct])
        return int(distinct[np.argmax(gains >= gains.max() - self.tie)])

    def _gain(self, column: NDArray[np.float64]) -> float:
        return float(np.maximum(column - self.covered, 0.0) @ self.weights)


def _nearest_similarity(features: Features, chosen: Rows, radius: float) -> NDArray[np.float64]:
    """Similarity of every point to the chosen point nearest to it, (n,); 0 if none is chosen."""
    points = features.astype(np.float64)
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
