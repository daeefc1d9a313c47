"""After the first queue is shown: what the next round will want to know of the pool.

Annotators label meanwhile. The first labels are those of the queue, so that the neighbour graph
can be built around these images before they are labelled.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from model.names import READS_GRAPH
from uherding_backend.outcome import load_outcome, outcome_path
from uherding_backend.pool_graph import PoolGraph, graph_pays
from uherding_backend.project_extractor import stored_features
from uherding_backend.store import Round, Store

EXPECTED = 20  # labels of the next round that are counted on, at least


def worth_looking_ahead(round_: Round) -> bool:
    """Whether the next round gains; those with labels have built their graph themselves."""
    report = round_.report
    return (
        report["labels"] == report.get("audit_labels", 0)
        and report.get("strategy") in READS_GRAPH
        and graph_pays(report["pool"], EXPECTED)
    )


def look_ahead(
    store: Store, round_: Round, round_size: int, on_progress: Callable[[float], None]
) -> None:
    """Build the graph around the head of the queue.

    Args:
        store: Everything that is kept.
        round_: Whose queue is shown now.
        round_size: New labels that make the next round due.
        on_progress: Called with the share that is done.
    """
    row_of = load_outcome(outcome_path(store, round_.project, round_.id)).tasks
    queue = [row_of[one.task] for one in store.rounds.queue(round_.id) if not one.audit]
    expected = np.array(queue[: max(EXPECTED, round_size // 2)], dtype=np.int64)
    features = stored_features(store, round_, list(row_of))
    PoolGraph(store.project_dir(round_.project), features, on_progress).prepare(expected)
