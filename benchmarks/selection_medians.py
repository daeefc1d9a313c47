"""The lines of `benchmarks.selection`, repeats taken together."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from benchmarks.result_files import CODE
from benchmarks.selection_contenders import CONTENDERS, DENSE, OURS, UNWEIGHTED
from benchmarks.selection_ledger import key
from benchmarks.selection_pools import Case

EQUAL = 1e-7  # of the coverage gained: what float32 can tell apart


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
            return "yes" if row["compared_with"] == DENSE else f"as {row['compared_with']}"
        if difference <= EQUAL * gains:
            return "equal gains"
        return f"no: gains differ by up to {difference:.1e}"


class Results:
    """Everything that was measured."""

    def __init__(self, rows: list[dict[str, str]]) -> None:
        grouped: dict[tuple[Case, str], list[dict[str, str]]] = {}
        for row in rows:
            grouped.setdefault(key(row), []).append(row)
        order = list(CONTENDERS)
        self.all = [Result.of(*key, some) for key, some in grouped.items()]
        self.all.sort(key=lambda one: (*vars(one.case).values(), order.index(one.contender)))

    def seconds(self, case: Case, contender: str) -> float | None:
        same = (one for one in self.all if (one.case, one.contender) == (case, contender))
        return next((one.seconds for one in same), None)

    def versions_of_ours(self) -> int:
        """How many states of our code made the figures; 1 unless a run was for some cases only."""
        return len({one.row.get(CODE) for one in self.all if one.contender == OURS})

    def pools(self) -> list[Case]:
        return list(dict.fromkeys(Case(one.case.data, one.case.n) for one in self.all))

    def of(self, pool: Case) -> list[Result]:
        """Growing labels, then batches; what is done to the pool itself comes first."""
        some = [one for one in self.all if (one.case.data, one.case.n) == (pool.data, pool.n)]
        return sorted(some, key=lambda one: (one.case.batch > 0, one.case.labels, one.case.batch))
