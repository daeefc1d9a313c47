"""Uncertainty coverage and its greedy maximiser: exact, for pools of a few to some 100,000 images.

Coverage of a set S is the mean over the pool of U(x) * max over s in S of k(x, s). Adding a row
raises it by its gain. `select` chooses how the gains are found; the picks are the same.

| pool                                         | how the gains are found                         |
|----------------------------------------------|-------------------------------------------------|
| a neighbour graph and labels are at hand      | pairs of the graph that are nearer than a label |
| all similarities fit into the memory          | kept                                            |
| few pairs matter, because there are labels    | one sweep over all pairs, keeping those         |
| many pairs matter                             | foreseen: picks are guessed, one sweep proves   |
| more than EXACT_UP_TO rows                    | points are a random sample: an estimate         |
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from model.arrays import Features, Mask, Rows, Uncertainty
from model.errors import ModelError
from model.greedy import Selection, ignore, maximise
from model.kernels import GaussianKernel, Kernel, PoolDistances, blocks, similarities

if TYPE_CHECKING:
    from model.neighbours import NeighbourGraph

TIE = 1e-12  # gains closer than this share of the mean uncertainty are equal: lowest row wins
SMALL = 1_000  # rows up to which float64 throughout is fastest
MEMORY = 2_000_000_000  # bytes that a selection may use beside the features


def select(  # noqa: PLR0913 (only three are arrays; the rest have names at every call)
    features: Features,
    uncertainty: Uncertainty,
    labeled: Rows,
    *,
    count: int,
    radius: float,
    candidates: Mask | None = None,
    distances: PoolDistances | None = None,
    graph: "NeighbourGraph | None" = None,
    memory: int = MEMORY,
    on_progress: Callable[[float], None] = ignore,
) -> Selection:
    """Choose the rows that raise the uncertainty coverage of the pool most, one after the other.

    Ties go to the lowest row, so that uncertainty 0 everywhere gives the rows in their order.

    Args:
        features: The whole pool, labelled rows included.
        uncertainty: 0 = the classifier is sure, 1 = it cannot tell two classes apart.
        labeled: Rows that are covered already and never chosen.
        count: How many rows to choose; all that are available if there are fewer.
        radius: Distance, in feature units, at which similarity has fallen to 1/e.
        candidates: False for rows that must not be chosen; they still want to be covered.
        distances: Of this pool, if they are at hand; the same rows are chosen sooner.
        graph: Of this pool, if it is at hand; with labels it saves nearly all the work.
        memory: Bytes that may be used beside the features, about; less takes longer.
        on_progress: Called with the share that is done.
    """
    _check_pool(features, uncertainty, radius)
    if distances is not None or len(features) <= SMALL:
        kernel = GaussianKernel(features, radius, distances)
        chosen = select_by(kernel, uncertainty, labeled, count=count, candidates=candidates)
        on_progress(1.0)
        return chosen
    from model.large import Task, choose  # torch is loaded only when it is needed

    available = _available(len(features), labeled, candidates)
    weights = uncertainty.astype(np.float64) / len(features)
    task = Task(features, weights, labeled, available, count, radius, TIE * float(weights.sum()))
    return choose(task, graph=graph, memory=memory, on_progress=on_progress)


def select_by(
    kernel: Kernel,
    uncertainty: Uncertainty,
    labeled: Rows,
    *,
    count: int,
    candidates: Mask | None = None,
) -> Selection:
    """The same greedy choice with any kernel; arguments as in `select`."""
    from model.objectives import KernelCoverage

    available = _available(kernel.size, labeled, candidates)
    weights = uncertainty / max(1, kernel.size)
    covered = np.zeros(kernel.size)
    for block in blocks(len(labeled), kernel.size):
        similarity = kernel.block(labeled[block])  # (labelled, n)
        np.maximum(covered, similarity.max(axis=0, initial=0.0), out=covered)
    objective = KernelCoverage(kernel, weights, covered, TIE * float(weights.sum()))
    return maximise(objective, available, count)


def coverage(features: Features, uncertainty: Uncertainty, chosen: Rows, radius: float) -> float:
    """The objective itself: mean over the pool of uncertainty x similarity to the nearest chosen.

    0 = nothing is covered (nothing chosen), mean(uncertainty) = every uncertain item is covered.
    """
    _check_pool(features, uncertainty, radius)
    if len(features) == 0:
        return 0.0
    if len(features) > SMALL:
        from model.gaussian_pool import GaussianPool

        nearest = GaussianPool(features, radius).covered_by(chosen)
    else:
        nearest = _nearest_similarity(features, chosen, radius)
    return float(np.mean(uncertainty * nearest))


def _nearest_similarity(features: Features, chosen: Rows, radius: float) -> NDArray[np.float64]:
    """Similarity of every point to the chosen point nearest to it, (n,); 0 if none is chosen."""
    points = features.astype(np.float64)
    nearest = np.zeros(len(points))
    if len(chosen) == 0:
        return nearest
    for block in blocks(len(points), len(chosen)):
        nearest[block] = similarities(points[block], points[chosen], radius).max(axis=1)
    nearest[chosen] = 1.0
    return nearest


def _available(count: int, labeled: Rows, candidates: Mask | None) -> Mask:
    available = np.ones(count, dtype=np.bool_) if candidates is None else candidates.copy()
    if available.shape != (count,):
        raise ModelError(
            f"candidates must hold one True or False for each of the {count} rows of the pool, "
            f"got an array of shape {available.shape}."
        )
    available[labeled] = False
    return available


def _check_pool(features: Features, uncertainty: Uncertainty, radius: float) -> None:
    if features.ndim != 2 or uncertainty.shape != (len(features),):
        raise ModelError(
            "The pool needs features of shape (n, d) and one uncertainty for each row, got "
            f"shapes {features.shape} and {uncertainty.shape}."
        )
    if not (radius > 0 and np.isfinite(radius)):
        raise ModelError(f"The radius must be a positive distance, got {radius}.")
    if not np.isfinite(features).all():
        raise ModelError("The features hold values that are not finite; extract them again.")
    if not (np.isfinite(uncertainty).all() and (uncertainty >= 0).all()):
        raise ModelError("Every uncertainty must be a finite number of at least 0.")
