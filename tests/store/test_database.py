"""The SQLite file: opened when it is needed, one transaction at a time, and moved aside when it is damaged."""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from otel_gate.store.database import Database
from otel_gate.store.files import Files

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SAW = "INSERT INTO folders VALUES (?, ?)"
PAGE = 4096


FIRST = """
CREATE TABLE outbox (
  id INTEGER PRIMARY KEY, place TEXT NOT NULL, trace_id TEXT NOT NULL, destination TEXT NOT NULL, state TEXT NOT NULL,
  spans INTEGER NOT NULL, sent INTEGER NOT NULL DEFAULT 0, attempts INTEGER NOT NULL DEFAULT 0,
  next_ns INTEGER NOT NULL DEFAULT 0, lease TEXT NOT NULL DEFAULT '', lease_until_ns INTEGER NOT NULL DEFAULT 0,
  code TEXT NOT NULL DEFAULT '', message TEXT NOT NULL DEFAULT '', updated_ns INTEGER NOT NULL DEFAULT 0,
  UNIQUE (place, destination)
) STRICT;
INSERT INTO outbox (place, trace_id, destination, state, spans, attempts, code, updated_ns)
VALUES ('day/1', 'one', 'otlp', 'rejected', 3, 2, 'HTTP 400', 70), ('day/2', 'two', 'otlp', 'pending', 3, 0, '', 80);
"""  # as the first version made it


def opened(path: Path) -> Database:
    """Return a database of this folder, which is not open yet."""
    return Database(path / "index.sqlite3", Files())


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    """Give a database, and close it."""
    database = opened(tmp_path)
    yield database
    database.close()


def folders(database: Database) -> list[str]:
    """Return what is in one of the tables."""
    return [row["name"] for row in database.execute("SELECT name FROM folders ORDER BY name")]


def damage(path: Path) -> None:
    """Overwrite every page but the first, which lists the tables."""
    content = path.read_bytes()
    path.write_bytes(content[:PAGE] + b"\xff" * (len(content) - PAGE))


LOOK = "import sqlite3, sys; seen = sqlite3.connect(sys.argv[1]); seen.execute('SELECT * FROM folders'); seen.close()"


def test_a_second_connection_of_a_process_leaves_the_locks_of_the_first(tmp_path: Path) -> None:
    """A reader in another process is not the last one, and takes no log away from under a process with two of them."""
    first, second = opened(tmp_path), opened(tmp_path)
    for number, one in enumerate((first, second)):
        one.execute(SAW, (f"day {number}", number))
    subprocess.run([sys.executable, "-c", LOOK, str(first.path)], check=True)
    assert first.path.with_name(f"{first.path.name}-wal").exists()
    first.execute(SAW, ("day 2", 2))
    first.close()
    second.close()
    assert folders(opened(tmp_path)) == ["day 0", "day 1", "day 2"]


def test_nothing_is_made_before_it_is_needed(database: Database, tmp_path: Path) -> None:
    """The file appears with the first use; closing an unused database does nothing."""
    database.close()
    assert list(tmp_path.iterdir()) == []
    assert folders(database) == []
    assert database.path.stat().st_mode & 0o777 == 0o600


def test_a_closed_database_opens_again(database: Database) -> None:
    """What was written is there after closing."""
    database.execute(SAW, ("a", 1))
    database.close()
    assert folders(database) == ["a"]


def test_a_transaction_is_whole_or_not_at_all(database: Database) -> None:
    """A block that fails leaves nothing of what it did, and the next one can start."""
    with contextlib.suppress(KeyError), database.transaction():
        database.execute(SAW, ("a", 1))
        raise KeyError
    with pytest.raises(sqlite3.IntegrityError), database.transaction():
        database.execute_all(SAW, [("b", 1), ("b", 1)])
    with database.transaction():
        assert database.execute_all(SAW, [("c", 1), ("d", 1)]) == 2
    assert folders(database) == ["c", "d"]


def test_a_file_that_is_no_database_is_moved_aside(database: Database, tmp_path: Path) -> None:
    """A file with other content is kept under another name, and an empty database starts in its place."""
    database.path.write_bytes(b"no database" * 1000)
    assert folders(database) == []
    assert database.renewed
    assert (tmp_path / "index.sqlite3.damaged").read_bytes() == b"no database" * 1000


def test_what_belongs_to_a_damaged_file_goes_with_it(database: Database, tmp_path: Path) -> None:
    """The write-ahead log of a damaged file, which another process still has open, is not taken for the new file's."""
    other = opened(tmp_path)
    other.execute(SAW, ("a", 1))
    other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    damage(database.path)
    with pytest.raises(sqlite3.DatabaseError):
        folders(database)
    assert {"index.sqlite3.damaged", "index.sqlite3-wal.damaged"} <= {path.name for path in tmp_path.iterdir()}
    other.close()
    assert folders(database) == []


