"""SQLite, opened once per thread, with write-ahead logging and whole transactions."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from uherding_backend.store.migrations import MIGRATIONS

LOCK_SECONDS = 10.0  # how long a writer waits for another one


class Database:
    """A SQLite file that several threads and processes may use at the same time."""

    def __init__(self, path: Path, migrations: Sequence[str] | None = None) -> None:
        self._path = path
        self._migrations = MIGRATIONS if migrations is None else migrations
        self._local = threading.local()
        path.touch(mode=0o600)  # Label Studio tokens may be in it
        self._migrate()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """All or nothing: commits at the end of the block, rolls back if it raises."""
        connection = self._connection()
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")

    def rows(self, query: str, *values: object) -> list[sqlite3.Row]:
        """What a SELECT finds."""
        return self._connection().execute(query, values).fetchall()

    def row(self, query: str, *values: object) -> sqlite3.Row | None:
        """The first row a SELECT finds."""
        found = self._connection().execute(query, values).fetchone()
        assert found is None or isinstance(found, sqlite3.Row)  # noqa: S101 - for the type checker
        return found

    def write(self, statement: str, *values: object) -> int:
        """One statement in a transaction of its own; returns how many rows it changed."""
        with self.writing() as connection:
            return connection.execute(statement, values).rowcount

    def version(self) -> int:
        """A number that changes whenever another thread or process has written."""
        return int(self._connection().execute("PRAGMA data_version").fetchone()[0])

    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = sqlite3.connect(self._path, timeout=LOCK_SECONDS, isolation_level=None)
            connection.row_factory = sqlite3.Row
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")  # a finished write survives power loss
            self._local.connection = connection
        return connection

    def _migrate(self) -> None:
        with self.writing() as connection:
            done = connection.execute("PRAGMA user_version").fetchone()[0]
            for number, script in enumerate(self._migrations[done:], start=done + 1):
                for statement in script.split(";"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {number}")
