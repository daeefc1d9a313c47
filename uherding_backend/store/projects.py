"""The connected projects: how to reach them, what an admin chose, what was noticed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from uherding_backend.errors import UnknownProjectError
from uherding_backend.labels import ProjectId
from uherding_backend.store.counts import follow_label_config
from uherding_backend.store.database import Database
from uherding_backend.store.project_records import (
    DOUBT_TASKS,
    Connection,
    ExtractorInUse,
    Project,
    Sighting,
    project_of,
)


class ProjectStore:
    """Projects, written by /setup and by the worker."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> list[Project]:
        """Every project ever connected, by id."""
        return [
            project_of(row) for row in self._database.rows("SELECT * FROM projects ORDER BY id")
        ]

    def find(self, project: ProjectId) -> Project | None:
        """The project, or None if it was never connected."""
        row = self._database.row("SELECT * FROM projects WHERE id = ?", project)
        return project_of(row) if row else None

    def get(self, project: ProjectId) -> Project:
        """The project, or a sentence on how to connect it."""
        found = self.find(project)
        if found is None:
            raise UnknownProjectError(
                f"Project {project} is not connected. Connect it in Label Studio under Settings > "
                f"Model, or with `uherding connect {project}`."
            )
        return found

    def get_active(self, project: ProjectId) -> Project:
        """The project, or a sentence if it was never connected or is so no longer."""
        found = self.get(project)
        if not found.active:
            raise UnknownProjectError(
                f"Project {project} was disconnected. Run `uherding connect {project}` first."
            )
        return found

    def connect(self, connection: Connection) -> None:
        """Record what /setup said; saying the same again changes nothing."""
        with self._database.writing() as database:
            database.execute(
                """
                INSERT INTO projects
                    (id, uid, label_studio_url, link_url, token, backend_url, label_config, options)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                ON CONFLICT (id) DO UPDATE SET
                    prepared = CASE WHEN active THEN prepared ELSE '' END,
                    tasks_changed = tasks_changed OR label_config != excluded.label_config,
                    uid = excluded.uid,
                    label_studio_url = excluded.label_studio_url,
                    link_url = excluded.link_url,
                    token = excluded.token,
                    backend_url = excluded.backend_url,
                    label_config = excluded.label_config,
                    options = excluded.options,
                    active = 1
                """,
                (
                    connection.project,
                    connection.uid,
                    connection.label_studio_url,
                    connection.link_url,
                    connection.token,
                    connection.backend_url,
                    connection.label_config,
                    json.dumps(dict(connection.options), sort_keys=True),
                ),
            )
            follow_label_config(database, connection.project)

    def prepared(self, project: ProjectId, wanted: str, notes: list[str]) -> None:
        """Label Studio's project is set up as ``wanted``; remember what that changed."""
        self._database.write(
            "UPDATE projects SET prepared = ?, notes = ? WHERE id = ?",
            wanted,
            json.dumps(notes),
            project,
        )

    def heard(self, project: ProjectId, now: float, *, look: bool) -> None:
        """Label Studio called; with ``look``, have the worker look at the project soon."""
        self._database.write(
            "UPDATE projects SET heard_at = ?, look = look OR ? WHERE id = ?", now, look, project
        )

    def doubt_tasks(self, project: ProjectId) -> None:
        """The tasks may have changed: the next round must list them."""
        self._database.write(DOUBT_TASKS, project)

    def looked(self, project: ProjectId, now: float, seen: Sighting) -> None:
        """Record what a look found; ``changed`` stays set until a round has taken it in."""
        with self._database.writing() as connection:
            connection.execute(
                """
                UPDATE projects SET look = 0, looked_at = ?, title = ?, label_config = ?,
                    sampling = ?, tasks_changed = tasks_changed OR ?,
                    task_doubts = task_doubts + ? WHERE id = ?
                """,
                (
                    *(now, seen.title, seen.label_config, seen.sampling),
                    *(seen.changed, seen.other_tasks, project),
                ),
            )
            follow_label_config(connection, project)

    def changes_taken_in(self, project: ProjectId) -> None:
        """A round is about to look at the tasks and the label config."""
        self._database.write("UPDATE projects SET tasks_changed = 0 WHERE id = ?", project)

    def reasserted(self, project: ProjectId, foreign_version: str) -> None:
        """Remember whose model_version was replaced, so that it is done once only."""
        self._database.write(
            "UPDATE projects SET reasserted = ? WHERE id = ?", foreign_version, project
        )

    def use_extractor(self, project: ProjectId, extractor: ExtractorInUse) -> None:
        """From now on, features come from this extractor."""
        self._database.write(
            "UPDATE projects SET extractor = ? WHERE id = ?",
            json.dumps(asdict(extractor)),
            project,
        )

    def extra_params(self, project: ProjectId) -> dict[str, Any]:
        """What Label Studio passes on, without what was chosen on the dashboard."""
        row = self._database.row("SELECT options FROM projects WHERE id = ?", project)
        found: dict[str, Any] = json.loads(row["options"]) if row else {}
        return found

    def choose(self, project: ProjectId, chosen: Mapping[str, Any]) -> None:
        """Take over what was chosen on the dashboard, instead of all that was chosen before."""
        text = json.dumps(dict(chosen), sort_keys=True)
        self._database.write("UPDATE projects SET chosen = ? WHERE id = ?", text, project)

    def pause(self, project: ProjectId, *, paused: bool) -> None:
        """Run rounds only when somebody asks, or by themselves again."""
        self._database.write("UPDATE projects SET paused = ? WHERE id = ?", paused, project)

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
