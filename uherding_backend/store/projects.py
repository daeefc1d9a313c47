"""The connected projects: how to reach them, what an admin chose, what was noticed."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from uherding_backend.errors import UnknownProjectError
from uherding_backend.labels import ProjectId
from uherding_backend.store.database import Database


@dataclass(frozen=True, slots=True)
class Connection:
    """What Label Studio says of itself and of a project when it calls /setup."""

    project: ProjectId
    uid: str
    label_studio_url: str
    token: str
    backend_url: str
    label_config: str
    options: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Project:
    """A connected Label Studio project.

    Attributes:
        uid: Label Studio's name for it, "id.created": tells two servers' projects 1 apart.
        token: The API token that came with /setup; empty if the settings hold one.
        backend_url: The address under which Label Studio calls this backend.
        options: The admin's ``extra_params`` for this project.
        active: False once it was disconnected.
        prepared: Whether Label Studio's project has been set up for queues.
        notes: What preparing changed in Label Studio, and what an admin should know.
        problem: Why the project cannot be attended to, and what to do; empty if all is well.
        heard_at: When Label Studio last called the webhook, in seconds since the epoch.
        look: Something happened that only a look at Label Studio can tell.
        looked_at: When the project was last looked at, in seconds since the epoch.
        tasks_changed: Label Studio's tasks or label config differ from those of the last round.
        reasserted: The foreign model_version that was already replaced by ours once.
    """

    id: ProjectId
    uid: str
    title: str
    label_studio_url: str
    token: str
    backend_url: str
    label_config: str
    options: Mapping[str, Any]
    active: bool
    prepared: bool
    notes: tuple[str, ...]
    problem: str
    heard_at: float
    look: bool
    looked_at: float
    tasks_changed: bool
    reasserted: str


class ProjectStore:
    """Projects, written by /setup and by the worker."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> list[Project]:
        """Every project ever connected, by id."""
        return [_project(row) for row in self._database.rows("SELECT * FROM projects ORDER BY id")]

    def find(self, project: ProjectId) -> Project | None:
        """The project, or None if it was never connected."""
        row = self._database.row("SELECT * FROM projects WHERE id = ?", project)
        return _project(row) if row else None

    def get(self, project: ProjectId) -> Project:
        """The project, or a sentence on how to connect it."""
        found = self.find(project)
        if found is None:
            raise UnknownProjectError(
                f"Project {project} is not connected. Connect it in Label Studio under Settings > "
                f"Model, or with `uherding connect {project}`."
            )
        return found

    def connect(self, connection: Connection) -> None:
        """Record what /setup said; saying the same again changes nothing."""
        self._database.write(
            """
            INSERT INTO projects
                (id, uid, label_studio_url, token, backend_url, label_config, options)
            VALUES (?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (id) DO UPDATE SET
                prepared = CASE WHEN active AND backend_url = excluded.backend_url
                    THEN prepared ELSE 0 END,
                tasks_changed = tasks_changed OR label_config != excluded.label_config,
                uid = excluded.uid,
                label_studio_url = excluded.label_studio_url,
                token = excluded.token,
                backend_url = excluded.backend_url,
                label_config = excluded.label_config,
                options = excluded.options,
                active = 1
            """,
            connection.project,
            connection.uid,
            connection.label_studio_url,
            connection.token,
            connection.backend_url,
            connection.label_config,
            json.dumps(dict(connection.options), sort_keys=True),
        )

    def prepared(self, project: ProjectId, notes: list[str]) -> None:
        """Label Studio's project is set up; remember what that changed."""
        self._database.write(
            "UPDATE projects SET prepared = 1, notes = ? WHERE id = ?", json.dumps(notes), project
        )

    def heard(self, project: ProjectId, now: float, *, look: bool) -> None:
        """Label Studio called; with ``look``, have the worker look at the project soon."""
        self._database.write(
            "UPDATE projects SET heard_at = ?, look = look OR ? WHERE id = ?", now, look, project
        )

    def looked(
        self, project: ProjectId, now: float, *, title: str, label_config: str, changed: bool
    ) -> None:
        """Record what a look found; ``changed`` stays set until a round has taken it in."""
        self._database.write(
            """
            UPDATE projects SET look = 0, looked_at = ?, title = ?, label_config = ?,
                tasks_changed = tasks_changed OR ? WHERE id = ?
            """,
            now,
            title,
            label_config,
            changed,
            project,
        )

    def changes_taken_in(self, project: ProjectId) -> None:
        """A round is about to read the tasks and the label config afresh."""
        self._database.write("UPDATE projects SET tasks_changed = 0 WHERE id = ?", project)

    def reasserted(self, project: ProjectId, foreign_version: str) -> None:
        """Remember whose model_version was replaced, so that it is done once only."""
        self._database.write(
            "UPDATE projects SET reasserted = ? WHERE id = ?", foreign_version, project
        )

    def trouble(self, project: ProjectId, problem: str) -> None:
        """Remember why the project cannot be attended to; an empty text clears it."""
        self._database.write(
            "UPDATE projects SET problem = ? WHERE id = ? AND problem != ?",
            problem,
            project,
            problem,
        )

    def disconnect(self, project: ProjectId) -> None:
        """Stop working for a project; what was computed stays, /setup connects it again."""
        self._database.write("UPDATE projects SET active = 0 WHERE id = ?", project)


def _project(row: sqlite3.Row) -> Project:
    return Project(
        id=ProjectId(row["id"]),
        uid=row["uid"],
        title=row["title"],
        label_studio_url=row["label_studio_url"],
        token=row["token"],
        backend_url=row["backend_url"],
        label_config=row["label_config"],
        options=json.loads(row["options"]),
        active=bool(row["active"]),
        prepared=bool(row["prepared"]),
        notes=tuple(json.loads(row["notes"])),
        problem=row["problem"],
        heard_at=row["heard_at"],
        look=bool(row["look"]),
        looked_at=row["looked_at"],
        tasks_changed=bool(row["tasks_changed"]),
        reasserted=row["reasserted"],
    )
