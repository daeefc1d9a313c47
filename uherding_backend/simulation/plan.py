"""What is to be simulated: the arguments checked against each other and against the data."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from model.names import DEFAULT_CLASSIFIER, LINEAR_ONLY
from model.strategies import STRATEGIES
from uherding_backend.errors import SettingsError
from uherding_backend.simulation.arguments import Options
from uherding_backend.simulation.words import percent

BASELINE = "random"
DEFAULT_BUDGETS = (*range(20, 101, 20), *range(200, 1001, 100))


@dataclass(frozen=True, slots=True)
class Plan:
    """Every strategy with every seed gives one learning curve, measured at every budget.

    Attributes:
        strategies: Names, as they were given.
        budgets: Labels, ascending; all within the pool.
        beyond: Budgets that were asked for but are larger than the pool.
        seeds: 0, 1, ... up to so many.
        pool_share: Of the pool that each seed draws.
        classifier: Its name, for `model.classifiers.trainer`.
        jobs: Processes.
    """

    strategies: tuple[str, ...]
    budgets: tuple[int, ...]
    beyond: tuple[int, ...]
    seeds: int
    pool_share: float
    classifier: str
    jobs: int

    @classmethod
    def of(cls, options: Options, pool: int) -> Plan:
        """For a pool of so many images; refused with a sentence if it cannot work."""
        _require(options.seeds >= 1, f"--seeds must be 1 or more, got {options.seeds}.")
        _require(options.jobs >= 0, f"--jobs must be 1 or more, got {options.jobs}.")
        share = options.pool_share
        _require(0 < share <= 1, f"--pool-share must be above 0 and at most 1, got {share}.")
        asked = _budgets(options.budgets)
        strategies = strategy_names(options.strategies)
        picky = sorted(set(strategies) & set(LINEAR_ONLY))
        _require(
            not picky or options.classifier == DEFAULT_CLASSIFIER,
            f"{', '.join(picky)} works only with --classifier {DEFAULT_CLASSIFIER}.",
        )
        budgets = _within(asked, pool, share)
        return cls(
            strategies=strategies,
            budgets=budgets,
            beyond=asked[len(budgets) :] if options.budgets else (),
            seeds=options.seeds,
            pool_share=share,
            classifier=options.classifier,
            jobs=options.jobs or cores(),
        )

    @property
    def baseline(self) -> str:
        """What the others are compared with."""
        return BASELINE if BASELINE in self.strategies else self.strategies[0]


def strategy_names(text: str) -> tuple[str, ...]:
    """Names of known strategies, separated by commas."""
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    _require(bool(names), "--strategies names no strategy; `uherding simulate --list` shows all.")
    for name in names:
        _require(
            name in STRATEGIES,
            f"There is no strategy {name!r}; choose from {', '.join(sorted(STRATEGIES))}.",
        )
    return names


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _budgets(text: str) -> tuple[int, ...]:
    if not text.strip():
        return DEFAULT_BUDGETS
    parts = [part.strip() for part in text.split(",")]
    budgets = tuple(int(part) for part in parts if part.isdecimal())
    rising = all(low < high for low, high in zip((0, *budgets), budgets, strict=False))
    _require(
        len(budgets) == len(parts) and rising,
        f"--budgets must be whole numbers that rise, such as 20,40,100; got {text!r}.",
    )
    return budgets


def _within(budgets: Sequence[int], pool: int, share: float) -> tuple[int, ...]:
    drawn = max(1, round(share * pool))
    kept = tuple(budget for budget in budgets if budget <= drawn)
    _require(
        bool(kept),
        f"The smallest budget is {budgets[0]} labels, but each seed draws only {drawn} images "
        f"({percent(share)} of a pool of {pool}). Give more images, or smaller --budgets.",
    )
    return kept


def _require(good: bool, sentence: str) -> None:
    if not good:
        raise SettingsError(sentence)
