"""Feature rows on disk, by content hash and extractor version: computed once, never lost."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from model.arrays import Features
from uherding_backend.store.database import Database


class FeatureStore:
    """One growing float32 file per extractor version, with its index in SQLite.

    Rows are appended to the file first and entered in the index afterwards, so a process killed in
    between leaves bytes that nothing points to, and the next append writes over them.
    """

    def __init__(self, database: Database, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._database = database
        self._directory = directory

    def known(self, extractor: str) -> set[str]:
        """The content hashes that have a row."""
        return set(self._index(extractor))

    def append(self, extractor: str, hashes: Sequence[str], features: Features) -> None:
        """Add rows; a hash that is already there, or comes twice, keeps its first row."""
        known = {key for key in set(hashes) if self._has(extractor, key)}
        fresh = {key: at for at, key in reversed(list(enumerate(hashes))) if key not in known}
        if not fresh:
            return
        start = self._row_count(extractor)
        rows = np.ascontiguousarray(features[list(fresh.values())], dtype=np.float32)
        self._path(extractor).touch()
        with self._path(extractor).open("r+b") as file:
            file.seek(start * rows.shape[1] * rows.itemsize)
            file.write(rows.tobytes())
            file.flush()
            os.fsync(file.fileno())
        with self._database.writing() as connection:
            connection.executemany(
                "INSERT INTO feature_rows (extractor, content_hash, row) VALUES (?, ?, ?)",
                [(extractor, key, start + at) for at, key in enumerate(fresh)],
            )

    def rows(self, extractor: str, dimension: int, hashes: Sequence[str]) -> Features:
        """The rows of these hashes, in their order; all must be known."""
        if not hashes:
            return np.zeros((0, dimension), dtype=np.float32)
        index = self._index(extractor)
        stored = np.memmap(self._path(extractor), dtype=np.float32, mode="r")
        count = stored.size // dimension
        table = stored[: count * dimension].reshape(count, dimension)
        return np.array(table[[index[key] for key in hashes]])

    def _has(self, extractor: str, content_hash: str) -> bool:
        found = self._database.row(
            "SELECT 1 FROM feature_rows WHERE extractor = ? AND content_hash = ?",
            extractor,
            content_hash,
        )
        return found is not None

    def _row_count(self, extractor: str) -> int:
        last = self._database.row(
            "SELECT max(row) AS last FROM feature_rows WHERE extractor = ?", extractor
        )
        return 0 if last is None or last["last"] is None else int(last["last"]) + 1

    def _index(self, extractor: str) -> dict[str, int]:
        found = self._database.rows(
            "SELECT content_hash, row FROM feature_rows WHERE extractor = ?", extractor
        )
        return {row["content_hash"]: row["row"] for row in found}

    def _path(self, extractor: str) -> Path:
        return self._directory / f"{extractor}.f32"
