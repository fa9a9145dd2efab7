"""Index and outbox at one moment, read without a write: nothing is made, moved aside, mended or locked.

An SQLite file in WAL mode is opened by making two files beside it, unless it is said to be immutable: it is, as long as
nobody has it open.
"""

from __future__ import annotations

import contextlib
import sqlite3
from typing import TYPE_CHECKING, NamedTuple

from otel_gate.store.lost import Lost

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
ROWS = "SELECT place, revision, id_hash, bytes, forwardable, owed{} FROM records"
LOST = "SELECT place, segment, number, revision FROM lost ORDER BY segment, number"
DELIVERIES = "SELECT place, max(state = 'pending' OR lease != '') FROM outbox GROUP BY place"


class Row(NamedTuple):
    """What the index says of a record: ``owed`` is whether it was decided what is owed, or that it is going.

    ``crc`` is of the bytes of its file, -1 when an earlier version has indexed it.
    """

    revision: int
    id_hash: str
    size: int
    forwardable: bool
    owed: int
    crc: int = -1


class Snapshot(NamedTuple):
    """The rows of the index by place, and for each place that has deliveries whether one is still owed.

    ``lost`` has the lines that are known to be gone, ``sizes`` how far each segment is known.
    """

    rows: dict[str, Row]
    deliveries: dict[str, bool]
    lost: tuple[Lost, ...]
    sizes: dict[str, int]


def read(path: Path) -> Snapshot:
    """Read an index; it may raise ``sqlite3.Error``."""
    with opened(path) as connection:
        connection.execute("BEGIN")
        columns = {name for _, name, *_ in connection.execute("PRAGMA table_info(records)")}
        rows = {
            place: Row(*row) for place, *row in connection.execute(ROWS.format(", crc" if "crc" in columns else ""))
        }
        deliveries = {place: bool(owed) for place, owed in connection.execute(DELIVERIES)}
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        lost = connection.execute(LOST).fetchall() if "lost" in tables else []
        sizes = dict(connection.execute("SELECT name, size FROM segments")) if "segments" in tables else {}
        return Snapshot(rows, deliveries, tuple(Lost(*row) for row in lost), sizes)


def entered(path: Path, segment: str) -> list[Lost]:
    """Return the lines that an index knows of a segment, as they would be lost; it may raise ``sqlite3.Error``."""
    with opened(path) as connection:
        query = "SELECT place, segment, number, revision FROM lines WHERE segment = ? ORDER BY number"
        return [Lost(*row) for row in connection.execute(query, (segment,))]


def damage(path: Path) -> str:
    """Say in what an SQLite file is damaged; empty when it is sound, ``sqlite3.Error`` when that can't be told."""
    try:
        with opened(path) as connection:
            said: str = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    except sqlite3.DatabaseError as error:
        if is_damage(error):
            return str(error)
        raise
    return "" if said == "ok" else " ".join(said.split())


def is_damage(error: sqlite3.Error) -> bool:
    """Tell whether an error means that the file itself is damaged."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in DAMAGED


@contextlib.contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """Open an SQLite file so that nothing is written."""
    in_use = path.with_name(f"{path.name}-wal").exists()
    how = "mode=ro" if in_use else "mode=ro&immutable=1"
    with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True)) as connection:
        yield connection
