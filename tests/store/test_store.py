"""The store: a record first, then its row and what is owed."""

from __future__ import annotations

import errno
import stat
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from otel_gate.core import record
from otel_gate.core.model import Span, Trace, id_hash
from otel_gate.errors import InputError
from otel_gate.store import Store
from tests.fakes import FaultyFiles
from tests.store.stories import (
    DAY_NS,
    START_NS,
    adding,
    keep,
    on_disk,
    piece,
    place,
    reconcile,
    root,
    save,
    settle,
    span,
    states,
    trace_id,
)

if TYPE_CHECKING:
    from pathlib import Path

    from otel_gate.core.model import Record


FULL = OSError(errno.ENOSPC, "No space left on device")


def test_nothing_is_made_before_it_is_needed(store: Store) -> None:
    """Naming a store makes no folder; a store that is not there has no records to enter."""
    assert not store.root.exists()
    assert reconcile(store) == 0


def test_a_record_is_saved_settled_and_loaded(store: Store) -> None:
    """A first revision lies under its day, is what was built, and is owed to every destination after settling."""
    (saved,) = save(store, piece(1, root(), span(2)))
    assert saved.place == place(1)
    assert store.load(saved.place) == saved.record
    assert saved.size == (store.records / saved.place).stat().st_size
    assert store.index.place_of([trace_id(1)]) == {}
    settle(store, [saved])
    assert store.index.place_of([trace_id(1)]) == {trace_id(1): place(1)}
    assert states(store, place(1)) == [("pending", 2, 0)] * 2


def test_a_rejected_trace_has_a_record_and_no_delivery(store: Store) -> None:
    """What is not well-formed is recorded and indexed, and owed to nobody."""
    (saved,) = keep(store, piece(1, span(2)))
    assert not saved.record.verdict.shape_ok
    assert [found["shape_ok"] for found in store.index.find("")] == [0]
    assert states(store, saved.place) == []


def test_an_amendment_replaces_the_record_in_its_place(store: Store) -> None:
    """Late spans make the next revision, in the folder of the first one, with the history of both."""
    keep(store, piece(1, root()))
    keep(store, piece(1, span(2, start_ns=START_NS - DAY_NS)))
    kept = on_disk(store)
    assert [(was.revision, was.spans, was.id_hash) for was in kept.history] == [
        (1, 1, id_hash(kept.spans[:1])),
        (2, 2, id_hash(kept.spans)),
    ]
    assert [found["revision"] for found in store.index.find("")] == [2]
    assert len([*store.records.rglob("*.json")]) == 1


def test_what_adds_nothing_writes_nothing(store: Store) -> None:
    """When there is nothing to add, no file is written or touched and nothing is returned."""
    assert store.save(trace_id(1), lambda _: None) is None
    assert not store.records.exists()
    keep(store, piece(1, root()))
    before = (store.records / place(1)).stat()
    assert save(store, piece(1, root())) == []
    assert (store.records / place(1)).stat() == before


def test_an_unidentified_trace_is_kept_once(store: Store) -> None:
    """Without a valid trace id a record lies under the hash of its bytes; the same one again is nothing new."""
    nameless = Trace("no id", (root(),))
    (saved,) = keep(store, nameless)
    assert saved.place.startswith("unidentified/")
    assert save(store, nameless) == []
    assert len(save(store, replace(nameless, spans=(root(run_id="run-2"),)))) == 1


def test_a_group_holds_several_pieces_of_a_trace(store: Store) -> None:
    """Pieces of one trace that are saved in one group become revisions of one record, in their order."""
    pieces = [piece(1, root()), piece(2, root()), piece(1, span(2)), piece(1, span(3)), piece(1, span(3))]
    results = store.save_all([(one.trace_id, adding(one)) for one in pieces])
    assert [result.record.revision if isinstance(result, tuple) else result for result in results] == [1, 1, 2, 3, None]
    settle(store, [result for result in results if isinstance(result, tuple)])
    assert [one.span_id for one in on_disk(store).spans] == [root().span_id, span(2).span_id, span(3).span_id]
    assert states(store, place(1)) == [("pending", 3, 0)] * 2


