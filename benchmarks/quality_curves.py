"""The learning curves of `benchmarks.quality`, setting by setting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.quality import SETTINGS
from benchmarks.result_files import CODE

REGIMES: dict[str, Callable[[int], bool]] = {
    "Low (20 to 100 labels)": lambda labels: labels <= 100,
    "Middle (200 to 1,000)": lambda labels: 100 < labels <= 1000,
    "High (1,500 and 2,000)": lambda labels: labels > 1000,
}
OURS, BASELINE = "uherding", "random"

PerSeed = NDArray[np.float64]


@dataclass(frozen=True)
class Results:
    """Accuracy in per cent, (seeds, budgets), of every strategy in one setting."""

    setting: str
    labels: tuple[int, ...]
    accuracy: dict[str, NDArray[np.float64]]

    @classmethod
    def of(cls, setting: str, rows: list[dict[str, str]]) -> Results:
        """Seeds that every strategy has; they are compared, so one code must have made all."""
        made_by = {row.get(CODE) for row in rows if row["setting"] == setting}
        if len(made_by) > 1:
            raise SystemExit(f"Other code made some lines of {setting}. Run benchmarks.quality.")
        found: dict[str, dict[int, dict[int, float]]] = {}
        known = SETTINGS[setting].strategies()
        for row in rows:
            if row["setting"] == setting and row["strategy"] in known:
                curve = found.setdefault(row["strategy"], {}).setdefault(int(row["seed"]), {})
                curve[int(row["labels"])] = 100 * float(row["accuracy"])
        seeds = sorted(set.intersection(*(set(curves) for curves in found.values())))
        labels = tuple(sorted(next(iter(found.values()))[seeds[0]])) if seeds else ()
        return cls(
            setting,
            labels,
            {
                name: np.array([[curves[seed][n] for n in labels] for seed in seeds])
                for name, curves in found.items()
            },
        )

    @property
    def seeds(self) -> int:
        return len(self.accuracy[BASELINE])

    def gain(self, strategy: str, regime: str) -> PerSeed | None:
        """Mean improvement over random in a regime, for each seed."""
        columns = [n for n, labels in enumerate(self.labels) if REGIMES[regime](labels)]
        if not columns:
            return None
        return np.asarray((self.accuracy[strategy] - self.accuracy[BASELINE])[:, columns].mean(1))


def error(values: PerSeed) -> float:
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


def without(results: Results, names: tuple[str, ...]) -> Results:
    kept = {name: curves for name, curves in results.accuracy.items() if name not in names}
    return replace(results, accuracy=kept)


def best_in(results: Results, regime: str) -> str:
    def mean(name: str) -> float:
        gains = results.gain(name, regime)
        return float("-inf") if gains is None else float(gains.mean())

    return max(results.accuracy, key=mean)


def short(setting: str) -> str:
    words = setting.replace("fashion-mnist", "Fashion").replace("cifar10", "CIFAR-10")
    words = words.replace("efficientnet-lite0", "EffNet").replace("long-tailed", "tail")
    return words.replace("digits", "Digits")
