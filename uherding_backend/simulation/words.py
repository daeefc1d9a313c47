"""Numbers and names as people read them."""

from __future__ import annotations

import math

from uherding_backend.simulation.statistics import Estimate


def percent(share: float, digits: int = 0) -> str:
    """A share of 1."""
    return f"{100 * share:.{digits}f} %"


def points(difference: Estimate) -> str:
    """A difference of accuracies in percentage points, with its standard error."""
    error = "" if math.isnan(difference.error) else f" ± {100 * difference.error:.1f}"
    return f"{100 * difference.mean:+.1f}{error}"


def accuracy(value: Estimate) -> str:
    """A mean accuracy with its standard error."""
    error = "" if math.isnan(value.error) else f" ± {100 * value.error:.1f}"
    return f"{100 * value.mean:.1f}{error} %"


def count(value: Estimate) -> str:
    """A mean number with its standard error."""
    error = "" if math.isnan(value.error) else f" ± {value.error:,.0f}"
    return f"{value.mean:,.0f}{error}"


def title(strategy: str) -> str:
    """A strategy's name at the beginning of a sentence."""
    return "UHerding" + strategy[8:] if strategy.startswith("uherding") else strategy.capitalize()


def duration(seconds: float) -> str:
    """A time in one unit."""
    for size, unit in ((3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
