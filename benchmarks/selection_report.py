"""From the lines of benchmarks/selection.py to tables and a plot.

.venv/bin/python -m benchmarks.selection_report [RESULTS.csv] [--output FILE.md] [--plot FILE.png]
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.result_files import read_results
from benchmarks.selection_contenders import BARE, DENSE, OURS
from benchmarks.selection_ledger import RESULTS
from benchmarks.selection_medians import Result, Results
from benchmarks.selection_plot import plot
from benchmarks.selection_pools import Case

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
    written = ["# Choosing a batch: seconds and memory", "", *explanation(), *warning(results)]
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


def warning(results: Results) -> list[str]:
    versions = results.versions_of_ours()
    text = f"**{versions} versions of our code made these lines.** Run `benchmarks.selection`."
    return [text, ""] if versions > 1 else []


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
    name = f"**{one.contender}**" if one.contender == OURS else one.contender
    if one.seconds is None:
        return [name, one.row["failure"].replace("|", "/"), "", "", "", ""]
    dense = results.seconds(one.case, DENSE)
    bare = results.seconds(Case(one.case.data, one.case.n), BARE)
    return [
        name,
        number(one.seconds),
        f"{number(dense / one.seconds)} x" if dense and one.contender != DENSE else "",
        number(one.seconds / bare) if bare and one.contender != BARE else "",
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


def line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
