"""Intervals for shares that were counted: how far off may "87 of 100 were right" be?"""

import math
from dataclasses import dataclass

Z95 = 1.959964  # two-sided 95 % of a normal distribution


@dataclass(frozen=True, slots=True)
class Estimate:
    """A share of 1 with its 95 % confidence interval, and how many items it was counted on."""

    value: float
    low: float
    high: float
    tested: int


def share(right: float, tested: int) -> Estimate:
    """The share `right` / `tested` with Wilson's interval, which holds for few items too.

    Args:
        right: How many were right; a fraction where an item was tested several times.
        tested: How many different items, at least one.
    """
    value = right / tested
    weight = Z95**2 / tested
    centre = (value + weight / 2) / (1 + weight)
    half = math.sqrt(weight * (value * (1 - value) + weight / 4)) / (1 + weight)
    low, high = max(0.0, centre - half), min(1.0, centre + half)
    return Estimate(value, min(low, value), max(high, value), tested)
