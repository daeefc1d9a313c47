"""From `.bench/quality.csv` to the tables and plots of docs/quality.md.

.venv/bin/python -m benchmarks.quality_report [RESULTS.csv]
"""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.quality import ABLATIONS, RESULTS, SETTINGS
from benchmarks.quality_curves import (
    BASELINE,
    OURS,
    REGIMES,
    Results,
    best_in,
    error,
    short,
    without,
)
from benchmarks.quality_plot import plot
from benchmarks.quality_verdicts import verdicts
from benchmarks.result_files import read_results

DOCUMENT = Path("docs/quality.md")
BEGIN, END = "<!-- results: written by benchmarks/quality_report.py -->", "<!-- end of results -->"


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


def table(regime: str, results: list[Results]) -> list[str]:
    """Rows are strategies; bold is the best, a star is within one standard error of it."""
    shown = [one for one in results if one.gain(OURS, regime) is not None]
    if not shown:
        return []
    names = [name for name in results[0].accuracy if name != BASELINE]
    lines = [
        f"### {regime}",
        "",
        "| strategy | " + " | ".join(short(one.setting) for one in shown) + " |",
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


def costs(rows: list[dict[str, str]]) -> list[str]:
    """Seconds of choosing and training, all steps of all seeds together."""
    seconds: dict[str, float] = {}
    for row in rows:
        seconds[row["strategy"]] = seconds.get(row["strategy"], 0.0) + float(row["seconds"])
    total = sum(seconds.values())
    return [f"All curves together took {total / 3600:.1f} hours on one core.", ""]


if __name__ == "__main__":
    main()
