"""All state that must survive: SQLite and files under one data directory.

Every method is one transaction: a process killed between any two calls leaves a state that the
worker knows how to go on from.
"""

from __future__ import annotations

from pathlib import Path

from uherding_backend.store.actions import ActionStore
from uherding_backend.store.counts import CountStore
from uherding_backend.store.database import Database
from uherding_backend.store.pool import PoolStore
from uherding_backend.store.project_records import Project
from uherding_backend.store.projects import ProjectStore
from uherding_backend.store.round_records import Round, RoundState
from uherding_backend.store.rounds import RoundStore
from uherding_backend.store.thumbnails import ThumbnailStore

__all__ = ["Project", "Round", "RoundState", "Store"]


class Store:
    """The data directory, opened."""

    def __init__(self, data_dir: Path) -> None:
        data_dir.mkdir(parents=True, exist_ok=True)
        self.data_dir = data_dir
        self.database = Database(data_dir / "uherding.sqlite")
        self.projects = ProjectStore(self.database)
        self.pool = PoolStore(self.database)
        self.rounds = RoundStore(self.database)
        self.counts = CountStore(self.database)
        self.actions = ActionStore(self.database)
        self.thumbnails = ThumbnailStore(data_dir / "thumbnails.sqlite")

    def map_path(self, project: int, round_id: int) -> Path:
        """Where a round's map is: JSON, compressed by gzip."""
        return self.project_dir(project) / f"map-{round_id}.json.gz"

    def project_dir(self, project: int) -> Path:
        """Where a project's files are: its fitted feature extractor and its rounds."""
        path = self.data_dir / "projects" / str(project)
        path.mkdir(parents=True, exist_ok=True)
        return path
