"""The SQLite file of a store: opened lazily, in WAL mode, by one thread of one process.

It holds nothing that can't be had again: the index is rebuilt from the records, the accounts as far as these tell, and
a delivery that is forgotten is made again. A file that turns out to be damaged, when it is opened or later, is moved
aside, and the next use starts an empty one; ``renewed`` says so until the records are entered again. Another process
does so with the file that it has open, and leaves alone the one that has taken its place. Tables of an earlier version
are brought up to date.
"""

from __future__ import annotations

import contextlib
import sqlite3
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path
    from typing import Any

    from otel_gate.store.files import Files

BUSY_MS = 10_000
DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
SCHEMA = """
CREATE TABLE IF NOT EXISTS records (
  trace_id TEXT NOT NULL, place TEXT PRIMARY KEY, run_id TEXT NOT NULL, name TEXT NOT NULL, start_ns INTEGER NOT NULL,
  end_ns INTEGER NOT NULL, shape_ok INTEGER NOT NULL, forwardable INTEGER NOT NULL, spans INTEGER NOT NULL,
  tools INTEGER NOT NULL, rules TEXT NOT NULL, completion TEXT NOT NULL, capped INTEGER NOT NULL,
  duplicates INTEGER NOT NULL, revision INTEGER NOT NULL, id_hash TEXT NOT NULL, bytes INTEGER NOT NULL,
  owed INTEGER NOT NULL DEFAULT 0, crc INTEGER NOT NULL DEFAULT -1
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS records_by_trace ON records (trace_id);
CREATE INDEX IF NOT EXISTS records_by_start ON records (start_ns);
CREATE TABLE IF NOT EXISTS segments (
  name TEXT PRIMARY KEY, size INTEGER NOT NULL, lines INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS lines (
  segment TEXT NOT NULL, offset INTEGER NOT NULL, number INTEGER NOT NULL, size INTEGER NOT NULL,
  place TEXT NOT NULL, revision INTEGER NOT NULL, settled INTEGER NOT NULL, PRIMARY KEY (segment, offset)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS lines_by_place ON lines (place, revision);
CREATE INDEX IF NOT EXISTS lines_to_settle ON lines (place) WHERE settled = 0;
CREATE TABLE IF NOT EXISTS lost (
  place TEXT NOT NULL, segment TEXT NOT NULL, number INTEGER NOT NULL, revision INTEGER NOT NULL,
  PRIMARY KEY (segment, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS folders (name TEXT PRIMARY KEY, changed_ns INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS outbox (
  id INTEGER PRIMARY KEY, place TEXT NOT NULL, trace_id TEXT NOT NULL, destination TEXT NOT NULL, state TEXT NOT NULL,
  spans INTEGER NOT NULL, sent INTEGER NOT NULL DEFAULT 0, attempts INTEGER NOT NULL DEFAULT 0,
  next_ns INTEGER NOT NULL DEFAULT 0, lease TEXT NOT NULL DEFAULT '', lease_until_ns INTEGER NOT NULL DEFAULT 0,
  code TEXT NOT NULL DEFAULT '', message TEXT NOT NULL DEFAULT '', updated_ns INTEGER NOT NULL DEFAULT 0,
  owed_ns INTEGER NOT NULL DEFAULT 0, tried_ns INTEGER NOT NULL DEFAULT 0, traces INTEGER NOT NULL DEFAULT 0,
  UNIQUE (place, destination)
) STRICT;
CREATE INDEX IF NOT EXISTS outbox_by_state ON outbox (destination, state, next_ns);
CREATE TABLE IF NOT EXISTS accounts (
  owner TEXT PRIMARY KEY, recovers TEXT NOT NULL, door TEXT NOT NULL, updated_ns INTEGER NOT NULL,
  seen INTEGER NOT NULL, recorded INTEGER NOT NULL, duplicates INTEGER NOT NULL, capped INTEGER NOT NULL,
  unparsable INTEGER NOT NULL, open INTEGER NOT NULL, lost INTEGER NOT NULL, traces INTEGER NOT NULL,
  amended INTEGER NOT NULL, shape_ok INTEGER NOT NULL, late INTEGER NOT NULL, recovered INTEGER NOT NULL,
  write_errors INTEGER NOT NULL, hook_errors INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
"""
TIMES = """
BEGIN IMMEDIATE;
ALTER TABLE outbox ADD COLUMN owed_ns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE outbox ADD COLUMN tried_ns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE outbox ADD COLUMN traces INTEGER NOT NULL DEFAULT 0;
UPDATE outbox SET owed_ns = updated_ns, tried_ns = CASE WHEN attempts > 0 THEN updated_ns ELSE 0 END;
COMMIT;
"""
SUMS = "ALTER TABLE records ADD COLUMN crc INTEGER NOT NULL DEFAULT -1"


