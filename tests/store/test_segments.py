"""Records as lines of segments: the same store, whoever writes, whatever was cut or lost."""

from __future__ import annotations

import errno
import os
import shutil
from typing import TYPE_CHECKING

import pytest

from otel_gate.core import record
from otel_gate.errors import InputError
from otel_gate.store import Store, lines, listing
from tests.fakes import FaultyFiles
from tests.store.stories import (
    DAY,
    DAY_NS,
    DESTINATIONS,
    HERE,
    NEXT_DAY,
    START_NS,
    adding,
    deliver,
    keep,
    line_place,
    piece,
    place,
    quarantine,
    reconcile,
    root,
    save,
    settle,
    span,
    states,
    trace_id,
    well_formed,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from otel_gate.core.model import Record

FULL = OSError(errno.ENOSPC, "No space left on device")
ONE, TWO, THREE = (lines.name(DAY, number) for number in (1, 2, 3))
Open = "Callable[..., Store]"


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[..., Store]]:
    """Give what opens the same store, as another process does."""
    made: list[Store] = []

    def open_store(*, files: FaultyFiles | None = None, now_ns: int = START_NS, layout: str = "segments") -> Store:
        made.append(Store(tmp_path / "store", files=files, now_ns=lambda: now_ns, layout=layout))
        return made[-1]

    yield open_store
    for one in made:
        one.close()


@pytest.fixture
def store(opened: Callable[..., Store]) -> Store:
    """Give an empty store."""
    return opened()


def on_disk(store: Store) -> dict[str, Record]:
    """Return the records of a store, without its index."""
    return {one.name: record.decode(listing.content(one)) for one in listing.records(store.root)}


def spans(store: Store) -> dict[str, int]:
    """Return how many spans each record has, by its place."""
    return {name: len(kept.spans) for name, kept in on_disk(store).items()}


def rows(store: Store) -> dict[str, tuple[int, int]]:
    """Return revision and number of spans of each row of the index."""
    return {row["place"]: (row["revision"], row["spans"]) for row in store.index.find("", 1000)}


def names(store: Store) -> list[str]:
    """Name the segments."""
    return listing.names(store.root)


def test_a_record_is_a_line(store: Store) -> None:
    """A record is appended to the segment of the day, is what was built, and is owed to every destination."""
    (saved,) = save(store, piece(1, root(), span(2)))
    assert (saved.place, names(store)) == (line_place(1), [ONE])
    assert (store.records / ONE).read_bytes() == record.line_bytes(saved.record) == store.content(saved.place)
    assert store.load(saved.place) == saved.record
    assert store.where(saved.place) == (store.records / ONE, 1)
    settle(store, [saved])
    assert states(store, line_place(1)) == [("pending", 2, 0)] * 2
    assert (reconcile(store), rows(store)) == (0, {line_place(1): (1, 2)})


def test_a_revision_is_a_line_more(store: Store) -> None:
    """An amendment is appended, and the last line is the record; the earlier one stays as it was."""
    (first,) = keep(store, piece(1, root()))
    keep(store, piece(2, root()))
    (second,) = keep(store, piece(1, span(2)))
    assert second.record.revision == 2
    content = b"".join(map(record.line_bytes, (first.record, on_disk(store)[line_place(2)], second.record)))
    assert (store.records / ONE).read_bytes() == content
    assert store.where(line_place(1)).line == 3
    assert str(store.where(line_place(1))) == f"{store.records / ONE}:3"
    assert states(store, line_place(1)) == [("pending", 2, 0)] * 2
    assert save(store, piece(1, span(2))) == []


def test_a_group_is_one_write_and_one_sync(opened: Callable[..., Store]) -> None:
    """However many records come together, they are appended and made durable at once."""
    files = FaultyFiles()
    store = opened(files=files)
    pieces = [piece(number, root()) for number in range(1, 50)]
    results = store.save_all([(one.trace_id, adding(one)) for one in pieces])
    assert (files.steps.count("append"), files.steps.count("flush")) == (1, 1)
    assert len(on_disk(store)) == len(results) == 49


def test_a_group_holds_several_pieces_of_a_trace(store: Store) -> None:
    """Pieces of one trace in one group are revisions of one record; what adds nothing writes nothing."""
    pieces = [piece(1, root()), piece(1, span(2)), piece(1, span(2)), piece(1, span(3))]
    results = store.save_all([(one.trace_id, adding(one)) for one in pieces])
    assert [one and one.record.revision for one in results] == [1, 2, None, 3]  # type: ignore[union-attr]
    assert spans(store) == {line_place(1): 3}


