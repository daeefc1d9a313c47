"""What `benchmarks.selection` has measured already."""

import json
from collections.abc import Collection
from dataclasses import asdict
from functools import cache
from pathlib import Path

from benchmarks.result_files import CACHE, CODE, Row, append, keep_only
from benchmarks.selection_contenders import DENSE, OURS, UNWEIGHTED
from benchmarks.selection_measuring import Figures, code_of
from benchmarks.selection_pools import Case

RESULTS = Path("benchmarks/results/selection.csv")
COLUMNS = (
    *("data", "n", "batch", "labels", "contender", "repeat", "d", "radius", "seconds", "megabytes"),
    *("evaluations", "gains", "error_bound", "exact_gains"),
    *("compared_with", "same_picks", "gains_difference", "failure", CODE),
)


class Ledger:
    """The output, and beside it in `.bench` the picks that others are compared with.

    Of what is wanted, lines that other code has made are dropped; lines of other cases stay.
    """

    def __init__(self, path: Path, wanted: Collection[tuple[Case, str]]) -> None:
        self.path = path
        self._code = cache(code_of)
        again = set(wanted)
        self.rows = keep_only(
            path, COLUMNS, lambda row: key(row) not in again or self._is_current(row)
        )
        self._picks_path = CACHE / f"{path.stem}.picks.jsonl"
        self._picks: dict[tuple[Case, str], Figures] = {}
        if self._picks_path.exists():
            for line in self._picks_path.read_text().splitlines():
                kept = json.loads(line)
                case, contender = Case(**kept["case"]), kept["contender"]
                if self.of(case, contender):
                    self._picks[case, contender] = kept

    def of(self, case: Case, contender: str) -> list[Row]:
        return [row for row in self.rows if key(row) == (case, contender)]

    def radius(self, case: Case) -> float | None:
        """As an earlier measurement found it: with many labels that takes minutes."""
        pool = [case.data, str(case.n), str(case.labels)]
        same = (row for row in self.rows if [row["data"], row["n"], row["labels"]] == pool)
        found = (row for row in same if row["radius"] and self._is_current(row))
        return next((float(row["radius"]) for row in found), None)

    def add(self, case: Case, contender: str, figures: Figures) -> Row:
        repeat = len(self.of(case, contender)) + 1
        known = vars(case) | {"contender": contender, "repeat": repeat}
        everything = known | figures | self._agreement(case, contender, figures)
        cells = ["" if (v := everything.get(name)) is None else str(v) for name in COLUMNS]
        append(self.path, [cells])
        self.rows.append(dict(zip(COLUMNS, cells, strict=True)))
        if contender in (DENSE, OURS) and repeat == 1 and figures.get("picks"):
            self._keep(case, contender, figures)
        return self.rows[-1]

    def _agreement(self, case: Case, contender: str, figures: Figures) -> Figures:
        others = (name for name in (DENSE, OURS) if name != contender)
        rival = next((name for name in others if (case, name) in self._picks), None)
        ignorant = contender in UNWEIGHTED and case.labels > 0
        if rival is None or ignorant or not figures.get("picks"):
            return {}
        kept = self._picks[case, rival]
        pairs = zip(figures["gain_of_each"], kept["gain_of_each"], strict=False)
        return {
            "compared_with": rival,
            "same_picks": "yes" if figures["picks"] == kept["picks"] else "no",
            "gains_difference": max(abs(mine - theirs) for mine, theirs in pairs),
        }

    def _keep(self, case: Case, contender: str, figures: Figures) -> None:
        kept = {name: figures[name] for name in ("picks", "gain_of_each")}
        kept |= {"case": asdict(case), "contender": contender}
        self._picks[case, contender] = kept
        with self._picks_path.open("a") as file:
            file.write(json.dumps(kept) + "\n")

    def _is_current(self, row: Row) -> bool:
        return row.get(CODE) == self._code(row["contender"])


def key(row: Row) -> tuple[Case, str]:
    case = Case(row["data"], int(row["n"]), int(row["batch"]), int(row["labels"]))
    return case, row["contender"]
