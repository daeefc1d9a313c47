"""The report's charts, as plotly.js wants them.

Colours are Okabe and Ito's, which colour-blind people can tell apart; dashes and markers differ
too, so that the charts also work in grey.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uherding_backend.simulation.summary import Row, Summary

Figure = dict[str, Any]

GREY = "#808080"  # the baseline
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
LEGEND_LINE = 24  # pixels
NAMES_PER_LINE = 6  # about
DASHES = ("solid", "dash", "dashdot", "longdash")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star")


def learning_curves(summary: Summary) -> Figure:
    """Mean accuracy at each budget, in a band of one standard deviation over seeds."""
    budgets = list(summary.plan.budgets)
    traces = []
    for row, style in zip(summary.rows, styles(summary), strict=True):
        mean, deviation = _mean_and_deviation(row.curves)
        traces += [
            _band(budgets, mean, deviation, style, row.strategy),
            _line(budgets, mean, style, row, "%{x:,} labels: %{y:.1%}"),
        ]
    return _figure(traces, "accuracy on the test images", ".0%")


def differences(summary: Summary) -> Figure:
    """Mean difference to the baseline at each budget, with one standard error over seeds."""
    budgets = list(summary.plan.budgets)
    traces = []
    for row, style in zip(summary.rows, styles(summary), strict=True):
        if row.strategy == summary.plan.baseline:
            continue
        mean, deviation = _mean_and_deviation(100 * row.differences)
        error = (deviation / math.sqrt(summary.plan.seeds)).tolist()
        trace = _line(budgets, mean, style, row, "%{x:,} labels: %{y:+.1f} points")
        trace["error_y"] = {"type": "data", "array": error, "thickness": 1.2, "width": 3}
        traces.append(trace)
    return _figure(traces, f"percentage points above {summary.plan.baseline}", "+")


def styles(summary: Summary) -> list[Figure]:
    """Colour, dash and marker of each strategy; the baseline is grey and dotted."""
    found: list[Figure] = []
    number = 0
    for row in summary.rows:
        if row.strategy == summary.plan.baseline:
            found.append({"colour": GREY, "dash": "dot", "symbol": "circle-open"})
            continue
        found.append(
            {
                "colour": COLOURS[number % len(COLOURS)],
                "dash": DASHES[(number + number // len(COLOURS)) % len(DASHES)],
                "symbol": SYMBOLS[number % len(SYMBOLS)],
            }
        )
        number += 1
    return found


def _mean_and_deviation(
    values: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    mean = values.mean(axis=0)
    return mean, values.std(axis=0, ddof=1) if len(values) > 1 else np.zeros_like(mean)


def _line(
    budgets: list[int], mean: NDArray[np.float64], style: Figure, row: Row, hover: str
) -> Figure:
    return {
        "x": budgets,
        "y": mean.tolist(),
        "name": row.strategy,
        "legendgroup": row.strategy,
        "mode": "lines+markers",
        "line": {"color": style["colour"], "dash": style["dash"], "width": 2.5},
        "marker": {"symbol": style["symbol"], "size": 8},
        "hovertemplate": hover + "<extra>%{fullData.name}</extra>",
    }


def _band(
    budgets: list[int],
    mean: NDArray[np.float64],
    deviation: NDArray[np.float64],
    style: Figure,
    strategy: str,
) -> Figure:
    return {
        "x": budgets + budgets[::-1],
        "y": (mean + deviation).tolist() + (mean - deviation)[::-1].tolist(),
        "legendgroup": strategy,
        "fill": "toself",
        "fillcolor": style["colour"],
        "opacity": 0.13,
        "line": {"width": 0},
        "mode": "lines",
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _figure(traces: list[Figure], title: str, tickformat: str) -> Figure:
    named = sum(trace.get("showlegend", True) for trace in traces)
    layout = {
        "height": 440 + LEGEND_LINE * (named // NAMES_PER_LINE),
        "margin": {"l": 64, "r": 16, "t": 16, "b": 52},
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        "xaxis": {"title": {"text": "labels"}, "tickformat": ",", "zeroline": False},
        "yaxis": {"title": {"text": title}, "tickformat": tickformat, "zeroline": True},
        "hovermode": "closest",
        "font": {"family": "system-ui, sans-serif", "size": 14},
    }
    return {"data": traces, "layout": layout}