def test_a_fault_of_one_trace_is_not_its_neighbours(store: Store) -> None:
    """A trace that can't be built has its fault as its result, and the others are saved."""

    def fails(_before: Record | None) -> Record | None:
        raise ZeroDivisionError

    keep(store, piece(3, root()))
    wanted = [(trace_id(1), adding(piece(1, root()))), (trace_id(2), fails), (trace_id(3), fails)]
    first, second, third = store.save_all(wanted)
    assert isinstance(second, ZeroDivisionError)
    assert isinstance(third, ZeroDivisionError)
    assert spans(store) == {line_place(1): 1, line_place(3): 1}
    assert first is not None


def test_what_adds_nothing_writes_nothing(store: Store) -> None:
    """A build that returns None has None as its result: no segment is begun, no lock is taken."""
    assert store.save_all([(trace_id(1), lambda _: None)]) == [None]
    assert not store.root.exists() or names(store) == []


def test_what_is_missing_is_told(store: Store) -> None:
    """A record whose segment is gone, and one that never was, can't be loaded."""
    keep(store, piece(1, root()))
    shutil.rmtree(store.records / DAY)
    for number in (1, 2):
        with pytest.raises(InputError, match="expected a record"):
            store.load(line_place(number))


def test_an_unidentified_trace_is_kept_once(store: Store) -> None:
    """Without a trace id the place is the hash of the line, and the same trace is not kept again."""
    nameless = piece(1, root())
    nameless = type(nameless)("../up", nameless.spans, completion=nameless.completion)
    (saved,) = keep(store, nameless)
    assert saved.place == record.line_place("../up", record.line_bytes(saved.record))
    assert save(store, nameless) == []
    assert len(on_disk(store)) == 1


def test_segments_are_turned_by_size(store: Store) -> None:
    """A segment that has its size is left, and the next one begins; an amendment goes to the last."""
    store.segments.most_bytes = 1
    for number in (1, 2):
        keep(store, piece(number, root()))
    keep(store, piece(1, span(2)))
    assert names(store) == [ONE, TWO, THREE]
    assert store.where(line_place(1)) == (store.records / THREE, 1)
    assert spans(store) == {line_place(1): 2, line_place(2): 1}


def test_segments_are_turned_by_day(opened: Callable[..., Store]) -> None:
    """On another day another segment begins; when the clock goes back, the last segment goes on."""
    keep(opened(), piece(1, root()))
    keep(opened(now_ns=START_NS + DAY_NS), piece(2, root()))
    keep(opened(now_ns=START_NS), piece(3, root()))
    assert names(opened()) == [ONE, lines.name(NEXT_DAY, 1)]
    assert opened().where(line_place(3)) == (opened().records / lines.name(NEXT_DAY, 1), 2)


def test_two_processes_append_to_one_segment(opened: Callable[..., Store]) -> None:
    """Processes take turns: the lines of both have one order, and a trace of both is one record."""
    one, two = opened(), opened()
    for number in range(1, 4):
        save(one, piece(number, root()))
        save(two, piece(number, span(number + 1)), piece(number + 10, root()))
    assert names(one) == [ONE]
    assert spans(one) == {line_place(number): 2 if number < 10 else 1 for number in (1, 2, 3, 11, 12, 13)}
    assert reconcile(opened()) == 6


def test_a_process_that_was_first_is_amended(opened: Callable[..., Store]) -> None:
    """A trace that another process records while ours is built gets one record, its next revision."""
    one, two = opened(), opened()

    def late(before: Record | None) -> Record | None:
        if before is None:
            save(two, piece(1, root()))
        return adding(piece(1, span(2)))(before)

    saved = one.save(trace_id(1), late)
    assert saved is not None
    assert (saved.record.revision, spans(one)) == (2, {line_place(1): 2})


def test_a_process_that_was_first_with_a_file_is_amended(opened: Callable[..., Store]) -> None:
    """A file that is not in the index yet is seen, too: the trace has one record."""
    one, two = opened(), opened(layout="files")

    def late(before: Record | None) -> Record | None:
        if before is None:
            save(two, piece(1, root()))
        return adding(piece(1, span(2)))(before)

    saved = one.save(trace_id(1), late)
    assert saved is not None
    assert (saved.place, spans(one)) == (place(1), {place(1): 2})


