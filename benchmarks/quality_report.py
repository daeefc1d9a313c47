"""From `.bench/quality.csv` to the tables and plots of docs/quality.md.

.venv/bin/python -m benchmarks.quality_report [RESULTS.csv]
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import matplotlib as mpl
import numpy as np
from numpy.typing import NDArray

from benchmarks.quality import ABLATIONS, RESULTS, SETTINGS
from benchmarks.result_files import read_results
from uherding_backend.simulation.statistics import estimate

mpl.use("Agg")
import matplotlib.pyplot as plt

DOCUMENT = Path("docs/quality.md")
PLOT = Path("docs/images/quality.png")
BEGIN, END = "<!-- results: written by benchmarks/quality_report.py -->", "<!-- end of results -->"
REGIMES: dict[str, Callable[[int], bool]] = {
    "Low (20 to 100 labels)": lambda labels: labels <= 100,
    "Middle (200 to 1,000)": lambda labels: 100 < labels <= 1000,
    "High (1,500 and 2,000)": lambda labels: labels > 1000,
}
OURS, BASELINE, PAPERS = "uherding", "random", "uherding-paper"
RIVALS = ("maxherding", "margin")
DRAWN = {  # Okabe and Ito's colours, which colour-blind people can tell apart
    "uherding": ("#D55E00", "-"),
    "maxherding": ("#0072B2", "--"),
    "margin": ("#009E73", "-."),
    "typiclust": ("#CC79A7", ":"),
    "badge": ("#E69F00", (0, (5, 1))),
    "random": ("#000000", "-"),
}

PerSeed = NDArray[np.float64]


@dataclass(frozen=True)
class Results:
    """Accuracy in per cent, (seeds, budgets), of every strategy in one setting."""

    setting: str
    labels: tuple[int, ...]
    accuracy: dict[str, NDArray[np.float64]]

    @classmethod
    def of(cls, setting: str, rows: list[dict[str, str]]) -> Results:
        """Seeds that every strategy has."""
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


def ablation_table(results: Results) -> list[str]:
    """One setting, all regimes; the default and its relatives first."""
    regimes = [regime for regime in REGIMES if results.gain(OURS, regime) is not None]
    family = [OURS, "uherding-paper", "maxherding", "margin", "badge", *ABLATIONS]
    lines = [
        f"### Ablations ({results.setting}, {results.seeds} seeds)",
        "",
        "| strategy | " + " | ".join(regimes) + " |",
        "|---" * (len(regimes) + 1) + "|",
    ]
    for name in sorted(family, key=lambda name: name.split("-")[0]):
        cells = []
        for regime in regimes:
            gains = results.gain(name, regime)
            cells.append("" if gains is None else f"{gains.mean():+.1f} ± {error(gains):.1f}")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return [*lines, ""]


def table(regime: str, results: list[Results]) -> list[str]:
    """Rows are strategies; bold is the best, a star is within one standard error of it."""
    shown = [one for one in results if one.gain(OURS, regime) is not None]
    if not shown:
        return []
    names = [name for name in results[0].accuracy if name != BASELINE]
    lines = [
        f"### {regime}",
        "",
        "| strategy | " + " | ".join(_short(one.setting) for one in shown) + " |",
        "|---" * (len(shown) + 1) + "|",
    ]
    for name in sorted(names, key=lambda name: name == OURS):
        cells = [_cell(one, name, regime) for one in shown]
        if any(cells):
            lines.append(f"| {name} | " + " | ".join(cell or "-" for cell in cells) + " |")
    return [*lines, ""]


def _cell(results: Results, name: str, regime: str) -> str:
    if name not in results.accuracy:
        return ""
    gains = results.gain(name, regime)
    best = results.gain(best_in(results, regime), regime)
    if gains is None or best is None:
        return ""
    text = f"{gains.mean():+.1f} ± {error(gains):.1f}"
    if gains.mean() >= best.mean():
        return f"**{text}**"
    return f"{text} *" if best.mean() - gains.mean() <= error(best - gains) else text


def best_in(results: Results, regime: str) -> str:
    def mean(name: str) -> float:
        gains = results.gain(name, regime)
        return float("-inf") if gains is None else float(gains.mean())

    return max(results.accuracy, key=mean)


def verdicts(results: list[Results]) -> list[str]:
    """What the default had to show, and every place where it does not."""
    cells = [(one, regime) for one in results for regime in REGIMES if _has(one, regime)]
    points = [(one, column) for one in results for column in range(len(one.labels))]
    behind = [_lead(one, best_in(one, regime), regime) for one, regime in cells]
    papers = [_lead(one, PAPERS, regime, surely=True) for one, regime in cells]
    random = [_deficit(one, (BASELINE,), column) for one, column in points]
    rivals = [_deficit(one, RIVALS, column) for one, column in points]
    return [
        f"- Best, or within one standard error of the best, in {behind.count('')} of "
        f"{len(cells)} regimes and settings. Not in: {_listed(behind)}",
        "- Significantly below random (Student's 95 % interval of the paired difference) at "
        f"{_count(random)} of {len(points)} budgets: {_listed(random)}",
        "- Significantly below the better of MaxHerding and Margin at "
        f"{_count(rivals)} of {len(points)} budgets: {_listed(rivals)}",
        f"- Significantly below `{PAPERS}` in {_count(papers)} of {len(cells)} regimes and "
        f"settings: {_listed(papers)}",
        "",
        f"Of {len(points)} comparisons without any difference about {round(0.025 * len(points))} "
        "would be called significantly below by chance.",
        "",
    ]


def _has(results: Results, regime: str) -> bool:
    return results.gain(OURS, regime) is not None


def _lead(results: Results, winner: str, regime: str, *, surely: bool = False) -> str:
    """By how much another strategy is ahead of ours, or "" if by no more than noise."""
    ours, theirs = results.gain(OURS, regime), results.gain(winner, regime)
    if ours is None or theirs is None:
        return ""
    lead = float(theirs.mean() - ours.mean())
    noise = error(theirs - ours)
    if lead <= noise or (surely and not _worse(ours, theirs)):
        return ""
    place = f"{results.setting}, {regime.split()[0].lower()}"
    return f"{place}: {winner} by {lead:.1f} ± {noise:.1f}"


def _deficit(results: Results, others: tuple[str, ...], column: int) -> str:
    """Where ours is significantly below the best of the others at one budget, or ""."""
    rival = max(others, key=lambda name: results.accuracy[name][:, column].mean())
    mine, theirs = (results.accuracy[name][:, column] for name in (OURS, rival))
    if not _worse(mine, theirs):
        return ""
    gap = theirs.mean() - mine.mean()
    return f"{results.setting}, {results.labels[column]} labels: {rival} by {gap:.1f}"


def _worse(mine: PerSeed, other: PerSeed) -> bool:
    """Whether Student's 95 % interval of the paired difference lies below 0."""
    return estimate(mine - other).high < 0


