"""From the lines of benchmarks/selection.py to tables and a plot.

.venv/bin/python -m benchmarks.selection_report [RESULTS.csv] [--output FILE.md] [--plot FILE.png]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import matplotlib as mpl

from benchmarks import selection_contenders as names
from benchmarks.result_files import read_results
from benchmarks.selection_contenders import CONTENDERS, UNWEIGHTED
from benchmarks.selection_ledger import RESULTS
from benchmarks.selection_pools import Case
from model.large import EXACT_UP_TO

mpl.use("Agg")
import matplotlib.pyplot as plt

PLOT = Path("docs/images/selection-growth.png")
HEADS = (
    "labels",
    "batch",
    "contender",
    "seconds",
    "faster than the dense loop",
    "times the bare pass",
    "MB above the features",
    "same picks",
)
EQUAL = 1e-7  # of the coverage gained: what float32 can tell apart
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


@dataclass(frozen=True)
class Result:
    """Medians of the repeats of one contender in one case; seconds None = it failed."""

    case: Case
    contender: str
    seconds: float | None
    megabytes: float
    row: dict[str, str]  # the first repeat

    @classmethod
    def of(cls, case: Case, contender: str, rows: list[dict[str, str]]) -> Result:
        good = [row for row in rows if not row["failure"]]
        if not good:
            return cls(case, contender, None, 0.0, rows[0])
        return cls(
            case,
            contender,
            median(float(row["seconds"]) for row in good),
            median(float(row["megabytes"]) for row in good),
            good[0],
        )

    @property
    def agreement(self) -> str:
        """Whether its picks are the dense loop's, or ours where that did not run."""
        row = self.row
        if self.contender in UNWEIGHTED and self.case.labels > 0:
            return "knows no uncertainty"
        if not row["same_picks"]:
            return ""
        difference, gains = float(row["gains_difference"]), float(row["gains"])
        if row["same_picks"] == "yes":
            return "yes" if row["compared_with"] == names.DENSE else f"as {row['compared_with']}"
        if difference <= EQUAL * gains:
            return "equal gains"
        return f"no: gains differ by up to {difference:.1e}"


class Results:
    """Everything that was measured."""

    def __init__(self, rows: list[dict[str, str]]) -> None:
        grouped: dict[tuple[Case, str], list[dict[str, str]]] = {}
        for row in rows:
            case = Case(row["data"], int(row["n"]), int(row["batch"]), int(row["labels"]))
            grouped.setdefault((case, row["contender"]), []).append(row)
        order = list(CONTENDERS)
        self.all = [Result.of(*key, some) for key, some in grouped.items()]
        self.all.sort(key=lambda one: (*vars(one.case).values(), order.index(one.contender)))

    def seconds(self, case: Case, contender: str) -> float | None:
        same = (one for one in self.all if (one.case, one.contender) == (case, contender))
        return next((one.seconds for one in same), None)

    def pools(self) -> list[Case]:
        return list(dict.fromkeys(Case(one.case.data, one.case.n) for one in self.all))

    def of(self, pool: Case) -> list[Result]:
        """Growing labels, then batches; what is done to the pool itself comes first."""
        some = [one for one in self.all if (one.case.data, one.case.n) == (pool.data, pool.n)]
        return sorted(some, key=lambda one: (one.case.batch > 0, one.case.labels, one.case.batch))


def pool_table(results: Results, pool: Case) -> list[str]:
    shown = results.of(pool)
    lines = [f"## {pool.n:,} rows of {shown[0].row['d'] or '?'} features, {pool.data}", ""]
    lines += [line(*HEADS), line(*["---"] * len(HEADS))]
    last = None
    for one in shown:
        lines.append(line(*place(one, repeated=one.case == last), *figures(results, one)))
        last = one.case
    return [*lines, ""]


def place(one: Result, *, repeated: bool) -> tuple[str, str]:
    if repeated:
        return "", ""
    return (f"{one.case.labels:,}", f"{one.case.batch:,}") if one.case.batch else ("any", "any")


def figures(results: Results, one: Result) -> list[str]:
    name = f"**{one.contender}**" if one.contender == names.OURS else one.contender
    if one.seconds is None:
        return [name, one.row["failure"].replace("|", "/"), "", "", "", ""]
    dense = results.seconds(one.case, names.DENSE)
    bare = results.seconds(Case(one.case.data, one.case.n), names.BARE)
    return [
        name,
        number(one.seconds),
        f"{number(dense / one.seconds)} x" if dense and one.contender != names.DENSE else "",
        number(one.seconds / bare) if bare and one.contender != names.BARE else "",
        f"{one.megabytes:,.0f}",
        one.agreement,
    ]