@pytest.mark.parametrize("layout", ["files", "segments"])
def test_a_record_is_amended_in_the_form_that_it_has(opened: Callable[..., Store], layout: str) -> None:
    """Whatever the setting says of new records, a file stays a file and a line a line."""
    keep(opened(layout="files"), piece(1, root()))
    keep(opened(layout="segments"), piece(2, root()))
    store = opened(layout=layout)
    keep(store, piece(1, span(2)), piece(2, span(2)), piece(3, root()))
    new = place(3) if layout == "files" else line_place(3)
    assert spans(store) == {place(1): 2, line_place(2): 2, new: 1}
    assert rows(store) == {place(1): (2, 2), line_place(2): (2, 2), new: (1, 1)}
    assert len(deliver(store, HERE)) == 3


@pytest.mark.parametrize("cut", [1, 40, 400])
def test_a_torn_tail_is_never_gone_on_from(opened: Callable[..., Store], cut: int) -> None:
    """What was cut in the middle of a line is passed over: the next line begins a segment of its own."""
    store = opened()
    keep(store, piece(1, root()), piece(2, root()))
    path = store.records / ONE
    os.truncate(path, path.stat().st_size - cut)
    keep(opened(), piece(3, root()))
    assert names(store) == [ONE, TWO]
    assert spans(store) == {line_place(1): 1, line_place(3): 1}
    reconcile(opened())
    assert store.where(line_place(2)) == (store.records / ONE, 2)
    with pytest.raises(InputError):
        store.load(line_place(2))


def test_what_others_appended_without_a_word_is_entered(store: Store, opened: Callable[..., Store]) -> None:
    """A segment that grew, by a process that ended before it told the index, is read from where it was known."""
    keep(store, piece(1, root()))
    made = adding(piece(2, root()))(None)
    assert made is not None
    with (store.records / ONE).open("ab") as file:
        file.write(record.line_bytes(made))
    (saved,) = save(opened(), piece(2, span(2)))
    assert (saved.record.revision, names(store)) == (2, [ONE])


def test_an_append_that_fails_is_cut_off_again(opened: Callable[..., Store]) -> None:
    """What a full disk took of a group is cut off: nothing of it is there, and it can be saved later."""
    files = FaultyFiles()
    store = opened(files=files)
    keep(store, piece(1, root()))
    before = (store.records / ONE).read_bytes()
    for at in (1, 2):  # the append, the sync
        files.fault, files.at = FULL, len(files.steps) + 2 + at
        results = store.save_all([(trace_id(number), adding(piece(number, root()))) for number in (2, 3)])
        assert [type(one) for one in results] == [OSError, OSError], files.steps[-8:]
        assert files.steps[-1] == "cut"
        assert (store.records / ONE).read_bytes() == before
    files.fault = None
    keep(store, piece(2, root()))
    assert (names(store), spans(store)) == ([ONE], {line_place(1): 1, line_place(2): 1})


def test_what_can_not_be_cut_off_is_passed_over(opened: Callable[..., Store]) -> None:
    """When a disk refuses that too, whole lines count and the rest does not; the next one begins a segment."""
    files = FaultyFiles()
    store = opened(files=files)
    keep(store, piece(1, root()))
    files.fault, files.at, files.lasting, files.torn = FULL, len(files.steps) + 3, 2, 0.75
    wanted = [(trace_id(number), adding(piece(number, root()))) for number in (2, 3)]
    assert [type(one) for one in store.save_all(wanted)] == [OSError, OSError]
    assert files.steps[-2:] == ["append", "cut"]
    files.fault = None
    assert [one is None for one in store.save_all(wanted)] == [True, False]  # the first was whole
    assert (names(store), spans(store)) == ([ONE, TWO], {line_place(number): 1 for number in (1, 2, 3)})


def test_a_lost_index_is_made_again(store: Store, opened: Callable[..., Store]) -> None:
    """Every record is found by reading the segments, with the revision that counts."""
    store.segments.most_bytes = 1000
    for number in range(1, 8):
        keep(store, piece(number, root()))
    keep(store, piece(3, span(2)))
    before = rows(store)
    store.close()
    for path in store.root.glob("index.sqlite3*"):
        path.unlink()
    again = opened()
    assert reconcile(again, *DESTINATIONS) == 7
    assert rows(again) == before
    assert again.load(line_place(3)).revision == 2
    assert again.rebuild(well_formed) == 7
    assert rows(again) == before


def test_a_damaged_index_met_by_a_save(store: Store, opened: Callable[..., Store]) -> None:
    """Lines that only the segments know are found before anything is appended."""
    keep(store, piece(1, root()))
    store.close()
    (store.root / "index.sqlite3").write_bytes(b"x" * 4096)
    for path in store.root.glob("index.sqlite3-*"):
        path.unlink()
    (saved,) = save(opened(), piece(1, span(2)))
    assert (saved.record.revision, spans(store)) == (2, {line_place(1): 2})


