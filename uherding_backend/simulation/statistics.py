"""What learning curves say: plain functions on arrays.

s is the number of seeds, b the number of budgets. Strategies of one seed chose from the same
images, so everything is compared seed by seed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Curves = NDArray[np.float64]  # (s, b), accuracy as a share of 1
Curve = NDArray[np.float64]  # (b,)
PerSeed = NDArray[np.float64]  # (s,)
Budgets = NDArray[np.int64]  # (b,), labels, ascending

EXACT_UP_TO = 12  # seeds: 4,096 ways to flip the signs
FLIPS = 20_000  # beyond: p-values are off by 0.002 or less near 0.05
# How many standard errors a 95 % interval reaches to each side, for 1, 2, ... degrees of freedom.
STUDENT_95 = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over seeds, its standard error, and how far its 95 % interval reaches.

    With a single seed nothing is known about the scatter: error and reach are NaN.
    """

    mean: float
    error: float
    reach: float

    @property
    def low(self) -> float:
        """Lower end of the 95 % interval."""
        return self.mean - self.reach

    @property
    def high(self) -> float:
        """Upper end of the 95 % interval."""
        return self.mean + self.reach


@dataclass(frozen=True, slots=True)
class Duel:
    """How one strategy did against another, seed by seed; p tests "there is no difference"."""

    wins: int
    ties: int
    losses: int
    p: float


@dataclass(frozen=True, slots=True)
class Needed:
    """Labels to the highest accuracy that both of two curves reach, for each seed."""

    strategy: PerSeed
    baseline: PerSeed
    accuracy: PerSeed


def estimate(values: PerSeed) -> Estimate:
    """Mean, standard error and Student's 95 % interval."""
    count = len(values)
    mean = float(np.mean(values))
    if count < 2:
        return Estimate(mean, math.nan, math.nan)
    error = float(np.std(values, ddof=1)) / math.sqrt(count)
    return Estimate(mean, error, student_95(count - 1) * error)


def student_95(freedom: int) -> float:
    """Two-sided 95 % quantile of Student's distribution."""
    if freedom <= len(STUDENT_95):
        return STUDENT_95[freedom - 1]
    return 1.96 + 2.4 / freedom  # within 0.003


def area_under_curve(budgets: Budgets, curves: Curves) -> PerSeed:
    """Mean accuracy from the first budget to the last, every label in between weighing the same."""
    if len(budgets) == 1:
        return curves[:, 0]
    return np.asarray(np.trapezoid(curves, budgets, axis=1) / (budgets[-1] - budgets[0]))


def duel(mine: PerSeed, other: PerSeed) -> Duel:
    """Compare two strategies by one number for each seed, where more is better."""
    differences = mine - other
    return Duel(
        wins=int((differences > 0).sum()),
        ties=int((differences == 0).sum()),
        losses=int((differences < 0).sum()),
        p=sign_flip_p(differences),
    )


def sign_flip_p(differences: PerSeed) -> float:
    """Two-sided paired permutation test of the mean.

    If there were no difference, each sign could as well be the other one. p is the share of all
    ways to set the signs that bring the mean at least as far from 0 as it was found; with more
    than EXACT_UP_TO seeds, of FLIPS random ways and the one that was found.
    """
    count = len(differences)
    if count <= EXACT_UP_TO:
        flipped = (np.arange(2**count)[:, None] >> np.arange(count)) & 1
    else:
        found = np.zeros((1, count), dtype=np.int64)
        drawn = np.random.default_rng(0).integers(0, 2, size=(FLIPS, count))
        flipped = np.concatenate([found, drawn])
    sums = np.abs((1 - 2 * flipped) @ differences)
    rounding = 1e-12 * float(np.abs(differences).sum())
    return float(np.mean(sums >= abs(differences.sum()) - rounding))


def labels_needed(budgets: Budgets, curves: Curves, baseline: Curves) -> Needed:
    """Labels to equal accuracy, interpolated between budgets.

    Equal accuracy is what both curves of a seed reach, so neither side is favoured by where it
    ends. Curves are made never-falling first: a lucky bump does not count as reached.
    """
    rows = []
    for curve, base in zip(curves, baseline, strict=True):
        rising, base_rising = never_falling(curve), never_falling(base)
        target = min(rising[-1], base_rising[-1])
        needed = (_reached(budgets, each, target) for each in (rising, base_rising))
        rows.append((*needed, target))
    strategy, base_needed, accuracy = np.array(rows, dtype=np.float64).T
    return Needed(strategy, base_needed, accuracy)


def never_falling(curve: Curve) -> Curve:
    """The never-falling curve nearest in squares (isotonic regression by pooling neighbours)."""
    levels: list[float] = []
    sizes: list[int] = []
    for accuracy in curve:
        level, size = float(accuracy), 1
        while levels and levels[-1] >= level:
            level = (levels[-1] * sizes[-1] + level * size) / (sizes[-1] + size)
            size += sizes.pop()
            levels.pop()
        levels.append(level)
        sizes.append(size)
    return np.repeat(levels, sizes)


def _reached(budgets: Budgets, rising: Curve, target: float) -> float:
    """Where a never-falling curve first reaches a target that it does reach."""
    at = int(np.searchsorted(rising, target))
    if at == 0:
        return float(budgets[0])  # perhaps fewer; nothing was measured below
    return float(np.interp(target, rising[at - 1 : at + 1], budgets[at - 1 : at + 1]))
