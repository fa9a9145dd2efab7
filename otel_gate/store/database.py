"""The SQLite file of a store: opened lazily, in WAL mode, by one thread of one process.

It holds nothing that can't be had again: the index is rebuilt from the records, and a delivery that is forgotten is made
again. A file that is not a database any more is moved aside.
"""

from __future__ import annotations

import contextlib
import sqlite3
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from otel_gate.store.files import Files

BUSY_MS = 10_000
SCHEMA = """
CREATE TABLE IF NOT EXISTS records (
  trace_id TEXT NOT NULL, place TEXT PRIMARY KEY, run_id TEXT NOT NULL, name TEXT NOT NULL, start_ns INTEGER NOT NULL,
  end_ns INTEGER NOT NULL, shape_ok INTEGER NOT NULL, forwardable INTEGER NOT NULL, spans INTEGER NOT NULL,
  tools INTEGER NOT NULL, rules TEXT NOT NULL, completion TEXT NOT NULL, capped INTEGER NOT NULL,
  duplicates INTEGER NOT NULL, revision INTEGER NOT NULL, id_hash TEXT NOT NULL, bytes INTEGER NOT NULL,
  owed INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS records_by_trace ON records (trace_id);
CREATE INDEX IF NOT EXISTS records_by_start ON records (start_ns);
CREATE TABLE IF NOT EXISTS folders (name TEXT PRIMARY KEY, changed_ns INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS outbox (
  id INTEGER PRIMARY KEY, place TEXT NOT NULL, trace_id TEXT NOT NULL, destination TEXT NOT NULL, state TEXT NOT NULL,
  spans INTEGER NOT NULL, sent INTEGER NOT NULL DEFAULT 0, attempts INTEGER NOT NULL DEFAULT 0,
  next_ns INTEGER NOT NULL DEFAULT 0, lease TEXT NOT NULL DEFAULT '', lease_until_ns INTEGER NOT NULL DEFAULT 0,
  code TEXT NOT NULL DEFAULT '', message TEXT NOT NULL DEFAULT '', updated_ns INTEGER NOT NULL DEFAULT 0,
  UNIQUE (place, destination)
) STRICT;
CREATE INDEX IF NOT EXISTS outbox_by_state ON outbox (destination, state, next_ns);
"""


class Database:
    """One connection; ``sqlite3.Error`` comes out of every method."""

    def __init__(self, path: Path, files: Files) -> None:
        """Name the file; it is opened when it is first needed."""
        self.path = path
        self._files = files
        self._connection: sqlite3.Connection | None = None

    @property
    def connection(self) -> sqlite3.Connection:
        """The open connection."""
        if self._connection is None:
            self._connection = self._open()
        return self._connection

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Run a block as one write transaction, taken at its start."""
        connection = self.connection
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
        except BaseException:
            connection.rollback()
            raise
        connection.commit()

    def close(self) -> None:
        """Close the connection; the next use opens it again."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _open(self) -> sqlite3.Connection:
        self._files.folder(self.path.parent)
        self._files.touch(self.path)
        try:
            return _connect(self.path)
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError:
            for suffix in ("", "-wal", "-shm"):
                damaged = self.path.with_name(self.path.name + suffix)
                if damaged.exists():
                    self._files.move(damaged, damaged.with_name(damaged.name + ".damaged"))
            self._files.touch(self.path)
            return _connect(self.path)


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=BUSY_MS / 1000, isolation_level=None)
    try:
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.executescript(SCHEMA)
    except BaseException:
        connection.close()
        raise
    return connection
