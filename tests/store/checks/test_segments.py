"""Segments: lines that are no record and tails that were cut are told, and mended without the loss of a whole line."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from otel_gate.core import record
from otel_gate.store import Store, lines, listing
from otel_gate.store.checks import segments
from tests.store.checks.examined import HOUR_NS, found, looked
from tests.store.stories import (
    DAY,
    HERE,
    START_NS,
    deliver,
    keep,
    line_place,
    piece,
    quarantine,
    root,
    save,
    span,
    states,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

ONE = lines.name(DAY, 1)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Give a store of lines in which nothing is wrong."""
    store = Store(tmp_path / "store", now_ns=lambda: START_NS, layout="segments")
    keep(store, piece(1, root()), piece(2, root()), piece(1, span(2)), piece(3, span(2)))
    deliver(store, HERE)
    store.segments._now_ns = store.now_ns = lambda: path_of(store).stat().st_mtime_ns + HOUR_NS
    yield store
    store.close()


def path_of(store: Store) -> Path:
    return store.records / listing.names(store.root)[0]


def change(store: Store, place: str, made: Callable[[bytes], bytes]) -> None:
    """Change the bytes of a line where they stand."""
    line = store.segments.located([place])[place]
    content = path_of(store).read_bytes()
    end = line.offset + line.size
    path_of(store).write_bytes(content[: line.offset] + made(content[line.offset : end]) + content[end:])


def test_a_sound_store_has_no_finding(store: Store) -> None:
    """Of what the gate writes nothing is found."""
    assert found(store) == []
    store.close()
    assert found(store) == []


def test_a_line_that_is_no_record_is_moved_away(store: Store) -> None:
    """It is told with segment and number; mended, it is in quarantine and every other line is as it was."""
    change(store, line_place(2), lambda line: b"x" * (len(line) - 1) + b"\n")
    what = f"1 line can't be read: {ONE}:2"
    assert found(store) == [what, f"1 record gone from the disk, 1 of them still owed: {line_place(2)}"]
    left = found(store, mend=True)
    assert left == [f"1 file that can't be read in {store.root / 'quarantine'}"]
    assert [one.name for one in listing.records(store.root)] == [line_place(1), line_place(3)]
    assert len(quarantine(store)) == 1


def test_a_line_that_begins_as_a_record_is_moved_away(store: Store) -> None:
    """A line whose values are not a record's is a record that can't be read; what was before it counts then."""
    change(store, line_place(1), lambda line: line.replace(b'"spans"', b'"spanz"'))
    assert found(store) == [f"1 record can't be read: {line_place(1)}"]
    assert [what.partition(" that")[0] for what in found(store, mend=True)] == ["1 file"]
    assert store.load(line_place(1)).revision == 1
    assert states(store, line_place(1))[0][1] == 2


def test_a_tail_that_was_cut_is_told_when_it_is_old(store: Store) -> None:
    """A part of a line may be on its way; an hour later it is told, and mended without a whole line's loss."""
    with path_of(store).open("ab") as file:
        file.write(b'{"schema":')
    store.segments._now_ns = store.now_ns = lambda: path_of(store).stat().st_mtime_ns
    assert found(store) == []
    store.now_ns = lambda: path_of(store).stat().st_mtime_ns + HOUR_NS
    before = {one.name: listing.content(one) for one in listing.records(store.root)}
    assert found(store) == [f"1 segment cut in the middle of the last line: {ONE}"]
    assert found(store, mend=True) == []
    assert {one.name: listing.content(one) for one in listing.records(store.root)} == before


def test_a_segment_that_goes_while_it_is_mended(store: Store) -> None:
    """What somebody removed meanwhile needs no mending."""
    with path_of(store).open("ab") as file:
        file.write(b"{}\n")
    (finding,) = segments.damaged(looked(store))
    os.unlink(path_of(store))  # noqa: PTH108
    assert finding.mend is not None
    finding.mend()
    assert listing.names(store.root) == []


def test_a_line_that_is_not_written_as_we_write(store: Store) -> None:
    """A line with other bytes than it had, or than ours for its values, is told."""
    change(store, line_place(2), lambda line: line.replace(b'"run-1"', b'"run-9"'))
    assert found(store) == [f"1 record changed since written: {line_place(2)} (it is not the one that was indexed)"]
    change(store, line_place(2), lambda line: line.replace(b"[]", b"[ ]"))
    (what,) = found(store)
    assert "it is not written as we write" in what


def test_a_line_that_is_not_in_the_index(store: Store) -> None:
    """A line that no row has is told, and entered."""
    save(store, piece(7, root()))
    assert found(store) == [f"1 record not in the index as they are: {line_place(7)}"]
    assert found(store, mend=True) == []
    assert states(store, line_place(7)) == []


def test_a_name_that_is_not_of_its_line(store: Store) -> None:
    """Each line is named by the trace in it, so a copy under another id is another record, and changed."""
    kept = replace(store.load(line_place(2)), trace_id=f"{9:032x}")
    with path_of(store).open("ab") as file:
        file.write(record.line_bytes(kept))
    assert found(store) == [f"1 record not in the index as they are: {line_place(9)}"]
