"""A round's queue + what Label Studio shows now -> the calls it needs. Pure and idempotent."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from uherding_backend.label_config import LabelSchema
from uherding_backend.labels import ProjectId
from uherding_backend.predictions import choice_result, queue_score
from uherding_backend.store.round_records import QueueEntry, RoundId

PREFIX = "uherding-"


@dataclass(frozen=True, slots=True)
class Upload:
    """Store these predictions; nobody sees them yet."""

    predictions: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Switch:
    """Show this version to annotators: one call, all at once."""

    version: str


def version_name(project: ProjectId, round_id: RoundId, attempt: str) -> str:
    """A model_version that was never used before: reusing one would mix two queues."""
    return f"{PREFIX}p{project}-r{round_id:04d}-{attempt}"


def plan(
    predictions: Sequence[Mapping[str, Any]], version: str, *, uploaded: int, shown: str
) -> list[Upload | Switch] | None:
    """What is left to do until annotators get this queue.

    Args:
        predictions: The queue as Label Studio stores it.
        version: The queue's model_version.
        uploaded: How many predictions of that version Label Studio already has.
        shown: The model_version that annotators get now.

    Returns:
        The calls in order, none if all is done; None if an earlier upload stopped half-way, so
        that the version is spoilt and the queue needs another name.
    """
    if not predictions or shown == version:
        return []
    if uploaded == len(predictions):
        return [Switch(version)]
    if uploaded:
        return None
    return [Upload(tuple(predictions)), Switch(version)]


def queue_predictions(
    queue: Sequence[QueueEntry], schema: LabelSchema, version: str, *, prelabel: bool
) -> list[dict[str, Any]]:
    """The queue as predictions; an empty result leaves the annotator's form unticked."""
    return [
        {
            "task": entry.task,
            "result": (
                choice_result(schema, entry.predicted, entry.probability)
                if prelabel and entry.predicted and not entry.audit  # a ticked box would bias it
                else []
            ),
            "score": queue_score(rank, len(queue)),
            "model_version": version,
        }
        for rank, entry in enumerate(queue)
    ]


def stale_versions(
    stored: Mapping[str, int], project: ProjectId, kept: Collection[str]
) -> list[str]:
    """Our own versions that may go: all but the kept ones; other people's stay."""
    mine = f"{PREFIX}p{project}-"
    return sorted(v for v in stored if v.startswith(mine) and v not in kept)
