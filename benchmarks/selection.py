"""How long does it take to choose a batch, and how much memory? Ours, the plain loop, and peers.

    .venv/bin/python -m benchmarks.selection [--sizes 5000,10000] [--quick] [--output FILE.csv]

Every measurement is a process of its own (`selection_measuring`) and one line of the output; what
is there already is not measured again, unless other code has made it. Remove a line, or the file,
to measure again.
"""

import argparse
import signal
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from benchmarks.console import tell
from benchmarks.result_files import CACHE
from benchmarks.selection_contenders import READY
from benchmarks.selection_ledger import RESULTS, Ledger
from benchmarks.selection_measuring import Request, asked
from benchmarks.selection_plan import DENSE_ROWS, plan
from benchmarks.selection_pools import Case, Files

QUICK_RESULTS = CACHE / "selection-quick.csv"
SIZES = (5_000, 10_000, 20_000, 50_000, 100_000, 1_000_000)
QUICK_SIZES = (5_000, 10_000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--sizes", help="rows of the pools, with commas between them")
    parser.add_argument("--quick", action="store_true", help="small pools, batch 100, once each")
    parser.add_argument("--output", type=Path)
    parser.add_argument(
        "--dense-up-to", type=int, default=DENSE_ROWS, help="rows; 20000 needs 10 GB of memory"
    )
    parsed = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # what was started is stopped
    standard = QUICK_SIZES if parsed.quick else SIZES
    sizes = tuple(map(int, parsed.sizes.split(","))) if parsed.sizes else standard
    CACHE.mkdir(exist_ok=True)
    wanted = plan(sizes, parsed.dense_up_to, quick=parsed.quick)
    ledger = Ledger(parsed.output or (QUICK_RESULTS if parsed.quick else RESULTS), wanted)
    with tempfile.TemporaryDirectory(dir=CACHE) as directory:
        for case, contender in wanted:
            run(case, contender, Files(Path(directory)), ledger, 1 if parsed.quick else 3)


def run(case: Case, contender: str, files: Files, ledger: Ledger, most: int) -> None:
    """All repeats that are missing."""
    while len(rows := ledger.of(case, contender)) < min(most, repeats(rows)):
        features = files.features(case.data, case.n)
        if features is None:
            return
        graph = files.graph(case, features) if contender == READY else None
        request = Request(
            **asdict(case),
            contender=contender,
            features=str(features),
            graph=str(graph) if graph else None,
            radius=ledger.radius(case),
        )
        figures = asked(request)
        if figures is None:
            tell(f"{case}: {contender} was stopped from outside; the next run measures it")
            return
        tell(f"{case}: {contender} {summary(ledger.add(case, contender, figures))}")


def repeats(rows: list[dict[str, str]]) -> int:
    """How often to measure, by what the first time took."""
    if not rows or rows[0]["failure"]:
        return 1
    seconds = float(rows[0]["seconds"])
    return 3 if seconds < 10 else 2 if seconds < 60 else 1


def summary(row: dict[str, str]) -> str:
    if row["failure"]:
        return f"failed: {row['failure']}"
    picks = {"": "", "yes": ", same picks", "no": f", OTHER PICKS than {row['compared_with']}"}
    return (
        f"{float(row['seconds']):.2f} s, {float(row['megabytes']):.0f} MB"
        + picks[row["same_picks"]]
    )


if __name__ == "__main__":
    main()
