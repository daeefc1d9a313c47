"""The short answer on the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from uherding_backend.simulation.summary import Row, Summary
from uherding_backend.simulation.words import percent, points


def short_table(summary: Summary) -> list[str]:
    """Lines: accuracy and difference to the baseline in each regime, and the labels saved."""
    baseline = summary.plan.baseline
    heads = ["strategy"]
    for regime in summary.regimes:
        heads += [f"{regime.name} ({regime.extent})", f"vs {baseline}"]
    rows = [[*heads, "labels saved"], *(_cells(row, baseline) for row in summary.rows)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [_line(row, widths) for row in rows]


def _cells(row: Row, baseline: str) -> list[str]:
    cells = [row.strategy]
    mine = row.strategy == baseline
    for regime in row.regimes:
        cells += [percent(regime.accuracy.mean, 1), "-" if mine else points(regime.difference)]
    return [
        *cells,
        "-" if mine else f"{row.saved.labels.mean:,.0f} ({100 * row.saved.share:.0f} %)",
    ]


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    aligned = [f"{cells[0]:<{widths[0]}}"]
    aligned += [f"{cell:>{width}}" for cell, width in zip(cells[1:], widths[1:], strict=True)]
    return ("  " + "  ".join(aligned)).rstrip()
