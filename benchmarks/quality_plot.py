"""The curves of docs/quality.md."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes

from benchmarks.quality_curves import BASELINE, OURS, Results, short

mpl.use("Agg")
import matplotlib.pyplot as plt

PLOT = Path("docs/images/quality.png")
TICKS = (20, 50, 100, 200, 500, 1000, 2000)
DRAWN = {  # Okabe and Ito's colours, which colour-blind people can tell apart
    "uherding": ("#D55E00", "-"),
    "maxherding": ("#0072B2", "--"),
    "margin": ("#009E73", "-."),
    "typiclust": ("#CC79A7", ":"),
    "badge": ("#E69F00", (0, (5, 1))),
    "random": ("#000000", "-"),
}


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
        draw(panel, one)
        scale(panel, one)
    for row in panels:
        row[0].set_ylabel("points above random")
    handles, names = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=len(names), frameon=False)
    PLOT.parent.mkdir(exist_ok=True)
    figure.savefig(PLOT, dpi=80)


def draw(panel: Axes, one: Results) -> None:
    """Means of all seeds, in a band of one standard error."""
    for name, (colour, style) in DRAWN.items():
        if name in one.accuracy:
            gains = one.accuracy[name] - one.accuracy[BASELINE]
            mean = gains.mean(0)
            spread = gains.std(0, ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else 0 * mean
            width = 2.4 if name == OURS else 1.3
            panel.plot(one.labels, mean, color=colour, linestyle=style, lw=width, label=name)
            panel.fill_between(one.labels, mean - spread, mean + spread, color=colour, alpha=0.12)


def scale(panel: Axes, one: Results) -> None:
    panel.set_xscale("log")
    panel.set_xticks(TICKS, [f"{n // 1000}k" if n >= 1000 else str(n) for n in TICKS])
    panel.minorticks_off()
    panel.set_xlim(one.labels[0], one.labels[-1])
    panel.set_title(f"{short(one.setting)} ({one.seeds} seeds)", fontsize=10)
    panel.grid(alpha=0.25)
