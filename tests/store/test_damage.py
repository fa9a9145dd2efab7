"""Damage: what can't be read is moved away and kept, and stops nothing that comes after it."""

from __future__ import annotations

import errno
import sqlite3
from typing import TYPE_CHECKING, Any

import pytest

from otel_gate.store import Store
from otel_gate.store.files import Files
from tests.store.stories import (
    DAY,
    DAY_NS,
    HERE,
    NEXT_DAY,
    START_NS,
    adding,
    age,
    damage,
    deliver,
    keep,
    on_disk,
    piece,
    place,
    quarantine,
    reconcile,
    root,
    save,
    span,
    states,
    trace_id,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from otel_gate.core.model import Record


@pytest.mark.parametrize("damaged", [b"", b'{"schema":"otel-gate/record/1",', b"\x00" * 500])
def test_a_damaged_record_is_moved_away_when_its_trace_is_amended(store: Store, damaged: bytes) -> None:
    """A record that can't be read goes to quarantine as it is, and the span that came is kept in a new one."""
    keep(store, piece(1, root(), span(2)))
    (store.records / place(1)).write_bytes(damaged)
    (saved,) = keep(store, piece(1, span(3)))
    assert quarantine(store) == [damaged]
    assert [one.span_id for one in on_disk(store).spans] == [span(3).span_id]
    assert saved.record.revision == 1
    assert [(found["place"], found["revision"], found["spans"]) for found in store.index.find("")] == [(place(1), 1, 1)]


def test_a_damaged_record_that_is_not_indexed(store: Store) -> None:
    """Damage that the index knows nothing of is found in the place that the new record should have."""
    (saved,) = save(store, piece(1, root()))
    (store.records / saved.place).write_bytes(b"damaged")
    another = Store(store.root, now_ns=store.now_ns)
    keep(another, piece(1, span(2)))
    assert quarantine(store) == [b"damaged"]
    assert on_disk(another).spans == (span(2),)
    another.close()


def test_a_record_that_somebody_removed(store: Store) -> None:
    """When a record is gone, what comes late is a new record in its own place, and amended there from then on."""
    keep(store, piece(1, root()))
    (store.records / place(1)).unlink()
    for number in (2, 3, 4):
        keep(store, piece(1, span(number, start_ns=START_NS + DAY_NS)))
    assert [one.span_id for one in on_disk(store, 1, NEXT_DAY).spans] == [span(number).span_id for number in (2, 3, 4)]
    assert [found["place"] for found in store.index.find("")] == [place(1, NEXT_DAY)]
    assert len([*store.records.rglob("*.json")]) == 1


def test_another_process_takes_the_place_of_what_was_moved_away(store: Store, again: Callable[[], Store]) -> None:
    """A record that appears between quarantine and the new record is amended."""
    keep(store, piece(1, root()))
    (store.records / place(1)).write_bytes(b"damaged")
    other = again()

    def build(before: Record | None) -> Record | None:
        if before is None:
            keep(other, piece(1, root()))
        return adding(piece(1, span(2)))(before)

    saved = store.save(trace_id(1), build)
    assert saved is not None
    assert [one.span_id for one in on_disk(store).spans] == [root().span_id, span(2).span_id]


def test_a_file_that_can_not_be_read_now_is_not_damaged(store: Store) -> None:
    """A fault of the disk while a record is read is told, and the record stays where it is."""

    class Unreadable(Files):
        def read(self, path: Path) -> bytes:
            raise OSError(errno.EIO, "Input/output error", str(path))

    keep(store, piece(1, root()))
    store.files = Unreadable()
    with pytest.raises(OSError, match="Input/output"):
        save(store, piece(1, span(2)))
    store.database.execute("DELETE FROM records")
    age(store)
    assert reconcile(store) == 0
    store.files = Files()
    assert on_disk(store).spans == (root(),)
    assert reconcile(store) == 1


def test_reconcile_moves_damaged_records_away(store: Store) -> None:
    """A record that can't be read goes to quarantine, and what else lies in the folder is let be."""
    save(store, piece(1, root()), piece(2, root()))
    (store.records / place(1)).write_bytes(b"damaged")
    (store.records / DAY / "a.json.1-1.tmp").write_bytes(b"half")
    (store.records / "note.txt").write_text("not ours")
    assert reconcile(store) == 1
    assert quarantine(store) == [b"damaged"]
    assert [found["place"] for found in store.index.find("")] == [place(2)]


def test_a_damaged_record_may_be_mended_before_it_is_moved(store: Store) -> None:
    """What another process has put in the place of a damaged record meanwhile is not moved away."""
    save(store, piece(1, root()))
    whole = (store.records / place(1)).read_bytes()
    (store.records / place(1)).write_bytes(b"damaged")

    class Mended(Files):
        def lock(self, path: Path) -> Any:
            (store.records / place(1)).write_bytes(whole)
            return super().lock(path)

    store.files = Mended()
    assert reconcile(store) == 1
    assert quarantine(store) == []


@pytest.mark.parametrize("whole", [True, False])
def test_a_damaged_database_is_made_again(store: Store, *, whole: bool) -> None:
    """A database that is damaged, at once or deep inside, is moved aside and made anew; all is owed once more."""
    keep(store, piece(1, root()), piece(2, span(2)))
    deliver(store, HERE)
    damage(store)
    if whole:
        store.database.path.write_bytes(b"no database")
    assert reconcile(store) == 2
    assert states(store, place(1)) == [("pending", 1, 0)] * 2
    assert (store.root / "index.sqlite3.damaged").exists()
    assert not store.database.renewed


def test_damage_met_by_a_save_stops_no_record(store: Store) -> None:
    """A save that meets a damaged database finds the record of its trace on the disk, on whatever day it lies."""
    keep(store, piece(1, root()), piece(2, root()))
    damage(store)
    late = span(2, start_ns=START_NS + DAY_NS)
    assert [one.record.revision for one in keep(store, piece(1, late), piece(2, late), piece(3, late))] == [2, 2, 1]
    assert len([*store.records.rglob("*.json")]) == 3


def test_a_database_of_another_shape_is_told(store: Store) -> None:
    """What is wrong with the database, and is no damage, comes out of saving and reconciling."""
    store.root.mkdir()
    with sqlite3.connect(store.database.path) as connection:
        connection.execute("CREATE TABLE records (text TEXT)")
    connection.close()
    with pytest.raises(sqlite3.OperationalError):
        save(store, piece(1, root()))
    with pytest.raises(sqlite3.OperationalError):
        reconcile(store)
