"""report.html: one file with everything in it, plotly.js included."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, FileSystemLoader
from plotly.offline import get_plotlyjs

from uherding_backend.simulation.data import Dataset
from uherding_backend.simulation.figures import differences, learning_curves
from uherding_backend.simulation.statistics import EXACT_UP_TO, FLIPS, Duel
from uherding_backend.simulation.summary import Summary, headline, remark
from uherding_backend.simulation.words import accuracy, count, percent, points

_TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
)


def report_page(summary: Summary, dataset: Dataset, source: str) -> str:
    """The whole page.

    Args:
        summary: What came out.
        dataset: What it came from.
        source: Where the data was, for people.
    """
    return _TEMPLATES.get_template("report.html").render(
        headline=headline(summary),
        remark=remark(summary),
        summary=summary,
        plan=summary.plan,
        figures={"curves": learning_curves(summary), "differences": differences(summary)},
        settings=_settings(summary, dataset, source),
        test=_test(summary.plan.seeds),
        plotly=get_plotlyjs(),
    )


def _settings(summary: Summary, dataset: Dataset, source: str) -> dict[str, str]:
    plan, data = summary.plan, dataset.data
    return {
        "data": source,
        "pool": f"{len(data.labels):,} images; each seed draws {percent(plan.pool_share)} of them",
        "test images": f"{len(data.test_labels):,}",
        "features": f"{data.features.shape[1]} columns, rows scaled to length 1",
        "classes": f"{len(dataset.classes)}: {', '.join(dataset.classes[:20])}"
        + (", ..." if len(dataset.classes) > 20 else ""),
        "strategies": ", ".join(plan.strategies),
        "budgets": ", ".join(f"{budget:,}" for budget in plan.budgets),
        "seeds": f"{plan.seeds} (0 to {plan.seeds - 1})",
        "classifier": plan.classifier,
        "digest of the data": dataset.digest[:16],
    }


def _test(seeds: int) -> str:
    """Which test was made, and how small its p-value could become."""
    if seeds == 1:
        return "one seed says nothing: p is always 1"
    if seeds > EXACT_UP_TO:
        return f"Monte-Carlo with {FLIPS:,} random sign flips"
    return (
        f"exact, all {2**seeds:,} sign flips; with {seeds} seeds p cannot fall below "
        f"{2 / 2**seeds:.2g}"
    )


def _record(duel: Duel | None) -> str:
    if duel is None:
        return "-"
    ties = f", {duel.ties} ties" if duel.ties else ""
    return f"{duel.wins} : {duel.losses}{ties} (p = {duel.p:.2g})"


_TEMPLATES.filters |= {
    "accuracy": accuracy,
    "count": count,
    "percent": percent,
    "points": points,
    "record": _record,
}