def test_a_group_on_both_sides_of_midnight_is_one_record(store: Store) -> None:
    """Pieces of one trace whose starts lie on two days share the first one's place, also before it is settled."""
    early, late = piece(1, root()), piece(1, span(2, start_ns=START_NS + DAY_NS))
    saved = save(store, early, late, piece(1, span(3, start_ns=START_NS + DAY_NS)))
    assert [one.place for one in saved] == [place(1)] * 3
    assert len([*store.records.rglob("*.json")]) == 1


def test_a_fault_of_one_trace_is_not_its_neighbours(store: Store) -> None:
    """Of a group, what can't be built or written is a fault in its place; the others are saved."""

    def broken(_: Record | None) -> Record | None:
        message = "of ours"
        raise LookupError(message)

    wanted: list[Any] = [
        (trace_id(1), adding(piece(1, root()))),
        (trace_id(2), broken),
        (trace_id(3), adding(piece(3, root()))),
    ]
    first, fault, third = store.save_all(wanted)
    assert isinstance(fault, LookupError)
    assert [one.place for one in (first, third) if isinstance(one, tuple)] == [place(1), place(3)]
    with pytest.raises(LookupError, match="of ours"):
        store.save(trace_id(2), broken)


def test_every_file_is_private(store: Store) -> None:
    """All of a store is mode 0600 in folders 0700, the database and what lies in quarantine too."""
    keep(store, piece(1, root()))
    keep(store, piece(1, span(2)))
    (store.records / place(1)).write_bytes(b"damaged")
    keep(store, piece(1, span(3)))
    store.blobs.put("ab" * 32, b"arguments")
    found = [store.root, *store.root.rglob("*")]
    modes = {path.relative_to(store.root).as_posix(): stat.S_IMODE(path.stat().st_mode) for path in found}
    assert {name for name, mode in modes.items() if mode != (0o700 if (store.root / name).is_dir() else 0o600)} == set()
    assert {"records", "blobs", "quarantine", "index.sqlite3", "index.sqlite3-wal"} <= modes.keys()


def test_what_is_missing_is_told(store: Store) -> None:
    """A record that is not there, or is none, is an error that names the file and what to try."""
    with pytest.raises(InputError, match=r"expected a record, got .*; try otel-gate doctor"):
        store.load(place(1))
    keep(store, piece(1, root()))
    (store.records / place(1)).write_bytes(b"{}")
    with pytest.raises(InputError, match=place(1)):
        store.load(place(1))


def test_what_a_full_disk_keeps_out_can_be_saved_later(tmp_path: Path) -> None:
    """A full disk at any step is told; the same pieces saved again make the same record, with nothing left over."""
    pieces = piece(1, root()), piece(1, span(2))
    untroubled = FaultyFiles()
    store = Store(tmp_path / "untroubled", files=untroubled)
    keep(store, *pieces)
    store.close()
    assert {*untroubled.steps} == {"open", "write", "flush", "link", "rename", "sync"}
    for step in range(1, len(untroubled.steps) + 1):
        files = FaultyFiles(FULL, step)
        store = Store(tmp_path / str(step), files=files)
        with pytest.raises(OSError, match="No space left on device"):
            keep(store, *pieces)
        reconcile(store)
        keep(store, *pieces)
        store.close()
        assert (store.records / place(1)).read_bytes() == (tmp_path / "untroubled" / "records" / place(1)).read_bytes()
        assert [(found["revision"], found["spans"]) for found in store.index.find("")] == [(2, 2)]
        assert states(store, place(1)) == [("pending", 2, 0)] * 2
        assert [*store.root.rglob("*.tmp")] == []
        store.close()


def test_the_bytes_of_a_record_are_what_was_settled(store: Store) -> None:
    """The file of a record holds exactly the bytes of the value that was returned."""
    for saved in keep(store, piece(1, root()), piece(1, span(2))):
        expected = record.record_bytes(saved.record)
        assert saved.size == len(expected)
    assert (store.records / place(1)).read_bytes() == expected


def test_spans_are_only_appended(store: Store) -> None:
    """Revision after revision, the spans of the one before come first."""
    before: tuple[Span, ...] = ()
    for number in range(2, 6):
        (saved,) = keep(store, piece(1, span(number), root()))
        assert saved.record.spans[: len(before)] == before
        before = saved.record.spans
