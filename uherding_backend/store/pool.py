"""A project's pool: its tasks' images and the annotations known so far."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass

from uherding_backend.labels import Annotation, ProjectId, TaskId
from uherding_backend.store.annotation_rows import (
    INSERT,
    INSERT_UNLESS_OLDER,
    OF_TASK,
    annotation_of,
    row_of,
)
from uherding_backend.store.counts import count_labels, count_tasks, counting
from uherding_backend.store.database import Database


@dataclass(frozen=True, slots=True)
class Item:
    """A task's image.

    Attributes:
        image: The address in the task's data.
        content_hash: SHA-256 of the image's bytes; None until it has been fetched.
        problem: Why the image cannot be used; empty if it can.
    """

    task: TaskId
    image: str
    content_hash: str | None
    problem: str


@dataclass(frozen=True, slots=True)
class Listing:
    """How a project's items came to be known.

    Attributes:
        data_key: Where a task's data has its image.
        at: When Label Studio was asked for them, in seconds since the epoch.
        doubts: How often they had been doubted by then, as `Project.task_doubts`.
    """

    data_key: str
    at: float
    doubts: int


ITEMS = "SELECT task_id, image, content_hash, problem FROM items"  # in the order of Item


class PoolStore:
    """Tasks and annotations; Label Studio holds the truth, this is the copy to compute with."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def replace_items(
        self, project: ProjectId, images: Mapping[TaskId, str], listing: Listing
    ) -> None:
        """Take over Label Studio's tasks; an unchanged address keeps its hash."""
        with self._database.writing() as connection:
            known = {
                row["task_id"]: row["image"]
                for row in connection.execute(
                    "SELECT task_id, image FROM items WHERE project_id = ?", (project,)
                )
            }
            connection.executemany(
                "DELETE FROM items WHERE project_id = ? AND task_id = ?",
                [(project, task) for task in known.keys() - images.keys()],
            )
            connection.executemany(
                "INSERT OR REPLACE INTO items (project_id, task_id, image) VALUES (?, ?, ?)",
                [
                    (project, task, image)
                    for task, image in images.items()
                    if known.get(task) != image
                ],
            )
            count_tasks(connection, project, len(images))
            connection.execute(
                "INSERT OR REPLACE INTO listings (project_id, data_key, at, doubts) "
                "VALUES (?, ?, ?, ?)",
                (project, *astuple(listing)),
            )

    def listing(self, project: ProjectId) -> Listing | None:
        """How the stored items came to be known; None before the first."""
        query = "SELECT data_key, at, doubts FROM listings WHERE project_id = ?"
        row = self._database.row(query, project)
        return Listing(*row) if row else None

    def items(self, project: ProjectId) -> list[Item]:
        """The project's tasks by id: their position is the pool row that `model` sees."""
        return [
            Item(*row)
            for row in self._database.rows(
                f"{ITEMS} WHERE project_id = ? ORDER BY task_id", project
            )
        ]

    def unreadable(self, project: ProjectId, limit: int) -> list[Item]:
        """Some of the items whose images cannot be used, by task id."""
        return [
            Item(*row)
            for row in self._database.rows(
                f"{ITEMS} INDEXED BY unreadable_items "
                "WHERE project_id = ? AND problem != '' ORDER BY task_id LIMIT ?",
                project,
                limit,
            )
        ]

    def answered(self, project: ProjectId, tasks: Iterable[TaskId]) -> set[TaskId]:
        """Those of the tasks that somebody has answered or skipped."""
        query = f"SELECT 1 {OF_TASK}"
        return {task for task in tasks if self._database.row(query, project, task)}

    def item(self, project: ProjectId, task: TaskId) -> Item | None:
        """One task's image, or None if the task is not known."""
        row = self._database.row(f"{ITEMS} WHERE project_id = ? AND task_id = ?", project, task)
        return Item(*row) if row else None

    def audit_tasks(self, project: ProjectId) -> frozenset[TaskId]:
        """The tasks that are set apart for the audit, labelled or not."""
        rows = self._database.rows("SELECT task_id FROM audit_tasks WHERE project_id = ?", project)
        return frozenset(TaskId(row["task_id"]) for row in rows)

    def replace_audit_tasks(self, project: ProjectId, tasks: Iterable[TaskId]) -> None:
        """From now on these are set apart."""
        with self._database.writing() as connection:
            connection.execute("DELETE FROM audit_tasks WHERE project_id = ?", (project,))
            connection.executemany(
                "INSERT INTO audit_tasks VALUES (?, ?)", [(project, task) for task in tasks]
            )

    def fetched(self, project: ProjectId, items: Iterable[Item]) -> None:
        """Record hashes and problems of images that were fetched."""
        with self._database.writing() as connection:
            connection.executemany(
                "UPDATE items SET content_hash = ?, problem = ? "
                "WHERE project_id = ? AND task_id = ?",
                [(item.content_hash, item.problem, project, item.task) for item in items],
            )

    def save_annotation(self, project: ProjectId, annotation: Annotation) -> None:
        """Take in one annotation; one that is older than what is known changes nothing."""
        with self._database.writing() as connection:
            tasks = {annotation.task} | _tasks_of(connection, project, [annotation.id])
            with counting(connection, project, tasks):
                connection.execute(INSERT_UNLESS_OLDER, row_of(project, annotation))

    def delete_annotations(self, project: ProjectId, ids: Sequence[int]) -> None:
        """Forget annotations that were deleted in Label Studio."""
        with self._database.writing() as connection:
            tasks = _tasks_of(connection, project, ids)
            with counting(connection, project, tasks):
                connection.executemany(
                    "DELETE FROM annotations WHERE project_id = ? AND id = ?",
                    [(project, number) for number in ids],
                )

    def replace_annotations(self, project: ProjectId, annotations: Iterable[Annotation]) -> None:
        """Take over Label Studio's export, which is the truth."""
        with self._database.writing() as connection:
            connection.execute("DELETE FROM annotations WHERE project_id = ?", (project,))
            connection.executemany(
                INSERT, [row_of(project, annotation) for annotation in annotations]
            )
            count_labels(connection, project)

    def annotations(self, project: ProjectId) -> list[Annotation]:
        """Every annotation known, by id."""
        return [
            annotation_of(row)
            for row in self._database.rows(
                "SELECT * FROM annotations WHERE project_id = ? ORDER BY id", project
            )
        ]


def _tasks_of(
    connection: sqlite3.Connection, project: ProjectId, annotations: Iterable[int]
) -> set[TaskId]:
    query = "SELECT task_id FROM annotations WHERE project_id = ? AND id = ?"
    found = (connection.execute(query, (project, number)).fetchone() for number in annotations)
    return {TaskId(row["task_id"]) for row in found if row}
