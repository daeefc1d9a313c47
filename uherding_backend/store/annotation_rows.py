"""Annotations as rows of the database."""

from __future__ import annotations

import sqlite3

from uherding_backend.labels import Annotation, ProjectId, TaskId

INSERT = (
    "INSERT INTO annotations (project_id, id, task_id, answer, skipped, ground_truth, updated, "
    "author, created, seconds) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
INSERT_UNLESS_OLDER = (
    f"{INSERT} ON CONFLICT DO UPDATE SET task_id = excluded.task_id, answer = excluded.answer, "
    "skipped = excluded.skipped, ground_truth = excluded.ground_truth, "
    "updated = excluded.updated, author = excluded.author, created = excluded.created, "
    "seconds = excluded.seconds WHERE excluded.updated >= updated"
)
# Without statistics SQLite takes the primary key for the better one, and reads the whole project.
OF_TASK = "FROM annotations INDEXED BY annotations_by_task WHERE project_id = ? AND task_id = ?"


def row_of(project: ProjectId, annotation: Annotation) -> tuple[object, ...]:
    """The values that both statements take."""
    return (
        project,
        annotation.id,
        annotation.task,
        annotation.answer,
        annotation.skipped,
        annotation.ground_truth,
        annotation.updated,
        annotation.author,
        annotation.created,
        annotation.seconds,
    )


def annotation_of(row: sqlite3.Row) -> Annotation:
    """What a row of the table says."""
    return Annotation(
        id=row["id"],
        task=TaskId(row["task_id"]),
        answer=row["answer"],
        skipped=bool(row["skipped"]),
        ground_truth=bool(row["ground_truth"]),
        updated=row["updated"],
        author=row["author"],
        created=row["created"],
        seconds=row["seconds"],
    )
