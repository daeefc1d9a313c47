"""What is known of a round and of its queue, as plain records."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, NewType

from uherding_backend.labels import ProjectId, TaskId

RoundId = NewType("RoundId", int)
ROUND = "*, json_extract(insights, '$.measured.held_out.value') AS held_out"  # for round_of


class RoundState(Enum):
    """Where a round stands; a killed process leaves one of these, never something between."""

    DUE = "due"
    RUNNING = "running"
    PUBLISHED = "published"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Round:
    """One retraining and the queue that came of it.

    Attributes:
        step: What a running round is doing.
        progress: How far that step is, from 0 to 1.
        version: Label Studio's model_version of the queue; empty until the ranking is stored.
        error: Why it failed and what to do; empty otherwise.
        report: What was measured; see docs/rounds.md.
        accuracy: On held-out labels, each counted once; what the report has where a round of an
            earlier release stored no other. None if it was not measured.
        step_started_at: When a running round began its step, in seconds since the epoch.
    """

    id: RoundId
    project: ProjectId
    state: RoundState
    reason: str
    requested_at: float
    started_at: float | None
    finished_at: float | None
    step: str
    progress: float
    version: str
    error: str
    report: Mapping[str, Any]
    accuracy: float | None
    step_started_at: float | None


@dataclass(frozen=True, slots=True)
class QueueEntry:
    """A task in the queue and why it is there; the position in the list is its rank.

    Attributes:
        predicted: The likeliest class; empty without a classifier.
        second: The next likeliest class; empty if there is none.
        company: Images like this one that have no label near them.
        audit: Whether it was drawn at random, to be judged by and not trained on.
    """

    task: TaskId
    gain: float
    uncertainty: float
    predicted: str
    probability: float
    second: str = ""
    second_probability: float = 0.0
    company: int = 0
    audit: bool = False


@dataclass(frozen=True, slots=True)
class History:
    """One point of a project's curves."""

    id: RoundId
    finished_at: float
    report: Mapping[str, Any]
    measured: Mapping[str, Any]


def round_of(row: sqlite3.Row) -> Round:
    """What a row of the table of rounds says, read with the columns ROUND."""
    report = json.loads(row["report"])
    held_out = row["held_out"]
    return Round(
        id=RoundId(row["id"]),
        project=ProjectId(row["project_id"]),
        state=RoundState(row["state"]),
        reason=row["reason"],
        requested_at=row["requested_at"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
        step=row["step"],
        progress=row["progress"],
        version=row["version"],
        error=row["error"],
        report=report,
        accuracy=report.get("accuracy") if held_out is None else held_out,
        step_started_at=row["step_started_at"],
    )


def entry_of(row: sqlite3.Row) -> QueueEntry:
    """What a row of the table of queues says."""
    return QueueEntry(
        TaskId(row["task_id"]),
        row["gain"],
        row["uncertainty"],
        row["predicted"],
        row["probability"],
        row["second"],
        row["second_probability"],
        row["company"],
        bool(row["audit"]),
    )
