"""Deliveries out of a damaged index: as many as can still be read, so that what has arrived is not sent again."""

from __future__ import annotations

import contextlib
import sqlite3
from typing import TYPE_CHECKING, Any

from otel_gate.store import snapshot

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from otel_gate.store.database import Database


def deliveries(path: Path) -> list[dict[str, Any]]:
    """Return the rows of the outbox up to the first that can't be read."""
    found: list[dict[str, Any]] = []
    with contextlib.suppress(sqlite3.Error), snapshot.opened(path) as connection:
        connection.row_factory = sqlite3.Row
        found.extend(dict(row) for row in connection.execute("SELECT * FROM outbox"))
    return found


def restore(database: Database, rows: Iterable[Mapping[str, Any]]) -> int:
    """Enter rows into the outbox that it lacks, and return how many; what does not fit into its table is left out."""
    columns = [found["name"] for found in database.execute("PRAGMA table_info(outbox)") if found["name"] != "id"]
    restored = 0
    with database.transaction():
        for row in rows:
            names = [name for name in columns if name in row]
            marks = ", ".join("?" * len(names))
            query = f"INSERT OR IGNORE INTO outbox ({', '.join(names)}) VALUES ({marks})"  # noqa: S608 - the table's names
            with contextlib.suppress(sqlite3.Error):
                restored += database.execute_all(query, [tuple(row[name] for name in names)])
    return restored
