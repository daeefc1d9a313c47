"""One measurement of `benchmarks.selection`, in a process of its own: seconds and peak memory.

The process loads its libraries, chooses from a tiny pool, loads the features, and only then looks
at the clock and at the memory (Linux: its peak is set back, so that nothing from before counts).
"""

from __future__ import annotations

import ctypes
import json
import signal
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.memory import forget_peak, megabytes
from benchmarks.result_files import CODE, code_digest
from benchmarks.selection_contenders import BARE, CONTENDERS, DENSE, PACKAGES
from benchmarks.selection_pools import Case, Pool, clustered
from model.arrays import Rows
from model.coverage import coverage

TINY = 1_100  # rows of the pool that loads the libraries; with fewer, ours would not load torch
MADE_BY = (
    "benchmarks/selection_contenders.py",
    "benchmarks/selection_measuring.py",
    "benchmarks/selection_pools.py",
    "model/radius.py",
)
OURS_PATIENCE, PEER_PATIENCE = 7_200, 900  # seconds

Figures = dict[str, Any]  # what a measuring process sends back


@dataclass(frozen=True)
class Request:
    """What a measuring process is asked; no graph and no radius = none is at hand."""

    data: str
    n: int
    batch: int
    labels: int
    contender: str
    features: str
    graph: str | None
    radius: float | None

    @property
    def case(self) -> Case:
        return Case(self.data, self.n, self.batch, self.labels)


def code_of(contender: str) -> str:
    """Of all that decides its figures; those of others stay when only ours has changed."""
    others = (DENSE, BARE, *PACKAGES)
    return code_digest(MADE_BY if contender in others else (*MADE_BY, "model"))


def asked(request: Request) -> Figures | None:
    """The figures from a new process, or its failure; None if somebody else stopped it."""
    code = code_of(request.contender)  # as it is now: it may be edited while this takes hours
    figures = answered(request)
    return None if figures is None else figures | {CODE: code}


def answered(request: Request) -> Figures | None:
    patience = PEER_PATIENCE if request.contender in (DENSE, *PACKAGES) else OURS_PATIENCE
    command = [sys.executable, "-m", "benchmarks.selection_measuring"]
    try:
        done = subprocess.run(  # noqa: S603 - ourselves
            [*command, json.dumps(asdict(request))],
            capture_output=True,
            text=True,
            timeout=patience,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"failure": f"not done after {patience} s"}
    if done.returncode == -signal.SIGTERM:
        return None
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:]
        return {"failure": f"exit code {done.returncode}: {''.join(last)}"}
    figures: Figures = json.loads(done.stdout.splitlines()[-1])
    return figures


def measure(request: Request) -> Figures:
    """Choose once, with everything loaded that is not part of choosing."""
    choose = CONTENDERS[request.contender]
    choose(Pool.of(Case("clustered", TINY, batch=2), next(clustered(TINY))))
    pool = Pool.of(request.case, np.load(request.features), request.radius)
    ctypes.CDLL(None).malloc_trim(0)  # memory that is free but still ours would be used unseen
    before = megabytes("VmRSS")
    if request.graph:  # counts as memory, not as time
        from model.neighbours import NeighbourGraph

        pool = replace(pool, graph=NeighbourGraph.load(Path(request.graph)))
    forget_peak()
    started = time.perf_counter()
    chosen = choose(pool)
    seconds = time.perf_counter() - started
    used = megabytes("VmHWM") - before
    return {
        "d": pool.features.shape[1],
        "radius": pool.radius,
        "seconds": round(seconds, 4),
        "megabytes": round(used, 1),
        "evaluations": chosen.evaluations,
        "gains": float(chosen.gains.sum()),
        "error_bound": chosen.error,
        "exact_gains": exact_gains(pool, chosen.rows) if chosen.error > 0.0 else None,
        "picks": chosen.rows.tolist(),
        "gain_of_each": chosen.gains.tolist(),
    }


def exact_gains(pool: Pool, rows: Rows) -> float:
    """By how much the picks raise the coverage of the whole pool, where ours only estimates it."""
    if len(pool.labeled) == 0:
        return coverage(pool.features, pool.uncertainty, rows, pool.radius)
    from model.gaussian_pool import GaussianPool

    points = np.flatnonzero(pool.uncertainty > 0)
    raised = GaussianPool(pool.features, pool.radius, points).covered_by(rows)
    covered = np.zeros(len(points))
    for labels in np.array_split(pool.labeled, -(-len(pool.labeled) // 10_000)):
        # Most points are nearer to one of the first labels than to any pick: no need to go on.
        left = np.flatnonzero(raised > covered)
        nearest = GaussianPool(pool.features, pool.radius, points[left]).covered_by(labels)
        covered[left] = np.maximum(covered[left], nearest)
    return float(pool.weights[points] @ np.maximum(raised - covered, 0.0))


if __name__ == "__main__":
    sys.stdout.write("\n" + json.dumps(measure(Request(**json.loads(sys.argv[1])))) + "\n")
