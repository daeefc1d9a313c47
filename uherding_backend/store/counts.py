"""How many tasks and labels each project has, so that no page counts them.

Whatever changes annotations, tasks, the label config or the published round keeps the counts right
in the same transaction. A webhook looks at the tasks that it is about, and at no others.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from uherding_backend.errors import LabelConfigError
from uherding_backend.label_config import parse_label_config
from uherding_backend.labels import Annotation, ProjectId, TaskId, arrived_since, resolve
from uherding_backend.store.annotation_rows import OF_TASK, annotation_of
from uherding_backend.store.database import Database

# The round whose queue annotators get now.
LAST_PUBLISHED = (
    "SELECT {} FROM rounds WHERE project_id = ? AND state = 'published' "
    "ORDER BY finished_at DESC, id DESC LIMIT 1"
)


@dataclass(frozen=True, slots=True)
class Counts:
    """A project in numbers.

    Attributes:
        classes: The classes of the label config; none if it cannot be used.
        tasks: Known ones.
        labels: Tasks that have one of these classes.
        set_aside: Tasks that people answered without a usable class.
        new_labels: Labels that are new or changed since the last published round.
    """

    classes: tuple[str, ...] = ()
    tasks: int = 0
    labels: int = 0
    set_aside: int = 0
    new_labels: int = 0


class CountStore:
    """Counts, read by pages and by the worker."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._count_what_an_earlier_release_left()

    def get(self, project: ProjectId) -> Counts:
        """The counts as they are now; zeros for a project that was never connected."""
        row = self._database.row("SELECT * FROM counts WHERE project_id = ?", project)
        if row is None:
            return Counts()
        numbers = (row[name] for name in ("tasks", "labels", "set_aside", "new_labels"))
        return Counts(_classes(row), *numbers)

    def _count_what_an_earlier_release_left(self) -> None:
        query = "SELECT id FROM projects WHERE id NOT IN (SELECT project_id FROM counts)"
        for row in self._database.rows(query):
            with self._database.writing() as connection:
                follow_label_config(connection, row["id"])


def follow_label_config(connection: sqlite3.Connection, project: ProjectId) -> None:
    """Count anew if the label config has other classes than those that were counted."""
    query = "SELECT label_config FROM projects WHERE id = ?"
    (label_config,) = connection.execute(query, (project,)).fetchone()
    classes = _classes_in(label_config)
    counted = _counted(connection, project)
    if counted is None or _classes(counted) != classes:
        connection.execute(
            "INSERT OR REPLACE INTO counts (project_id, classes, tasks) "
            "VALUES (?, ?, (SELECT count(*) FROM items WHERE project_id = ?))",
            (project, json.dumps(classes), project),
        )
        count_labels(connection, project)


def count_labels(connection: sqlite3.Connection, project: ProjectId) -> None:
    """Count all labels anew: for what changes many of them at once."""
    counted = _counted(connection, project)
    if counted is None:
        return
    query = "SELECT * FROM annotations WHERE project_id = ?"
    annotations = [annotation_of(row) for row in connection.execute(query, (project,))]
    used = connection.execute(
        f"SELECT * FROM round_labels WHERE round_id = ({LAST_PUBLISHED.format('id')})",  # noqa: S608
        (project,),
    )
    connection.execute(
        "UPDATE counts SET labels = ?, set_aside = ?, new_labels = ? WHERE project_id = ?",
        (*_tally(counted, annotations, used), project),
    )


def count_tasks(connection: sqlite3.Connection, project: ProjectId, tasks: int) -> None:
    """Remember how many tasks there are."""
    connection.execute("UPDATE counts SET tasks = ? WHERE project_id = ?", (tasks, project))


@contextmanager
def counting(
    connection: sqlite3.Connection, project: ProjectId, tasks: Collection[TaskId]
) -> Iterator[None]:
    """Adjust the counts by what the block changes in the annotations of these tasks."""
    counted = _counted(connection, project)
    if counted is None:
        yield
        return
    before = _tally_of(connection, counted, tasks)
    yield
    after = _tally_of(connection, counted, tasks)
    connection.execute(
        "UPDATE counts SET labels = labels + ?, set_aside = set_aside + ?, "
        "new_labels = new_labels + ? WHERE project_id = ?",
        (*(new - old for new, old in zip(after, before, strict=True)), project),
    )


def _tally_of(
    connection: sqlite3.Connection, counted: sqlite3.Row, tasks: Iterable[TaskId]
) -> tuple[int, int, int]:
    """What these tasks contribute."""
    project = counted["project_id"]
    published = connection.execute(LAST_PUBLISHED.format("id"), (project,)).fetchone()
    annotations, used = [], []
    for task in tasks:
        found = connection.execute(f"SELECT * {OF_TASK}", (project, task))
        annotations += [annotation_of(row) for row in found]
        if published is not None:
            query = "SELECT * FROM round_labels WHERE round_id = ? AND task_id = ?"
            used += connection.execute(query, (published["id"], task)).fetchall()
    return _tally(counted, annotations, used)


def _tally(
    counted: sqlite3.Row, annotations: Iterable[Annotation], used: Iterable[sqlite3.Row]
) -> tuple[int, int, int]:
    """How many are labelled, how many set aside, how many labels are new."""
    labels = resolve(annotations, _classes(counted))
    before = {TaskId(row["task_id"]): row["answer"] for row in used}
    return len(labels.classes), len(labels.set_aside), arrived_since(labels.classes, before)


def _counted(connection: sqlite3.Connection, project: ProjectId) -> sqlite3.Row | None:
    query = "SELECT * FROM counts WHERE project_id = ?"
    found: sqlite3.Row | None = connection.execute(query, (project,)).fetchone()
    return found


def _classes(counted: sqlite3.Row) -> tuple[str, ...]:
    return tuple(json.loads(counted["classes"]))


def _classes_in(label_config: str) -> tuple[str, ...]:
    try:
        return tuple(parse_label_config(label_config).classes)
    except LabelConfigError:
        return ()
