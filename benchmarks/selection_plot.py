"""How the time to choose a batch grows with the pool."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks import selection_contenders as names
from benchmarks.selection_medians import Results
from benchmarks.selection_pools import Case
from model.large import EXACT_UP_TO

mpl.use("Agg")
import matplotlib.pyplot as plt

DRAWN = {  # Okabe and Ito's colours, which colour-blind people can tell apart
    names.OURS: ("#D55E00", "-", "o"),
    names.READY: ("#E69F00", "-", "s"),
    names.BUILT: ("#CC79A7", (0, (5, 1)), "D"),
    names.DENSE: ("#000000", "-", "v"),
    names.SCIKIT_ACTIVEML: ("#0072B2", "--", "^"),
    names.APRICOT: ("#009E73", "-.", "P"),
    names.SUBMODLIB: ("#56B4E9", ":", "X"),
    names.BARE: ("#7F7F7F", ":", ""),
}
PANELS: dict[str, Callable[[Case], bool]] = {
    "no labels": lambda case: case.labels == 0,
    "a tenth of the pool is labelled": lambda case: case.labels == case.n // 10,
}


def plot(results: Results, path: Path) -> None:
    """Seconds against rows, batch 100, clustered features; both scales logarithmic."""
    figure, panels = plt.subplots(
        1, len(PANELS), figsize=(12, 5), sharey=True, layout="constrained", squeeze=False
    )
    sizes = sorted({one.case.n for one in results.all if one.case.data == "clustered"})
    for panel, (title, fits) in zip(panels[0], PANELS.items(), strict=True):
        draw(panel, results, fits)
        panel.set_title(title, fontsize=10)
        scale(panel, sizes)
    panels[0][0].set_ylabel("seconds for a batch of 100")
    name_lines(figure, panels[0])
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100)


def draw(panel: Axes, results: Results, fits: Callable[[Case], bool]) -> None:
    for name, (colour, style, marker) in DRAWN.items():
        points = growth(results, name, fits)
        if points:
            width = 2.4 if name == names.OURS else 1.3
            panel.plot(
                *zip(*points, strict=True),
                label=name,
                color=colour,
                linestyle=style,
                marker=marker,
                markersize=5,
                lw=width,
            )


def growth(results: Results, name: str, fits: Callable[[Case], bool]) -> list[tuple[int, float]]:
    """Rows and seconds, ascending; the bare pass is the same whatever is chosen."""
    return sorted(
        (one.case.n, one.seconds)
        for one in results.all
        if one.contender == name
        and one.case.data == "clustered"
        and one.seconds is not None
        and (one.case.batch == 0 or (one.case.batch == 100 and fits(one.case)))
    )


def scale(panel: Axes, sizes: list[int]) -> None:
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.set_xlabel("rows of the pool")
    panel.set_xticks(sizes, [short(n) for n in sizes])
    panel.minorticks_off()
    if sizes[-1] > EXACT_UP_TO:
        panel.axvspan(EXACT_UP_TO, 1.3 * sizes[-1], color="#000000", alpha=0.06, lw=0)
        panel.text(EXACT_UP_TO, 0.02, " by a sample", transform=panel.get_xaxis_transform())
    panel.set_xlim(sizes[0] / 1.3, 1.3 * sizes[-1])
    panel.yaxis.set_major_formatter(lambda seconds, _: f"{seconds:g}")
    panel.grid(alpha=0.25)


def name_lines(figure: Figure, panels: Sequence[Axes]) -> None:
    """One legend for all panels; no panel has every line."""
    found = [panel.get_legend_handles_labels() for panel in panels]
    legend = {name: handle for one in found for handle, name in zip(*one, strict=True)}
    shown = [name for name in DRAWN if name in legend]
    handles = [legend[name] for name in shown]
    figure.legend(handles, shown, loc="outside upper center", ncols=4, frameon=False)


def short(n: int) -> str:
    return f"{n / 1e6:g}M" if n >= 1_000_000 else f"{n / 1e3:g}k"
