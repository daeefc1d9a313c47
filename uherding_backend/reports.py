"""What a round found -> the queue and the report that are stored. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from model.duplicates import NOT_A_COPY
from model.greedy import Selection
from model.pipeline import Ranking
from uherding_backend.labels import Labels, TaskId
from uherding_backend.options import Options
from uherding_backend.pool_features import Pool
from uherding_backend.store.rounds import QueueEntry


def queue_order(tasks: Sequence[TaskId], selection: Selection) -> list[TaskId]:
    """The one place where pool rows become Label Studio task ids again."""
    return [tasks[row] for row in selection.rows]


def queue_entries(
    tasks: Sequence[TaskId], classes: Sequence[str], ranking: Ranking
) -> list[QueueEntry]:
    """The queue, best task first, with what makes each task worth a label."""
    entries = []
    selection = ranking.selection
    for task, row, gain in zip(
        queue_order(tasks, selection), selection.rows, selection.gains, strict=True
    ):
        best = int(ranking.probabilities[row].argmax())
        entries.append(
            QueueEntry(
                task=task,
                gain=float(gain),
                uncertainty=float(ranking.uncertainty[row]),
                predicted=classes[best] if ranking.classifier else "",
                probability=float(ranking.probabilities[row, best]),
            )
        )
    return entries


def round_report(pool: Pool, labels: Labels, options: Options, ranking: Ranking) -> dict[str, Any]:
    """The figures of a round; docs/rounds.md says what each one means."""
    queued = len(ranking.selection.rows)
    out_of_reach = len(labels.classes.keys() | labels.set_aside)
    return {
        "pool": len(pool.tasks),
        "unreadable": pool.unreadable,
        "labels": len(labels.classes),
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
