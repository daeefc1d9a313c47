"""The plain greedy on arrays, for pools `reference` is too slow for. Imports nothing from `model`.

Float64 throughout, every similarity from true differences, every gain from all similarities.
"""

import numpy as np
from numpy.typing import NDArray

from tests.support.reference import TIE

Floats = NDArray[np.float64]


def squared_distances(features: NDArray[np.float32], rows: NDArray[np.int64]) -> Floats:
    """(rows, n), the differences taken before they are squared."""
    points = features.astype(np.float64)
    return np.stack([((points - points[row]) ** 2).sum(axis=1) for row in rows])


def similarities(features: NDArray[np.float32], radius: float) -> Floats:
    """exp(-||a - b||^2 / radius^2) of every pair, (n, n)."""
    return np.asarray(np.exp(-squared_distances(features, np.arange(len(features))) / radius**2))


def coverage(
    features: NDArray[np.float32], uncertainty: Floats, rows: NDArray[np.int64], radius: float
) -> float:
    """Mean over the pool of uncertainty x similarity to the nearest of these rows."""
    squared = squared_distances(features, rows)
    return float(np.mean(uncertainty * np.exp(-squared.min(axis=0) / radius**2)))


def select(
    kernel: Floats,
    uncertainty: Floats,
    labeled: NDArray[np.int64],
    count: int,
    candidates: NDArray[np.bool_] | None = None,
) -> tuple[list[int], list[float]]:
    """Greedy by the definition; of gains that are equal within TIE the lowest row wins."""
    size = len(kernel)
    weights = uncertainty / size
    covered = kernel[labeled].max(axis=0, initial=0.0)
    free = np.ones(size, dtype=np.bool_) if candidates is None else candidates.copy()
    free[labeled] = False
    rise = np.empty_like(kernel)
    rows: list[int] = []
    gains: list[float] = []
    while len(rows) < count and free.any():
        np.maximum(np.subtract(kernel, covered, out=rise), 0.0, out=rise)
        gain = np.where(free, rise @ weights, -np.inf)
        row = int(np.argmax(gain >= gain.max() - TIE * weights.sum()))
        rows.append(row)
        gains.append(float(gain[row]))
        covered = np.maximum(covered, kernel[row])
        free[row] = False
    return rows, gains
