"""How records get onto the disk: as files of their own, or as lines of segments.

A first revision that is a file is linked into place, which fails when another process was there first; an amendment is
made under a lock. Lines are all appended under that lock, which tells what other processes have appended before. A
record is amended in the form that it has, whatever the setting ``layout`` says of new ones.
"""

from __future__ import annotations

import contextlib
import sqlite3
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

import msgspec

from otel_gate.core import record as records
from otel_gate.store import listing
from otel_gate.store.segments import New

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from otel_gate.core.model import Record
    from otel_gate.store.files import Draft
    from otel_gate.store.store import Store

    Build = Callable[[Record | None], Record | None]
    Results = list["Saved | Exception | None"]


class Saved(NamedTuple):
    """A record that is on the disk, its place below ``records/``, its size in bytes and their CRC-32."""

    record: Record
    place: str
    size: int
    crc: int = -1


class _Line(NamedTuple):
    """A record and its line; empty when it was written as the file that it is."""

    saved: Saved
    content: bytes


class Saver:
    """Saves the records of a store. ``unsettled`` has the places of those that are not in its index yet, by trace."""

    def __init__(self, store: Store, layout: str) -> None:
        """Save new records in this layout: files, or segments."""
        self._store, self._layout = store, layout
        self.unsettled: dict[str, str] = {}

    def save_all(self, wanted: Sequence[tuple[str, Build]]) -> Results:
        """Save records, and return for each what came of it."""
        results: Results = [None] * len(wanted)
        places = self._places([trace_id for trace_id, _ in wanted if records.identified(trace_id)])
        as_lines = [number for number, one in enumerate(wanted) if self._is_line(places.get(one[0]))]
        as_files = sorted({*range(len(wanted))}.difference(as_lines))
        if as_files:
            self._save_files([(number, *wanted[number]) for number in as_files], places, results)
        if as_lines:
            self._save_lines([(number, *wanted[number]) for number in as_lines], places, results)
        return results

    def readable_or_moved(self, place: str) -> Saved | None:
        """Return a record; one that is damaged, and the row of one that is gone, are cleared away (under the lock)."""
        store = self._store
        try:
            return store.read(place)
        except msgspec.MsgspecError:
            self.move_away(place)
        except FileNotFoundError:
            if records.is_line(place):
                segments = store.segments  # whoever looks next finds what is left of it
                segments.catch_up(line.segment for line in segments.located([place]).values())
                return None
        store.index.forget(place)
        return None

    def move_away(self, place: str) -> None:
        """Move a record to quarantine (under the amend lock); of one that is a line, the line before counts then."""
        store = self._store
        to = store.root / listing.QUARANTINE / f"{place.rpartition('/')[2]}.{store.now_ns()}"
        if not records.is_line(place):
            store.files.move(store.records / place, to)
            return
        line = store.segments.located([place])[place]
        store.files.put(to, store.segments.read(place))
        store.segments.rewrite(line.segment, lines_gone=[line.offset])
        store.segments.unsettle(place)

    def _is_line(self, place: str | None) -> bool:
        return self._layout == "segments" if place is None else records.is_line(place) or self._layout == "segments"

    def _save_files(
        self, wanted: Sequence[tuple[int, str, Build]], places: dict[str, str | None], results: Results
    ) -> None:
        drafts: list[tuple[int, Saved, Draft, Build]] = []
        for number, trace_id, build in wanted:
            with _fault_into(results, number):
                place = places.get(trace_id)
                if place is not None:
                    results[number] = self._amend(trace_id, place, build)
                elif record := build(None):
                    drafts.append((number, *self._draft(record), build))
        synced = []
        for number, saved, draft, build in drafts:
            with _fault_into(results, number):
                synced.append((number, saved, self._store.files.sync_draft(draft), build))
        for number, saved, draft, build in synced:
            with _fault_into(results, number):
                results[number] = self._publish(saved, draft, build)

    def _save_lines(
        self, wanted: Sequence[tuple[int, str, Build]], places: dict[str, str | None], results: Results
    ) -> None:
        first: dict[int, _Line] = {}
        for number, trace_id, build in wanted:
            if places.get(trace_id) is None:
                with _fault_into(results, number):
                    record = build(None)
                    if record is not None:
                        first[number] = _as_line(record)
        todo = [one for one in wanted if one[0] in first or places.get(one[1]) is not None]
        if todo:
            with self._store.amending():
                self._append(todo, places, first, results)

    def _append(
        self, wanted: Sequence[tuple[int, str, Build]], places: dict[str, str | None], first: dict[int, _Line],
        results: Results,
    ) -> None:  # fmt: skip
        segments = self._store.segments
        segments.meet()
        known: dict[str, Saved | None] = dict.fromkeys(segments.located(one.saved.place for one in first.values()))
        group: list[tuple[int, _Line]] = []
        for number, trace_id, build in wanted:
            with _fault_into(results, number):
                made = first.get(number)
                if made is None or made.saved.place in known or self._is_file(made.saved.record):
                    made = self._next(trace_id, places.get(trace_id), build, known)
                if made is None or not made.content:
                    results[number] = made and made.saved
                    continue
                known[made.saved.place] = made.saved
                group.append((number, made))
        try:
            if group:
                segments.append([New(one.place, one.record.revision, content) for _, (one, content) in group])
        except Exception as error:  # noqa: BLE001 - a group is appended as a whole or not at all
            results_of_group: Results = [error] * len(group)
        else:
            results_of_group = [one.saved for _, one in group]
        for (number, _), result in zip(group, results_of_group, strict=True):
            results[number] = result

    def _next(self, trace_id: str, place: str | None, build: Build, known: dict[str, Saved | None]) -> _Line | None:
        """Return the next revision of a record; ``known`` has those that are in the same group."""
        if not records.identified(trace_id):
            return None  # its place is the hash of its content: who has it has the same
        before = known.get(records.line_place(trace_id, b"")) or self._before(trace_id, place)
        record = build(before.record if before else None)
        if record is None:
            return None
        if before is None or records.is_line(before.place):
            return _as_line(record)
        return _Line(self._replace(before.place, record), b"")

    def _is_file(self, record: Record) -> bool:
        """Tell whether somebody has saved the trace as a file who has not settled it."""
        place = records.place(record, b"", self._store.now_ns())
        return records.identified(record.trace_id) and (self._store.records / place).exists()

    def _draft(self, record: Record) -> tuple[Saved, Draft]:
        store, content = self._store, records.record_bytes(record)
        place = records.place(record, content, store.now_ns())
        return Saved(record, place, len(content), crc32(content)), store.files.draft(store.records / place, content)

    def _publish(self, saved: Saved, draft: Draft, build: Build) -> Saved | None:
        trace_id, files = saved.record.trace_id, self._store.files
        if not records.identified(trace_id):  # its name is the hash of its content: who has it has the same
            return saved if files.publish(draft) else None
        if trace_id not in self.unsettled and files.publish(draft):
            self.unsettled[trace_id] = saved.place
            return saved
        files.drop(draft.beside)
        return self._amend(trace_id, self.unsettled.get(trace_id), build)

    def _amend(self, trace_id: str, place: str | None, build: Build) -> Saved | None:
        store = self._store
        with store.amending():
            while True:
                before = self._before(trace_id, place)
                record = build(before.record if before else None)
                if record is None:
                    return None
                if before is not None:
                    return self._replace(before.place, record)
                saved, draft = self._draft(record)
                if store.files.publish(store.files.sync_draft(draft)):
                    self.unsettled[trace_id] = saved.place
                    return saved

    def _replace(self, place: str, record: Record) -> Saved:
        content = records.record_bytes(record)
        self._store.files.replace(self._store.records / place, content)
        return Saved(record, place, len(content), crc32(content))

    def _places(self, trace_ids: list[str]) -> dict[str, str | None]:
        """Return where records of traces are: from the index, and from the disk while the index is not whole."""
        places: dict[str, str | None] = {}
        store = self._store
        try:
            places |= self._known(trace_ids)
        except sqlite3.DatabaseError:
            if not store.database.renewed:
                raise
        if store.database.renewed:
            store.catch_up([day for day, _ in listing.days(store.records)])
            places |= {trace_id: self._find(trace_id) for trace_id in trace_ids if trace_id not in places}
        return places

    def _known(self, trace_ids: list[str]) -> dict[str, str]:
        lines = self._store.segments.located(records.line_place(trace_id, b"") for trace_id in trace_ids)
        return {place.rpartition("/")[2]: place for place in lines} | self._store.index.place_of(trace_ids)

    def _before(self, trace_id: str, place: str | None) -> Saved | None:
        """Return what there is of a trace; a damaged record, and the row of one that is gone, are cleared away."""
        while place := place or self._find(trace_id):
            saved = self.readable_or_moved(place)
            if saved is not None:
                return saved
            place = None
        return None

    def _find(self, trace_id: str) -> str | None:
        store = self._store
        found = next(store.records.glob(f"*/{trace_id}.json"), None)
        if found is not None:
            return found.relative_to(store.records).as_posix()
        return next(iter(store.segments.located([records.line_place(trace_id, b"")])), None)


def _as_line(record: Record) -> _Line:
    content = records.line_bytes(record)
    return _Line(Saved(record, records.line_place(record.trace_id, content), len(content), crc32(content)), content)


@contextlib.contextmanager
def _fault_into(results: Results, number: int) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # noqa: BLE001 - one trace's fault is not its neighbours'
        results[number] = error
