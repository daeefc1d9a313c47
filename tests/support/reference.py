"""Slow, obvious numerics written from the paper. Imports nothing from `model`."""

import itertools
import math
from collections.abc import Sequence

Point = Sequence[float]
TIE = 1e-12  # of the mean uncertainty: closer gains are equal, and the lowest row wins


def similarity(left: Point, right: Point, radius: float) -> float:
    squared = math.fsum((float(a) - float(b)) ** 2 for a, b in zip(left, right, strict=True))
    return math.exp(-squared / radius**2)


def coverage(
    points: Sequence[Point], uncertainty: Sequence[float], chosen: Sequence[int], radius: float
) -> float:
    """Mean over the pool of uncertainty x similarity to the nearest chosen point."""
    covered = []
    for point, weight in zip(points, uncertainty, strict=True):
        nearest = 0.0
        for row in chosen:
            nearest = max(nearest, similarity(point, points[row], radius))
        covered.append(float(weight) * nearest)
    return math.fsum(covered) / len(points)


def select(
    points: Sequence[Point],
    uncertainty: Sequence[float],
    labeled: Sequence[int],
    count: int,
    radius: float,
) -> tuple[list[int], list[float]]:
    """Greedy by the definition: O(k n^2) kernel values and no bookkeeping but the nearest one."""
    size = len(points)
    kernel = [[similarity(a, b, radius) for b in points] for a in points]
    nearest = [max([kernel[n][row] for row in labeled], default=0.0) for n in range(size)]
    weights = [float(value) for value in uncertainty]
    tie = TIE * math.fsum(weights) / size
    rows: list[int] = []
    gains: list[float] = []
    while len(rows) < count:
        free = [row for row in range(size) if row not in rows and row not in labeled]
        if not free:
            break
        gain_of = {
            row: math.fsum(weights[n] * max(kernel[n][row] - nearest[n], 0.0) for n in range(size))
            / size
            for row in free
        }
        best = max(gain_of.values())
        row = min(row for row in free if gain_of[row] >= best - tie)
        rows.append(row)
        gains.append(gain_of[row])
        nearest = [max(nearest[n], kernel[n][row]) for n in range(size)]
    return rows, gains


def best_total_gain(
    points: Sequence[Point],
    uncertainty: Sequence[float],
    labeled: Sequence[int],
    count: int,
    radius: float,
) -> float:
    """The largest rise in coverage that any `count` unlabelled rows can give, by trying all."""
    free = [row for row in range(len(points)) if row not in labeled]
    before = coverage(points, uncertainty, labeled, radius)
    return max(
        coverage(points, uncertainty, [*labeled, *rows], radius) - before
        for rows in itertools.combinations(free, min(count, len(free)))
    )


def expected_calibration_error(
    probabilities: Sequence[Sequence[float]], right: Sequence[int], bins: int
) -> float:
    """Bin j holds confidences in (j / bins, (j + 1) / bins]."""
    error = 0.0
    for bin_number in range(bins):
        confidences: list[float] = []
        hits: list[float] = []
        for row, column in zip(probabilities, right, strict=True):
            confidence = float(max(row))
            if bin_number / bins < confidence <= (bin_number + 1) / bins:
                confidences.append(confidence)
                hits.append(float(list(row).index(max(row)) == column))
        if confidences:
            distance = abs(sum(hits) / len(hits) - sum(confidences) / len(confidences))
            error += len(confidences) / len(probabilities) * distance
    return error


def margin(row: Sequence[float]) -> float:
    first, second = sorted((float(value) for value in row), reverse=True)[:2]
    return 1.0 - (first - second)
