"""Rounds: due -> running -> published or failed, and the queue each one made."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import astuple
from typing import Any

from uherding_backend.labels import ProjectId, TaskId
from uherding_backend.store.counts import LAST_PUBLISHED, count_labels
from uherding_backend.store.database import Database
from uherding_backend.store.project_records import DOUBT_TASKS
from uherding_backend.store.round_records import (
    ROUND,
    History,
    QueueEntry,
    Round,
    RoundId,
    entry_of,
    round_of,
)

REQUEST = (
    "INSERT OR IGNORE INTO rounds (project_id, state, reason, requested_at) VALUES (?, 'due', ?, ?)"
)
_MEASURED = "gain, uncertainty, predicted, probability, second, second_probability, company, audit"


class RoundStore:
    """Rounds, requested by anyone, run by the worker."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def request(self, project: ProjectId, reason: str, now: float) -> bool:
        """Ask for a round; False if one is already waiting, which will then do for both."""
        return bool(self._database.write(REQUEST, project, reason, now))

    def ask(self, project: ProjectId, reason: str, now: float) -> bool:
        """The same for somebody who wants a round now: it lists the tasks, whatever is known."""
        with self._database.writing() as connection:
            connection.execute(DOUBT_TASKS, (project,))
            return bool(connection.execute(REQUEST, (project, reason, now)).rowcount)

    def take(self, now: float) -> Round | None:
        """Start the round that has waited longest, if there is one."""
        with self._database.writing() as connection:
            row = connection.execute(
                "UPDATE rounds SET state = 'running', started_at = ?, step = '', progress = 0 "  # noqa: S608
                "WHERE id = (SELECT id FROM rounds WHERE state = 'due' AND project_id IN "
                "(SELECT id FROM projects WHERE active AND prepared != '') "
                f"ORDER BY requested_at, id LIMIT 1) RETURNING {ROUND}",
                (now,),
            ).fetchone()
        return round_of(row) if row else None

    def recover(self) -> list[Round]:
        """Put rounds that a killed worker left running back in line; call with no other worker."""
        with self._database.writing() as connection:
            rows = connection.execute(
                f"SELECT {ROUND} FROM rounds WHERE state = 'running'"  # noqa: S608 - a constant
            ).fetchall()
            for row in rows:
                # One round will do for both; it ranks afresh, as the waiting one would have.
                waiting = connection.execute(
                    "DELETE FROM rounds WHERE state = 'due' AND project_id = ?",
                    (row["project_id"],),
                ).rowcount
                connection.execute(
                    "UPDATE rounds SET state = 'due', version = ? WHERE id = ?",
                    ("" if waiting else row["version"], row["id"]),
                )
        return [round_of(row) for row in rows]

    def progress(self, round_id: RoundId, step: str, progress: float, now: float) -> None:
        """Say what a running round is doing."""
        self._database.write(
            "UPDATE rounds SET step_started_at = CASE WHEN step = ? THEN step_started_at ELSE ? "
            "END, step = ?, progress = ? WHERE id = ?",
            step,
            now,
            step,
            progress,
            round_id,
        )

    def ranked(
        self,
        round_id: RoundId,
        *,
        version: str,
        queue: Sequence[QueueEntry],
        labels: Mapping[TaskId, str],
        report: Mapping[str, Any],
        insights: Mapping[str, Any] | None = None,
    ) -> None:
        """Store the outcome before anything of it reaches Label Studio."""
        with self._database.writing() as connection:
            connection.execute("DELETE FROM queue WHERE round_id = ?", (round_id,))
            connection.execute("DELETE FROM round_labels WHERE round_id = ?", (round_id,))
            connection.executemany(
                f"INSERT INTO queue (round_id, rank, task_id, {_MEASURED}) "  # noqa: S608 - constants
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [(round_id, rank, *astuple(entry)) for rank, entry in enumerate(queue)],
            )
            connection.executemany(
                "INSERT INTO round_labels VALUES (?, ?, ?)",
                [(round_id, task, answer) for task, answer in labels.items()],
            )
            connection.execute(
                "UPDATE rounds SET version = ?, report = ?, insights = ? WHERE id = ?",
                (version, json.dumps(dict(report)), json.dumps(dict(insights or {})), round_id),
            )

    def renamed(self, round_id: RoundId, version: str) -> None:
        """Give the queue another version: the one before reached Label Studio incomplete."""
        self._database.write("UPDATE rounds SET version = ? WHERE id = ?", version, round_id)

    def published(self, round_id: RoundId, report: Mapping[str, Any], now: float) -> None:
        """Annotators now get this round's queue."""
        with self._database.writing() as connection:
            row = connection.execute(
                "UPDATE rounds SET state = 'published', step = '', progress = 1, report = ?, "
                "finished_at = ?, error = '' WHERE id = ? RETURNING project_id",
                (json.dumps(dict(report)), now, round_id),
            ).fetchone()
            count_labels(connection, row["project_id"])

    def failed(self, round_id: RoundId, error: str, now: float) -> None:
        """The running round ended with an error; annotators keep the queue they had.

        One that is published stays so: annotators have its queue already.
        """
        self._database.write(
            "UPDATE rounds SET state = 'failed', error = ?, finished_at = ? "
            "WHERE id = ? AND state != 'published'",
            error,
            now,
            round_id,
        )

    def get(self, round_id: RoundId) -> Round | None:
        """The round with this id."""
        row = self._database.row(f"SELECT {ROUND} FROM rounds WHERE id = ?", round_id)  # noqa: S608
        return round_of(row) if row else None

    def latest(self, project: ProjectId, limit: int = 50) -> list[Round]:
        """The project's rounds, newest first."""
        return [
            round_of(row)
            for row in self._database.rows(
                f"SELECT {ROUND} FROM rounds WHERE project_id = ? "  # noqa: S608 - a constant
                "ORDER BY id DESC LIMIT ?",
                project,
                limit,
            )
        ]

    def last_published(self, project: ProjectId) -> Round | None:
        """The round whose queue annotators get now."""
        row = self._database.row(LAST_PUBLISHED.format(ROUND), project)
        return round_of(row) if row else None

    def insights(self, round_id: RoundId) -> dict[str, Any]:
        """What the dashboard shows of a round; empty for rounds of earlier releases."""
        row = self._database.row("SELECT insights FROM rounds WHERE id = ?", round_id)
        found: dict[str, Any] = json.loads(row["insights"]) if row else {}
        return found

    def history(self, project: ProjectId) -> list[History]:
        """Every published round with what it measured, oldest first."""
        rows = self._database.rows(
            "SELECT id, finished_at, report, json_extract(insights, '$.measured') AS measured "
            "FROM rounds WHERE project_id = ? AND state = 'published' ORDER BY id",
            project,
        )
        return [
            History(
                RoundId(row["id"]),
                row["finished_at"],
                json.loads(row["report"]),
                json.loads(row["measured"] or "{}"),
            )
            for row in rows
        ]

    def class_history(self, project: ProjectId) -> list[tuple[RoundId, list[dict[str, Any]]]]:
        """What every published round found out about each class, oldest first."""
        rows = self._database.rows(
            "SELECT id, json_extract(insights, '$.classes') AS classes FROM rounds "
            "WHERE project_id = ? AND state = 'published' ORDER BY id",
            project,
        )
        return [(RoundId(row["id"]), json.loads(row["classes"] or "[]")) for row in rows]

    def queue_length(self, round_id: RoundId) -> int:
        """How many tasks the round's queue has."""
        row = self._database.row("SELECT count(*) FROM queue WHERE round_id = ?", round_id)
        return int(row[0]) if row else 0

    def queue(
        self, round_id: RoundId, start: int = 0, count: int | None = None
    ) -> list[QueueEntry]:
        """The round's queue, best task first; all of it, or ``count`` tasks from a rank on."""
        return [
            entry_of(row)
            for row in self._database.rows(
                "SELECT * FROM queue WHERE round_id = ? AND rank >= ? ORDER BY rank LIMIT ?",
                round_id,
                start,
                -1 if count is None else count,
            )
        ]

    def labels(self, round_id: RoundId) -> dict[TaskId, str]:
        """The labels that the round was trained on."""
        rows = self._database.rows("SELECT * FROM round_labels WHERE round_id = ?", round_id)
        return {TaskId(row["task_id"]): row["answer"] for row in rows}