def estimates(results: Results) -> list[str]:
    """Where the picks rest on a sample: what was promised, and what is true."""
    shown = [one for one in results.all if float(one.row["error_bound"] or 0) > 0]
    if not shown:
        return []
    heads = ("rows", "labels", "batch", "contender", "coverage gained, estimated", "exact")
    lines = ["## Estimates", "", line(*heads, "difference", "error bound (99 %)")]
    lines.append(line(*["---"] * (len(heads) + 2)))
    for one in shown:
        told, true = float(one.row["gains"]), float(one.row["exact_gains"])
        where = (f"{one.case.n:,}", f"{one.case.labels:,}", f"{one.case.batch:,}", one.contender)
        bound = float(one.row["error_bound"])
        values = (f"{told:.5f}", f"{true:.5f}", f"{told - true:+.5f}", f"{bound:.3f}")
        lines.append(line(*where, *values))
    return [*lines, ""]


def number(value: float) -> str:
    """Three digits or so."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def short(n: int) -> str:
    return f"{n / 1e6:g}M" if n >= 1_000_000 else f"{n / 1e3:g}k"


def line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def plot(results: Results, path: Path) -> None:
    """Seconds against rows, batch 100, clustered features; both scales logarithmic."""
    figure, panels = plt.subplots(
        1, len(PANELS), figsize=(12, 5), sharey=True, layout="constrained", squeeze=False
    )
    sizes = sorted({one.case.n for one in results.all if one.case.data == "clustered"})
    for panel, (title, fits) in zip(panels[0], PANELS.items(), strict=True):
        for name, (colour, style, marker) in DRAWN.items():
            points = growth(results, name, fits)
            if points:
                width = 2.4 if name == names.OURS else 1.3
                look = {"color": colour, "linestyle": style, "marker": marker, "lw": width}
                panel.plot(*zip(*points, strict=True), label=name, markersize=5, **look)
        panel.set_xscale("log")
        panel.set_yscale("log")
        panel.set_title(title, fontsize=10)
        panel.set_xlabel("rows of the pool")
        panel.set_xticks(sizes, [short(n) for n in sizes])
        panel.minorticks_off()
        if sizes[-1] > EXACT_UP_TO:
            panel.axvspan(EXACT_UP_TO, 1.3 * sizes[-1], color="#000000", alpha=0.06, lw=0)
            panel.text(EXACT_UP_TO, 0.02, " by a sample", transform=panel.get_xaxis_transform())
        panel.set_xlim(sizes[0] / 1.3, 1.3 * sizes[-1])
        panel.yaxis.set_major_formatter(lambda seconds, _: f"{seconds:g}")
        panel.grid(alpha=0.25)
    panels[0][0].set_ylabel("seconds for a batch of 100")
    found = [panel.get_legend_handles_labels() for panel in panels[0]]
    legend = {name: handle for one in found for handle, name in zip(*one, strict=True)}
    shown = [name for name in DRAWN if name in legend]
    figure.legend(
        [legend[name] for name in shown],
        shown,
        loc="outside upper center",
        ncols=4,
        frameon=False,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100)


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("results", type=Path, nargs="?", default=RESULTS)
    parser.add_argument("--output", type=Path, default=RESULTS.with_suffix(".md"))
    parser.add_argument("--plot", type=Path, default=PLOT)
    parsed = parser.parse_args()
    rows = read_results(parsed.results)
    if not rows:
        raise SystemExit(f"{parsed.results} holds no results. Run benchmarks.selection first.")
    results = Results(rows)
    written = ["# Choosing a batch: seconds and memory", "", *explanation()]
    for pool in results.pools():
        written += pool_table(results, pool)
    parsed.output.write_text("\n".join(written + estimates(results)))
    plot(results, parsed.plot)


def explanation() -> list[str]:
    return [
        "Written by `benchmarks/selection_report.py`; what runs, and how, is in "
        "`benchmarks/selection.py`. Medians of three measurements below 10 s, of two below 60 s, "
        "else one. The bare pass computes every pair once and keeps nothing. A graph that is ready "
        "counts as memory, not as time. *Equal gains*: other rows, whose gains are the same to 7 "
        "digits. *As ours*: the dense loop did not run. apricot compiles its loops in every fit, "
        "which takes seconds.",
        "",
    ]


if __name__ == "__main__":
    main()
