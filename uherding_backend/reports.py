"""What a round found -> the queue and the report that are stored. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from model.arrays import Rows
from model.duplicates import NOT_A_COPY
from model.greedy import Selection
from model.pipeline import Ranking
from model.surroundings import unlabeled_company
from uherding_backend.auditing import interleave
from uherding_backend.labels import Labels, TaskId
from uherding_backend.options import Options
from uherding_backend.pool_features import Pool
from uherding_backend.store.round_records import QueueEntry


def queue_order(tasks: Sequence[TaskId], selection: Selection) -> list[TaskId]:
    """The one place where pool rows become Label Studio task ids again."""
    return [tasks[row] for row in selection.rows]


def queue_entries(
    pool: Pool, classes: Sequence[str], ranking: Ranking, drawn: Sequence[TaskId], labeled: Rows
) -> list[QueueEntry]:
    """The queue, best task first, with what makes each task worth a label.

    Args:
        pool: That was ranked.
        classes: Names, by class id.
        ranking: What came of it.
        drawn: Tasks for the audit, which are spread among the chosen ones.
        labeled: Rows that were trained on.
    """
    row_of = {task: row for row, task in enumerate(pool.tasks)}
    chosen = [
        (row_of[task], float(gain), False)
        for task, gain in zip(
            queue_order(pool.tasks, ranking.selection), ranking.selection.gains, strict=True
        )
    ]
    queue = interleave(chosen, [(row_of[task], 0.0, True) for task in drawn])
    rows = np.array([row for row, _, _ in queue], dtype=np.int64)
    company = unlabeled_company(pool.features, rows, labeled, ranking.radius)
    return [
        replace(
            _entry(pool.tasks[row], classes, ranking, row),
            gain=gain,
            company=int(company[rank]),
            audit=audit,
        )
        for rank, (row, gain, audit) in enumerate(queue)
    ]


def _entry(task: TaskId, classes: Sequence[str], ranking: Ranking, row: int) -> QueueEntry:
    probabilities = ranking.probabilities[row]
    best, second = np.argsort(-probabilities, kind="stable")[:2]
    known = ranking.classifier is not None
    return QueueEntry(
        task=task,
        gain=0.0,
        uncertainty=float(ranking.uncertainty[row]),
        predicted=classes[best] if known else "",
        probability=float(probabilities[best]),
        second=classes[second] if known and probabilities[second] > 0 else "",
        second_probability=float(probabilities[second]) if known else 0.0,
    )


def round_report(
    pool: Pool,
    labels: Labels,
    options: Options,
    ranking: Ranking,
    *,
    queued: int,
    apart: frozenset[TaskId],
) -> dict[str, Any]:
    """The figures of a round; docs/rounds.md says what each one means.

    Args:
        pool: That was ranked.
        labels: There are, those of the audit slice included.
        options: Of the project.
        ranking: What came of it.
        queued: Tasks in the queue.
        apart: The audit slice.
    """
    out_of_reach = len(labels.classes.keys() | labels.set_aside)
    return {
        "pool": len(pool.tasks),
        "unreadable": pool.unreadable,
        "labels": len(labels.classes),
        "audit_tasks": len(apart),
        "audit_labels": len(apart & labels.classes.keys()),
        "set_aside": len(labels.set_aside),
        "disagreements": labels.disagreements,
        "unknown_classes": labels.unknown_classes,
        "queue": queued,
        "left_out": max(0, len(pool.tasks) - out_of_reach - queued),
        "near_duplicates": int((pool.copies != NOT_A_COPY).sum()),
        "features": pool.extractor.name,
        "extractor": pool.extractor.version,
        "strategy": options.strategy,
        "classifier": options.classifier,
        "temperature": ranking.temperature,
        "ece_before": ranking.calibration.ece_before,
        "ece_after": ranking.calibration.ece_after,
        "accuracy": ranking.calibration.accuracy,
        "radius": ranking.radius,
        "coverage": ranking.coverage,
        "warnings": list(ranking.warnings),
    }
