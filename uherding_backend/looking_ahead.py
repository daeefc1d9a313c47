"""After the first queue is shown: what the next round will want to know of the pool.

Annotators label meanwhile. The first labels are those of the queue, so that the neighbour graph
can be built around these images before they are labelled.
"""

from __future__ import annotations

import logging

import numpy as np

from model.names import READS_GRAPH
from uherding_backend.labels import ProjectId
from uherding_backend.outcome import load_outcome, outcome_path
from uherding_backend.pool_graph import PoolGraph, graph_pays
from uherding_backend.project_extractor import stored_features
from uherding_backend.store import Round, Store

log = logging.getLogger(__name__)

EXPECTED = 20  # labels of the next round that are counted on, at least


def look_ahead(store: Store, project: ProjectId, round_size: int) -> None:
    """Build the graph around the head of the first queue; if that fails, the next round does it.

    Args:
        store: Everything that is kept.
        project: Whose queue is shown now.
        round_size: New labels that make the next round due.
    """
    try:
        published = store.rounds.last_published(project)
        if published is None or not _worthwhile(published):
            return
        if _prepare_graph(store, published, max(EXPECTED, round_size // 2)):
            log.info("project %d: found which images are near, for the rounds to come", project)
    except Exception:
        log.exception("project %d: cannot find which images are near", project)


def _worthwhile(round_: Round) -> bool:
    """Whether the next round gains; those with labels have built their graph themselves."""
    report = round_.report
    return (
        report["labels"] == report.get("audit_labels", 0)
        and report.get("strategy") in READS_GRAPH
        and graph_pays(report["pool"], EXPECTED)
    )


def _prepare_graph(store: Store, round_: Round, count: int) -> bool:
    row_of = load_outcome(outcome_path(store, round_.project, round_.id)).tasks
    queue = [row_of[one.task] for one in store.rounds.queue(round_.id) if not one.audit]
    features = stored_features(store, round_, list(row_of))
    expected = np.array(queue[:count], dtype=np.int64)
    return PoolGraph(store.project_dir(round_.project), features).prepare(expected)
