"""Who chooses in `benchmarks.selection`: ours, the plain loop, and peers."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.selection_pools import Pool
from model.arrays import NO_ROWS
from model.coverage import TIE, select
from model.greedy import Selection

OURS, READY, BUILT = "ours", "ours, graph ready", "ours, graph built"
DENSE, APRICOT, SUBMODLIB = "dense loop", "apricot", "submodlib"
SCIKIT_ACTIVEML, BARE = "scikit-activeml", "bare pass"
PACKAGES = {APRICOT: "apricot", SCIKIT_ACTIVEML: "skactiveml", SUBMODLIB: "submodlib"}
UNWEIGHTED = (SCIKIT_ACTIVEML,)  # knows no uncertainty, and so with labels solves another problem


def ours(pool: Pool) -> Selection:
    return select(
        pool.features,
        pool.uncertainty,
        pool.labeled,
        count=pool.count,
        radius=pool.radius,
        graph=pool.graph,
    )


def ours_with_graph_built(pool: Pool) -> Selection:
    from model.neighbours import NeighbourGraph

    graph = NeighbourGraph.around(pool.features, pool.labeled)
    if graph is None and len(pool.labeled) > 0:
        raise SystemExit("There is no place for the graph.")
    return ours(replace(pool, graph=graph))


def bare_pass(pool: Pool) -> Selection:
    """The yardstick: every pair once, one product and one exponential, nothing kept."""
    import torch

    side = 512
    points = torch.from_numpy(pool.features)
    scaled = points * (2.0 / pool.radius**2)
    memory = torch.empty(side * side)
    computed = 0
    for start in range(0, len(points), side):
        left = scaled[start : start + side]
        for other in range(start, len(points), side):
            right = points[other : other + side]
            size = len(left) * len(right)
            torch.mm(left, right.T, out=memory[:size].view(len(left), len(right))).exp_()
            computed += size
    return Selection(NO_ROWS, np.empty(0), computed)


def dense_loop(pool: Pool) -> Selection:
    """The paper's algorithm as it is written: the oracle. Equal gains: the lowest row, as ours."""
    kernel = similarities(pool, slice(0, len(pool.features)))
    covered = kernel[pool.labeled].max(axis=0, initial=0.0)
    taken = np.zeros(len(kernel))
    taken[pool.labeled] = -np.inf
    tie = TIE * pool.weights.sum()
    rows, gains = [], []
    for _ in range(pool.count):
        gain = np.maximum(kernel - covered, 0.0) @ pool.weights + taken
        best = int(np.argmax(gain >= gain.max() - tie))
        rows.append(best)
        gains.append(gain[best])
        taken[best] = -np.inf
        covered = np.maximum(covered, kernel[best])
    return Selection(np.array(rows), np.array(gains), kernel.size)


def similarities(pool: Pool, part: slice) -> NDArray[np.float64]:
    """Of some rows to all, (part, n), in float64."""
    points = pool.features.astype(np.float64)
    lengths = np.einsum("nd,nd->n", points, points)
    exponents = points[part] @ points.T
    exponents *= 2.0
    exponents -= lengths[part, None]
    exponents -= lengths
    exponents /= pool.radius**2
    np.minimum(exponents, 0.0, out=exponents)
    exponents[np.arange(len(exponents)), np.arange(part.start, part.stop)] = 0.0
    return np.exp(exponents, out=exponents)


def apricot(pool: Pool) -> Selection:
    """Facility location, lazily; rows of its matrix are candidates, columns are points.

    Released 0.6.1 runs with numpy 2 as it is. It compiles its loops anew in every fit, which
    takes seconds and which no first call can take off the clock. It works in float64 and copies
    anything else.
    """
    matrix = similarities(pool, slice(0, len(pool.features)))
    matrix *= pool.weights
    selector = importlib.import_module("apricot").FacilityLocationSelection(
        pool.count,
        metric="precomputed",
        optimizer="lazy",
        initial_subset=pool.labeled if len(pool.labeled) else None,
    )
    selector.fit(matrix)
    return Selection(selector.ranking.astype(np.int64), selector.gains, matrix.size)


def scikit_activeml(pool: Pool) -> Selection:
    """MaxHerding on the float32 features as they are: float64 takes twice as long with labels."""
    known = np.full(len(pool.features), np.nan)
    known[pool.labeled] = 0.0
    strategy = importlib.import_module("skactiveml.pool").MaxHerding(
        normalize_samples=False,
        metric="rbf",
        metric_dict={"gamma": 1.0 / pool.radius**2},
        random_state=0,
    )
    rows, utilities = strategy.query(
        pool.features, known, batch_size=pool.count, return_utilities=True
    )
    candidates = len(pool.features) - len(pool.labeled)
    gains = utilities[np.arange(len(rows)), rows] * candidates / len(pool.features)
    return Selection(rows.astype(np.int64), gains, candidates**2)


def submodlib(pool: Pool) -> Selection:
    """Facility location in C++, lazily, in float32.

    It cannot start from labels. What they cover is taken off the similarities instead, which
    leaves all gains as they are; its rows are points, its columns are candidates.
    """
    n = len(pool.features)
    free = np.setdiff1d(np.arange(n), pool.labeled)
    matrix = np.empty((n, len(free)), dtype=np.float32)
    for start in range(0, n, 1_000):
        part = slice(start, min(n, start + 1_000))
        similar = similarities(pool, part)
        similar -= similar[:, pool.labeled].max(axis=1, initial=0.0)[:, None]
        similar *= pool.weights[part, None]
        np.maximum(similar[:, free], 0.0, out=matrix[part], casting="same_kind")
    function = importlib.import_module("submodlib").FacilityLocationFunction(
        n=len(free), mode="dense", separate_rep=True, n_rep=n, sijs=matrix, pybind_mode="array32"
    )
    chosen = function.maximize(budget=pool.count, optimizer="LazyGreedy", show_progress=False)
    rows = free[[row for row, _ in chosen]]
    return Selection(rows, np.array([gain for _, gain in chosen]), matrix.size)


CONTENDERS: dict[str, Callable[[Pool], Selection]] = {
    DENSE: dense_loop,
    OURS: ours,
    READY: ours,
    BUILT: ours_with_graph_built,
    BARE: bare_pass,
    APRICOT: apricot,
    SCIKIT_ACTIVEML: scikit_activeml,
    SUBMODLIB: submodlib,
}