def test_a_segment_that_somebody_removed(store: Store, opened: Callable[..., Store]) -> None:
    """Its lines are forgotten; what comes begins anew."""
    keep(store, piece(1, root()))
    shutil.rmtree(store.records / DAY)
    (saved,) = save(store, piece(1, span(2)))
    assert saved.record.revision == 1
    shutil.rmtree(store.records / DAY)
    reconcile(opened())
    assert store.segments.located([line_place(1)]) == {}


def test_a_damaged_line_is_moved_away_when_its_trace_is_amended(store: Store) -> None:
    """What can't be read goes to quarantine; the line before it counts again, and is amended."""
    keep(store, piece(1, root()), piece(2, root()), piece(1, span(2)))
    path, line = store.records / ONE, store.segments.located([line_place(1)])[line_place(1)]
    content = bytearray(path.read_bytes())
    content[line.offset : line.offset + line.size] = damaged = content[line.offset :].replace(b'"spans"', b'"spanz"')
    path.write_bytes(content)
    with pytest.raises(InputError):
        store.load(line_place(1))
    (saved,) = keep(store, piece(1, span(3)))
    assert (saved.record.revision, len(saved.record.spans)) == (2, 2)
    assert quarantine(store) == [bytes(damaged)]
    assert spans(store) == {line_place(1): 2, line_place(2): 1}
    assert reconcile(store) == 0


def test_a_line_that_can_not_be_read_is_left_to_whoever_looks(store: Store, opened: Callable[..., Store]) -> None:
    """A line that is no record at all stands in nobody's way: the others are entered."""
    save(store, piece(1, root()), piece(2, root()))
    path = store.records / ONE
    path.write_bytes(path.read_bytes() + b'{"schema":"otel-gate/record/1"}\n')
    again = opened()
    assert reconcile(again) == 2
    assert rows(again) == {line_place(1): (1, 1), line_place(2): (1, 1)}


def test_a_record_without_spans_is_quarantined_by_reconcile(store: Store, opened: Callable[..., Store]) -> None:
    """A line that begins as a record and is none goes to quarantine when it is to be entered."""
    save(store, piece(1, root()))
    with (store.records / ONE).open("ab") as file:
        file.write(b'{"schema":"otel-gate/record/1","trace_id":"' + trace_id(2).encode() + b'","revision":1}\n')
    again = opened()
    assert reconcile(again) == 1
    assert len(quarantine(again)) == 1
    assert (spans(again), names(again)) == ({line_place(1): 1}, [TWO])


def test_a_line_that_moved_is_found(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who was told where a record is, and finds the segment gone, is told again."""
    keep(store, piece(1, root()), piece(2, root()))
    before = store.segments.located([line_place(2)])
    with store.amending():
        store.segments.rewrite(ONE, without=frozenset([line_place(1)]))
    answers = iter([before])
    located = store.segments.located
    monkeypatch.setattr(store.segments, "located", lambda places: next(answers, None) or located(places))
    assert store.load(line_place(2)).trace_id == trace_id(2)
    assert store.where(line_place(2)) == (store.records / TWO, 1)


def test_a_segment_that_is_written_again_keeps_its_age(store: Store) -> None:
    """What counts is put into a segment that is as old, and what is no record into quarantine."""
    keep(store, piece(1, root()), piece(2, root()), piece(1, span(2)))
    path = store.records / ONE
    path.write_bytes(path.read_bytes() + b"{}\n" + b'{"schema":')
    os.utime(path, ns=(START_NS, START_NS))
    size = path.stat().st_size
    with store.amending():
        freed = store.segments.rewrite(ONE)
    new = store.records / TWO
    assert (freed, new.stat().st_mtime_ns) == (size - new.stat().st_size, START_NS)
    assert quarantine(store) == [b"{}\n"]
    assert (names(store), spans(store)) == ([TWO], {line_place(1): 2, line_place(2): 1})
    assert (reconcile(store), rows(store)) == (0, {line_place(1): (2, 2), line_place(2): (1, 1)})


def test_a_segment_that_can_not_be_removed_is_told(store: Store) -> None:
    """A segment that stays although it was written again is an error, and no record is doubled by it."""
    keep(store, piece(1, root()))
    store.segments._files = store.files = type("Refusing", (FaultyFiles,), {"drop": lambda *_: None})()
    with store.amending(), pytest.raises(OSError, match="can't be removed"):
        store.segments.rewrite(ONE)
    assert spans(store) == {line_place(1): 1}
