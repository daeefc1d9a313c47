"""Small pictures for people, by content hash, in a file of their own: they can be made again."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from uherding_backend.store.database import Database

_MIGRATIONS = (
    "CREATE TABLE thumbnails (content_hash TEXT PRIMARY KEY, jpeg BLOB NOT NULL) WITHOUT ROWID",
)


class ThumbnailStore:
    """JPEG files of a few kB."""

    def __init__(self, path: Path) -> None:
        self._database = Database(path, _MIGRATIONS)

    def missing(self, hashes: Collection[str]) -> set[str]:
        """Those of the hashes that have no thumbnail yet."""
        return {key for key in hashes if self.get(key) is None}

    def keep(self, thumbnails: Mapping[str, bytes]) -> None:
        """Add thumbnails; one that is already there stays."""
        if thumbnails:
            with self._database.writing() as connection:
                connection.executemany(
                    "INSERT OR IGNORE INTO thumbnails VALUES (?, ?)", list(thumbnails.items())
                )

    def get(self, content_hash: str) -> bytes | None:
        """The JPEG file, or None."""
        row = self._database.row("SELECT jpeg FROM thumbnails WHERE content_hash = ?", content_hash)
        return bytes(row["jpeg"]) if row else None