class Database:
    """One connection; ``sqlite3.Error`` comes out of every method."""

    def __init__(self, path: Path, files: Files) -> None:
        """Name the file; it is opened when it is first needed."""
        self.path = path
        self.renewed = False
        self._files = files
        self._connection: sqlite3.Connection | None = None
        self._opened = 0

    @property
    def connection(self) -> sqlite3.Connection:
        """The open connection."""
        if self._connection is None:
            self._connection = self._open()
        return self._connection

    def execute(self, query: str, values: tuple[Any, ...] = ()) -> list[sqlite3.Row]:
        """Run a statement and return its rows."""
        with self._watched() as connection:
            return connection.execute(query, values).fetchall()

    def execute_all(self, query: str, rows: Iterable[tuple[Any, ...]]) -> int:
        """Run a statement for each of these rows and return how many rows of the table it changed."""
        with self._watched() as connection:
            return max(connection.executemany(query, rows).rowcount, 0)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Run a block as one write transaction, taken at its start."""
        self.execute("BEGIN IMMEDIATE")
        try:
            yield
            self.execute("COMMIT")
        except BaseException:
            if self._connection is not None:
                self._connection.rollback()
            raise

    def close(self) -> None:
        """Close the connection; the next use opens it again."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @contextlib.contextmanager
    def _watched(self) -> Iterator[sqlite3.Connection]:
        try:
            yield self.connection
        except sqlite3.DatabaseError as error:
            if _is_damage(error):
                self.close()
                with self._locked():
                    if self.path.exists() and self.path.stat().st_ino == self._opened:
                        self._move_aside()
                self.renewed = True
            raise

    def _open(self) -> sqlite3.Connection:
        with self._locked():
            try:
                return self._connect()
            except sqlite3.DatabaseError as error:
                if not _is_damage(error):
                    raise
            self._move_aside()
            self.renewed = True
            return self._connect()

    def _connect(self) -> sqlite3.Connection:
        if not self.path.is_file():  # to open and close it would let go of every lock that this process has on it
            self._files.touch(self.path)
        self._opened = self.path.stat().st_ino
        return _connect(self.path)

    def _move_aside(self) -> None:
        for suffix in ("", "-wal", "-shm"):
            damaged = self.path.with_name(self.path.name + suffix)
            if damaged.exists():
                self._files.move(damaged, damaged.with_name(damaged.name + ".damaged"))

    def _locked(self) -> contextlib.AbstractContextManager[None]:
        return self._files.lock(self.path.with_name("index.lock"))


def _is_damage(error: sqlite3.DatabaseError) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in DAMAGED


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=BUSY_MS / 1000, isolation_level=None)
    try:
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.executescript(SCHEMA)
        _migrate(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _migrate(connection: sqlite3.Connection) -> None:
    """Bring the tables of an earlier version to this one's; whoever opens a file holds its lock."""
    columns = {found["name"] for found in connection.execute("PRAGMA table_info(outbox)")}
    if "owed_ns" not in columns:
        connection.executescript(TIMES)
    if "crc" not in {found["name"] for found in connection.execute("PRAGMA table_info(records)")}:
        connection.execute(SUMS)
