"""What `benchmarks.selection` measures, and in which order."""

import importlib.util
from collections.abc import Iterator
from dataclasses import replace

from benchmarks.console import tell
from benchmarks.selection_contenders import (
    APRICOT,
    BARE,
    BUILT,
    DENSE,
    OURS,
    PACKAGES,
    READY,
    SCIKIT_ACTIVEML,
    SUBMODLIB,
)
from benchmarks.selection_pools import Case

BATCHES = (100, 1_000)
DATA = ("clustered", "real")
DENSE_ROWS, PEER_ROWS, GRAPH_ROWS = 10_000, 10_000, 100_000
ROWS_PER_LABEL = 200  # with fewer labels there is no place for an earlier round's graph
DENSE_WORK = 4e10  # rows x rows x picks: a loop over everything takes minutes


def acceptance() -> Iterator[tuple[Case, str]]:
    """The cases with a goal."""
    ten, hundred, million = (Case("clustered", n) for n in (10_000, 100_000, 1_000_000))
    yield ten, BARE
    for labels in (0, 100):
        for name in (DENSE, OURS, APRICOT, SCIKIT_ACTIVEML, SUBMODLIB):
            yield replace(ten, batch=100, labels=labels), name
    for name in (DENSE, OURS, READY, BUILT):
        yield replace(ten, batch=100, labels=1_000), name
    yield hundred, BARE
    yield replace(hundred, batch=100), OURS
    for name in (OURS, READY, BUILT):
        yield replace(hundred, batch=1_000, labels=10_000), name
    yield replace(hundred, batch=1_000), OURS
    for labels in (0, million.n // 10):
        yield replace(million, batch=100, labels=labels), OURS


def grid(sizes: tuple[int, ...], dense_rows: int) -> Iterator[tuple[Case, str]]:
    """Everything else that ends in reasonable time, in growing n."""
    for n in sorted(sizes):
        for data in DATA:
            pool = Case(data, n)
            if n <= GRAPH_ROWS:
                yield pool, BARE
            for labels in sorted({0, 100, 1_000, n // 10}):
                for batch in BATCHES:
                    case = replace(pool, batch=batch, labels=labels)
                    yield from ((case, name) for name in entrants(case, dense_rows))


def entrants(case: Case, dense_rows: int) -> Iterator[str]:
    """Those that can, oracle first: the others' picks are compared with its."""
    if case.labels + case.batch > case.n:
        return
    if case.n > GRAPH_ROWS:
        if case.batch == 100 and case.labels in (0, case.n // 10):
            yield OURS
        return
    plain = case.n**2 * case.batch <= DENSE_WORK
    if case.n <= dense_rows and plain:
        yield DENSE
    yield OURS
    if case.labels * ROWS_PER_LABEL >= case.n:
        yield from (READY, BUILT)
    if case.n <= PEER_ROWS:
        yield from (APRICOT, SUBMODLIB)
        if plain and (case.labels == 0 or case.batch == BATCHES[0]):
            yield SCIKIT_ACTIVEML  # minutes for each line


def plan(sizes: tuple[int, ...], dense_rows: int, *, quick: bool) -> list[tuple[Case, str]]:
    """Without packages that are not there."""
    absent = {name for name, package in PACKAGES.items() if not importlib.util.find_spec(package)}
    for name in sorted(absent):
        tell(f"{name} is left out: not installed, see requirements-bench.txt")
    wanted = dict.fromkeys([*acceptance(), *grid(sizes, dense_rows)])
    return [
        (case, name)
        for case, name in wanted
        if case.n in sizes and name not in absent and not (quick and case.batch > 100)
    ]