def _count(places: list[str]) -> int:
    return len(places) - places.count("")


def _listed(places: list[str]) -> str:
    return "; ".join(place for place in places if place) + "." if any(places) else "none."


def costs(rows: list[dict[str, str]]) -> list[str]:
    """Seconds of choosing and training, all steps of all seeds together."""
    seconds: dict[str, float] = {}
    for row in rows:
        seconds[row["strategy"]] = seconds.get(row["strategy"], 0.0) + float(row["seconds"])
    total = sum(seconds.values())
    return [f"All curves together took {total / 3600:.1f} hours on one core.", ""]


def plot(results: list[Results]) -> None:
    """Improvement over random against labels, one panel for each setting."""
    columns = 4
    lines = -(-len(results) // columns)
    figure, panels = plt.subplots(
        lines, columns, figsize=(16, 3.6 * lines), squeeze=False, layout="constrained"
    )
    for panel in panels.flat[len(results) :]:
        panel.axis("off")
    for panel, one in zip(panels.flat, results, strict=False):
        base = one.accuracy[BASELINE]
        for name, (colour, style) in DRAWN.items():
            if name in one.accuracy:
                gains = one.accuracy[name] - base
                mean = gains.mean(0)
                spread = gains.std(0, ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else 0 * mean
                width = 2.4 if name == OURS else 1.3
                panel.plot(one.labels, mean, color=colour, linestyle=style, lw=width, label=name)
                panel.fill_between(
                    one.labels, mean - spread, mean + spread, color=colour, alpha=0.12
                )
        panel.set_xscale("log")
        panel.set_xticks([20, 50, 100, 200, 500, 1000, 2000], [20, 50, 100, 200, 500, "1k", "2k"])
        panel.minorticks_off()
        panel.set_xlim(one.labels[0], one.labels[-1])
        panel.set_title(f"{_short(one.setting)} ({one.seeds} seeds)", fontsize=10)
        panel.grid(alpha=0.25)
    for row in panels:
        row[0].set_ylabel("points above random")
    handles, names = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=len(names), frameon=False)
    PLOT.parent.mkdir(exist_ok=True)
    figure.savefig(PLOT, dpi=80)


def _short(setting: str) -> str:
    words = setting.replace("fashion-mnist", "Fashion").replace("cifar10", "CIFAR-10")
    words = words.replace("efficientnet-lite0", "EffNet").replace("long-tailed", "tail")
    return words.replace("digits", "Digits")


def main() -> None:
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else RESULTS
    rows = read_results(path)
    results = [
        Results.of(name, rows) for name in SETTINGS if any(r["setting"] == name for r in rows)
    ]
    everything = [one for one in results if one.seeds > 1]
    results = [without(one, ABLATIONS) for one in everything]
    written = verdicts(results)
    for regime in REGIMES:
        written += table(regime, results)
    for one in everything:
        if ABLATIONS[0] in one.accuracy:
            written += ablation_table(one)
    written += ["Seeds: " + ", ".join(f"{one.setting} {one.seeds}" for one in results) + ".", ""]
    written += costs(rows)
    plot(results)
    text = DOCUMENT.read_text()
    head, tail = text.split(BEGIN)[0], text.split(END)[1]
    DOCUMENT.write_text(head + BEGIN + "\n\n" + "\n".join(written) + "\n" + END + tail)


if __name__ == "__main__":
    main()