def test_damage_that_shows_later_moves_the_file_aside_too(database: Database, tmp_path: Path) -> None:
    """A database whose damage is met by a query is moved aside; the query fails, the next one meets an empty one."""
    database.execute(SAW, ("a", 1))
    database.close()
    damage(database.path)
    with pytest.raises(sqlite3.DatabaseError):
        folders(database)
    assert database.renewed
    assert folders(database) == []
    assert (tmp_path / "index.sqlite3.damaged").exists()


def test_damage_inside_a_transaction_ends_it(database: Database) -> None:
    """A transaction that meets damage fails, and the next one begins in an empty database."""
    database.execute(SAW, ("a", 1))
    database.close()
    damage(database.path)
    with pytest.raises(sqlite3.DatabaseError), database.transaction():
        folders(database)
    with database.transaction():
        database.execute(SAW, ("b", 1))
    assert folders(database) == ["b"]


def test_a_file_that_has_taken_the_place_is_left_alone(database: Database, tmp_path: Path) -> None:
    """A second process that meets the same damage later finds the healthy file of the first one, and uses it."""
    database.execute(SAW, ("a", 1))
    database.close()
    damage(database.path)
    second = opened(tmp_path)
    assert second.execute("SELECT 1")
    with pytest.raises(sqlite3.DatabaseError):
        folders(database)
    database.execute(SAW, ("b", 1))
    with pytest.raises(sqlite3.DatabaseError):
        folders(second)
    assert folders(second) == folders(database) == ["b"]
    second.close()


def test_damage_to_a_file_that_is_gone(database: Database) -> None:
    """A damaged file that somebody removed needs no moving."""
    database.execute(SAW, ("a", 1))
    database.close()
    damage(database.path)
    assert database.execute("SELECT 1")
    database.path.unlink()
    with pytest.raises(sqlite3.DatabaseError):
        folders(database)
    assert folders(database) == []


def test_a_database_that_is_only_busy_stays(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lock of another process is told as such, and moves nothing."""
    monkeypatch.setattr("otel_gate.store.database.BUSY_MS", 1)
    other = opened(tmp_path)
    with other.transaction(), pytest.raises(sqlite3.OperationalError, match="locked"), database.transaction():
        pass
    other.close()
    assert not database.renewed


def test_a_place_that_can_not_be_opened_is_told(tmp_path: Path) -> None:
    """What is no damage of the file is not answered by moving it: a folder in its place stays."""
    (tmp_path / "index.sqlite3").mkdir()
    with pytest.raises(OSError, match="directory"):
        opened(tmp_path).execute("SELECT 1")
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == ["index.sqlite3"]


def test_tables_of_another_kind_are_not_taken_for_damage(tmp_path: Path) -> None:
    """A database that holds other tables of these names is told, and not moved."""
    with sqlite3.connect(tmp_path / "index.sqlite3") as connection:
        connection.execute("CREATE TABLE records (text TEXT)")
    connection.close()
    with pytest.raises(sqlite3.OperationalError, match="no such column"):
        opened(tmp_path).execute("SELECT 1")
    assert not (tmp_path / "index.sqlite3.damaged").exists()


def test_the_outbox_of_the_first_version_is_brought_up_to_date(database: Database) -> None:
    """Its rows stay and get the times that are known of them, once, however often it is opened."""
    with sqlite3.connect(database.path) as connection:
        connection.executescript(FIRST)
    connection.close()
    names = ("state", "attempts", "code", "updated_ns", "owed_ns", "tried_ns", "traces")
    for owed_ns in (70, 71):
        rows = [tuple(row[name] for name in names) for row in database.execute("SELECT * FROM outbox ORDER BY id")]
        assert rows == [("rejected", 2, "HTTP 400", 70, owed_ns, 70, 0), ("pending", 0, "", 80, 80, 0, 0)]
        database.execute("UPDATE outbox SET owed_ns = 71 WHERE id = 1")
        database.close()
    assert not database.renewed


def test_a_new_outbox_has_the_columns_of_an_old_one(database: Database, tmp_path: Path) -> None:
    """Whether a file was made by this version or brought up to date makes no difference."""
    (tmp_path / "old").mkdir()
    old = opened(tmp_path / "old")
    with sqlite3.connect(old.path) as connection:
        connection.executescript(FIRST)
    connection.close()
    columns = [[tuple(row)[1:] for row in each.execute("PRAGMA table_info(outbox)")] for each in (database, old)]
    assert columns[0] == columns[1]
    old.close()


def test_an_index_of_an_earlier_version_learns_of_sums(tmp_path: Path) -> None:
    """Its rows have no sum of their file's bytes yet, which is said to be unknown."""
    first = opened(tmp_path)
    first.execute("ALTER TABLE records DROP COLUMN crc")
    first.close()
    columns = {found["name"]: found["dflt_value"] for found in opened(tmp_path).execute("PRAGMA table_info(records)")}
    assert columns["crc"] == "-1"
