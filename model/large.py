"""Selection from a large pool: which of the ways to find the gains is the shortest."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch

from model.arrays import Features, Mask, Rows
from model.errors import ModelError
from model.foreseen import ForeseenCoverage
from model.gaussian_pool import GaussianPool
from model.greedy import Objective, Selection, maximise
from model.kept_pool import KeptPool
from model.neighbours import BYTES_IN_USE, MOST_OPEN, NeighbourGraph
from model.objectives import Covered, DenseCoverage, PairedCoverage, Weights
from model.pairs import PAIR_BYTES, Pairs, merged
from model.sweep import PairsAbove, share_above, sweep

EXACT_UP_TO = 250_000  # rows; beyond, the points are a random sample
SAMPLE = 8_192  # points of that sample
DOUBT = 0.01  # probability that the error bound of a sample does not hold
FEW = 0.05  # share of all pairs that is kept rather than all of them
FILLED = 0.8  # share of the memory that what is kept may take
SIMILARITY_BYTES = 4
SWEPT = 0.5  # share of the progress that is done after a sweep


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be chosen from; meanings as in `select`."""

    features: Features
    weights: Weights
    labeled: Rows
    available: Mask
    count: int
    radius: float
    tie: float


def choose(
    task: Task,
    *,
    graph: NeighbourGraph | None,
    memory: int,
    on_progress: Callable[[float], None],
) -> Selection:
    """The greedy choice, by the shortest way; arguments as in `select`."""
    if graph is not None and len(graph.reach) != len(task.features):
        raise ModelError(
            f"The neighbour graph is of {len(graph.reach)} rows, the pool has "
            f"{len(task.features)}; build it from these features."
        )
    on_progress = _never_back(on_progress)
    selection = None if graph is None else _by_graph(task, graph, memory)
    if selection is None and len(task.features) > EXACT_UP_TO:
        selection = _by_sample(task, on_progress)
    if selection is None:
        selection = _by_sweep(task, memory, on_progress)
    on_progress(1.0)
    return selection


def _never_back(on_progress: Callable[[float], None]) -> Callable[[float], None]:
    """The same, whatever it is called with: another sweep may begin when half is done."""
    most = 0.0

    def forward(done: float) -> None:
        nonlocal most
        most = max(most, done)
        on_progress(most)

    return forward


def _by_sweep(task: Task, memory: int, on_progress: Callable[[float], None]) -> Selection:
    """Look at all pairs of the rows that count or can be chosen, and keep what can be kept."""
    pool = GaussianPool(task.features, task.radius)
    covered = pool.covered_by(task.labeled)
    concerned = np.flatnonzero((task.weights > 0) | task.available)
    pool = pool.of_rows(concerned)
    task = replace(task, weights=task.weights[concerned], available=task.available[concerned])
    objective = _objective(task, pool, covered[concerned], memory, on_progress)
    chosen = maximise(
        objective, task.available, task.count, lambda done: on_progress(SWEPT + (1 - SWEPT) * done)
    )
    return Selection(concerned[chosen.rows], chosen.gains, pool.effort.similarities)


def _objective(
    task: Task,
    pool: GaussianPool,
    covered: Covered,
    memory: int,
    on_progress: Callable[[float], None],
) -> Objective:
    def swept(done: float) -> None:
        on_progress(SWEPT * done)

    every_pair = len(pool) ** 2
    pairs = share_above(pool, covered) * every_pair
    if pairs <= min(FEW * every_pair, FILLED * memory / PAIR_BYTES):
        near = PairsAbove(pool, covered)
        sweep(pool, [near], swept)
        return PairedCoverage(pool, task.weights, covered, task.tie, near.pairs())
    if every_pair * SIMILARITY_BYTES <= FILLED * memory:
        return DenseCoverage(KeptPool(pool), task.weights, covered, task.tie)
    return ForeseenCoverage(
        pool,
        task.weights,
        covered,
        task.tie,
        available=task.available,
        count=min(task.count, int(task.available.sum())),
        memory=memory,
        on_progress=swept,
    )


def _by_graph(task: Task, graph: NeighbourGraph, memory: int) -> Selection | None:
    """Pairs from the graph; points whose nearest label is out of reach meet all rows.

    None if there are too many of these, or if there is no place for the pairs.
    """
    if len(graph.pairs) * BYTES_IN_USE > memory:
        return None
    squared = graph.squared_to_labels(task.features, task.labeled)
    open_points = np.flatnonzero(np.isinf(squared) & (task.weights > 0))
    if len(open_points) > MOST_OPEN * len(squared):
        return None
    pool = GaussianPool(task.features, task.radius)
    within = (task.weights > 0) & np.isfinite(squared)
    pairs = graph.nearer_than(np.where(within, squared, -np.inf), task.radius)
    covered = np.exp(-squared / task.radius**2)
    if len(open_points) > 0:
        some = GaussianPool(task.features, task.radius, open_points)
        covered[open_points] = some.covered_by(task.labeled)
        pairs = merged(pairs, _pairs_of(some, covered[open_points]))
        pool.effort.add(some.effort.similarities)
    objective = PairedCoverage(pool, task.weights, covered, task.tie, pairs)
    chosen = maximise(objective, task.available, task.count)
    return replace(chosen, evaluations=pool.effort.similarities)


def _pairs_of(some: GaussianPool, covered: Covered) -> Pairs:
    """Pairs of all rows with these few points, computed one after the other."""
    rows, points, similarities = [], [], []
    floor = torch.from_numpy(covered.astype(np.float32)).to(some.device)
    for part, block in some.upper_rows(np.arange(len(some))):
        row, point = (block > floor).nonzero(as_tuple=True)
        similarities.append(block[row, point].cpu().numpy())
        rows.append(row.cpu().numpy() + part.start)
        points.append(some.points[point.cpu().numpy()].astype(np.int32))
    counts = np.bincount(np.concatenate(rows), minlength=len(some))
    starts = np.concatenate([[0], np.cumsum(counts)])
    return Pairs(starts, np.concatenate(points), np.concatenate(similarities))


def _by_sample(task: Task, on_progress: Callable[[float], None]) -> Selection:
    """Only a random sample of the points is covered; gains and coverage are estimates."""
    weighty = np.flatnonzero(task.weights > 0)
    points = np.sort(np.random.default_rng(0).permutation(weighty)[:SAMPLE])
    scale = len(weighty) / max(1, len(points))
    pool = GaussianPool(task.features, task.radius, points)
    covered = pool.covered_by(task.labeled)
    objective = DenseCoverage(pool, task.weights[points] * scale, covered, task.tie)
    chosen = maximise(objective, task.available, task.count, on_progress)
    largest = float(task.weights.max(initial=0.0)) * len(weighty)
    if len(points) == len(weighty):
        largest = 0.0  # nothing was left out
    error = largest * sampling_error(len(points), len(task.features), len(chosen.rows))
    return replace(chosen, evaluations=pool.effort.similarities, error=error)


def sampling_error(sample: int, rows: int, batch: int) -> float:
    """How far the mean of values from 0 to 1 over a sample may be off, for every batch at once.

    Hoeffding's bound for each of the (e rows / batch) ^ batch batches there are at most. The
    paper's Theorem 1 has the same form, for batches from a continuum of points; for the finite
    pool this one is smaller.
    """
    if sample == 0 or batch == 0:
        return 0.0
    batches = batch * np.log(np.e * rows / batch)
    return float(np.sqrt((batches + np.log(2.0 / DOUBT)) / (2.0 * sample)))
