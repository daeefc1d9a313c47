"""From curves to what a person wants to know; the table, the report and the headline share it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from uherding_backend.simulation.plan import Plan
from uherding_backend.simulation.results import Curve, Key
from uherding_backend.simulation.statistics import (
    Curves,
    Duel,
    Estimate,
    PerSeed,
    area_under_curve,
    duel,
    estimate,
    labels_needed,
)
from uherding_backend.simulation.words import percent, title

FAVOURITE = "uherding"  # the headline is about it: taking the best would be choosing by luck


@dataclass(frozen=True, slots=True)
class Regime:
    """A range of budgets, as the paper divides them."""

    name: str
    above: int
    up_to: float

    @property
    def extent(self) -> str:
        """Which budgets, in words."""
        if math.isinf(self.up_to):
            return f"above {self.above:,} labels"
        return f"up to {self.up_to:,} labels"


REGIMES = (Regime("low", 0, 100), Regime("middle", 100, 1000), Regime("high", 1000, math.inf))


@dataclass(frozen=True, slots=True)
class InRegime:
    """One strategy in one regime.

    Attributes:
        accuracy: Mean over the regime's budgets.
        difference: To the baseline, seed by seed.
        best: Whether no strategy has a higher mean.
        close: Whether it is within one standard error of the best one.
    """

    accuracy: Estimate
    difference: Estimate
    best: bool
    close: bool


@dataclass(frozen=True, slots=True)
class Saved:
    """Labels saved against the baseline at equal accuracy; below 0 where more were needed."""

    labels: Estimate
    needed: float
    baseline_needed: float
    accuracy: float

    @property
    def share(self) -> float:
        """Of the baseline's labels."""
        return self.labels.mean / self.baseline_needed


@dataclass(frozen=True, slots=True)
class Row:
    """All about one strategy."""

    strategy: str
    curves: Curves
    differences: Curves
    regimes: tuple[InRegime, ...]
    area: Estimate
    against_baseline: Duel | None
    best_other: str
    against_best_other: Duel | None
    saved: Saved
    seconds: float
    slowest: float

    @property
    def final(self) -> Estimate:
        """Accuracy at the last budget."""
        return estimate(self.curves[:, -1])


@dataclass(frozen=True, slots=True)
class Summary:
    """One row for each strategy, in the order in which they were named."""

    plan: Plan
    regimes: tuple[Regime, ...]
    rows: tuple[Row, ...]

    @property
    def headliner(self) -> Row:
        """The strategy that the headline is about."""
        others = [row for row in self.rows if row.strategy != self.plan.baseline]
        best = max(others or self.rows, key=lambda row: row.area.mean)
        return next((row for row in others if row.strategy == FAVOURITE), best)


def summarise(plan: Plan, curves: Mapping[Key, Curve]) -> Summary:
    """Compare the plan's strategies; all their curves must be there."""
    budgets = np.array(plan.budgets)
    accuracy = {name: _grid(plan, curves, name, "accuracy") for name in plan.strategies}
    areas = {name: area_under_curve(budgets, accuracy[name]) for name in plan.strategies}
    regimes = tuple(regime for regime in REGIMES if _inside(regime, budgets).any())
    cells = [_in_regime(_inside(each, budgets), accuracy, plan.baseline) for each in regimes]
    rows = []
    for name in plan.strategies:
        seconds = _grid(plan, curves, name, "seconds")
        rival = _best_other(areas, name)
        rows.append(
            Row(
                strategy=name,
                curves=accuracy[name],
                differences=accuracy[name] - accuracy[plan.baseline],
                regimes=tuple(regime[name] for regime in cells),
                area=estimate(areas[name]),
                against_baseline=_duel(areas, name, plan.baseline),
                best_other=rival,
                against_best_other=_duel(areas, name, rival),
                saved=_saved(budgets, accuracy[name], accuracy[plan.baseline]),
                seconds=float(seconds.mean()),
                slowest=float(seconds.max()),
            )
        )
    return Summary(plan, regimes, tuple(rows))


def headline(summary: Summary) -> str:
    """The answer in one sentence, with how sure it is."""
    row, baseline = summary.headliner, summary.plan.baseline
    if row.strategy == baseline:
        return f"Only {baseline} was run, so there is nothing to compare it with."
    saved, base = row.saved, f"{baseline} labels" if baseline == "random" else baseline
    if saved.labels.low > 0:
        verdict = f"{percent(saved.share)} saved"
    elif saved.labels.high < 0:
        verdict = f"it saved nothing, it took {percent(-saved.share)} more"
    elif math.isnan(saved.labels.reach):
        verdict = f"{percent(saved.share)} saved, but one seed says little"
    else:
        verdict = "no saving that stands out from chance"
    return (
        f"{title(row.strategy)} reached with {saved.needed:,.0f} labels the accuracy "
        f"({percent(saved.accuracy, 1)}) that {base} reach with {saved.baseline_needed:,.0f}: "
        f"{verdict}{_interval(saved, summary.plan.seeds)}."
    )


def remark(summary: Summary) -> str:
    """Which strategy did better than the one in the headline; empty if none did."""
    best = max(summary.rows, key=lambda row: row.area.mean)
    row = summary.headliner
    if best.area.mean <= row.area.mean:
        return ""
    return (
        f"Over all budgets {best.strategy} did best: {percent(best.area.mean, 1)} on average, "
        f"{row.strategy} {percent(row.area.mean, 1)}."
    )


def _interval(saved: Saved, seeds: int) -> str:
    if math.isnan(saved.labels.reach):
        return ""
    low, high = (100 * end / saved.baseline_needed for end in (saved.labels.low, saved.labels.high))
    return f" (95 % interval: {low:.0f} to {high:.0f} %, {seeds} seeds)"


def _grid(
    plan: Plan, curves: Mapping[Key, Curve], strategy: str, field: str
) -> NDArray[np.float64]:
    """Seeds by budgets."""
    rows = (curves[strategy, seed].steps for seed in range(plan.seeds))
    return np.array([[getattr(step, field) for step in steps] for steps in rows])


def _inside(regime: Regime, budgets: NDArray[np.int64]) -> NDArray[np.bool_]:
    return (budgets > regime.above) & (budgets <= regime.up_to)


def _in_regime(
    inside: NDArray[np.bool_], accuracy: Mapping[str, Curves], baseline: str
) -> dict[str, InRegime]:
    means = {name: curves[:, inside].mean(axis=1) for name, curves in accuracy.items()}
    best = max(means.values(), key=lambda mean: float(mean.mean()))
    behind = {name: estimate(best - mean) for name, mean in means.items()}
    return {
        name: InRegime(
            accuracy=estimate(mean),
            difference=estimate(mean - means[baseline]),
            best=mean.mean() == best.mean(),
            close=behind[name].mean <= (0.0 if len(mean) < 2 else behind[name].error),
        )
        for name, mean in means.items()
    }


def _saved(budgets: NDArray[np.int64], curves: Curves, baseline: Curves) -> Saved:
    needed = labels_needed(budgets, curves, baseline)
    return Saved(
        labels=estimate(needed.baseline - needed.strategy),
        needed=float(needed.strategy.mean()),
        baseline_needed=float(needed.baseline.mean()),
        accuracy=float(needed.accuracy.mean()),
    )


def _best_other(areas: Mapping[str, PerSeed], name: str) -> str:
    others = [other for other in areas if other != name]
    return max(others, key=lambda other: float(areas[other].mean()), default="")


def _duel(areas: Mapping[str, PerSeed], name: str, other: str) -> Duel | None:
    return None if other in ("", name) else duel(areas[name], areas[other])
