"""Who changed what, and when: a list that only grows."""

from __future__ import annotations

from dataclasses import dataclass

from uherding_backend.labels import ProjectId
from uherding_backend.store.database import Database


@dataclass(frozen=True, slots=True)
class Action:
    """Something that a person did on the dashboard or through its API."""

    at: float
    who: str
    what: str


class ActionStore:
    """What people did."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def record(self, project: ProjectId, action: Action) -> None:
        """Add one."""
        self._database.write(
            "INSERT INTO actions (project_id, at, who, what) VALUES (?, ?, ?, ?)",
            project,
            action.at,
            action.who,
            action.what,
        )

    def latest(self, project: ProjectId, limit: int = 100) -> list[Action]:
        """Newest first."""
        rows = self._database.rows(
            "SELECT at, who, what FROM actions WHERE project_id = ? ORDER BY id DESC LIMIT ?",
            project,
            limit,
        )
        return [Action(row["at"], row["who"], row["what"]) for row in rows]
