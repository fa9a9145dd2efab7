"""Records as lines of segments: ``records/<date>/<n>.jsonl``, with where each stands in the index.

What always holds:

- Who appends holds the amend lock, whatever process it is of: one segment is appended to at a time, so the lines of
  all processes have one order. It is the last one, and ``date`` is the UTC date on which it was begun.
- A group of records is appended at once and synced at once, the folder too when the segment is new. What a fault left
  of a group is cut off again. When its process has ended in the middle, whole lines count, and the next one to append
  begins a new segment: nothing is ever appended to a part of a line.
- ``segments`` has how far each segment was entered in ``lines``. A segment of another size is read again from there
  (from its beginning when it has become shorter): the index may be lost, or behind by what a crash kept out of it.
  What a segment that was cut does not have any more is ``lost``, and the index follows it.
- A line is never changed where it stands. Lines that go are left out of a copy of their segment under a new name, and
  then the segment is removed.

Everything may raise ``OSError`` or ``sqlite3.Error``.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import sqlite3
from typing import TYPE_CHECKING, NamedTuple

from otel_gate.core import record as records
from otel_gate.store import lines
from otel_gate.store.lines import Line
from otel_gate.store.listing import QUARANTINE
from otel_gate.store.lost import Losses

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from otel_gate.store.database import Database
    from otel_gate.store.files import Files

SEGMENT_BYTES = 64 << 20
FIELDS = ", ".join(Line._fields)
OF_PLACE = f"""
SELECT {FIELDS} FROM lines WHERE place IN (SELECT value FROM json_each(?)) ORDER BY revision, segment, offset
"""  # noqa: S608 - our own names
OF_SEGMENT = f"SELECT {FIELDS} FROM lines WHERE segment = ? ORDER BY offset"  # noqa: S608 - our own names
ENTER = f"INSERT OR REPLACE INTO lines ({FIELDS}, settled) VALUES (?, ?, ?, ?, ?, ?, ?)"  # noqa: S608 - our own names
SETTLED = """
UPDATE lines SET settled = 1
WHERE settled = 0 AND place = ?1 AND revision <= (SELECT revision FROM records WHERE place = ?1)
"""


class New(NamedTuple):
    """A record that is to be appended: its place, its revision and its line."""

    place: str
    revision: int
    content: bytes


class _End(NamedTuple):
    """A segment to append to, how many bytes and lines it has."""

    name: str
    size: int
    lines: int


class Segments:
    """The segments of a store, and the tables ``segments`` and ``lines``."""

    def __init__(self, folder: Path, files: Files, database: Database, now_ns: Callable[[], int]) -> None:
        """Name the folder of records."""
        self._folder, self._files, self._database, self._now_ns = folder, files, database, now_ns
        self.most_bytes, self.losses = SEGMENT_BYTES, Losses(database)

    def located(self, places: Iterable[str]) -> dict[str, Line]:
        """Return where records stand, of those that are known."""
        return {line.place: line for line in self._of_places(places)}

    def read(self, place: str) -> bytes:
        """Return the line of a record; one that was moved meanwhile is looked for again."""
        line = self._line(place)
        while True:
            try:
                return self._bytes(line)
            except FileNotFoundError:
                moved = self._line(place)
                if moved == line:
                    raise
                line = moved

    def meet(self) -> _End:
        """Enter what other processes have appended, and return where the next line goes (under the amend lock)."""
        newest, today = self._newest(), records.day(self._now_ns())
        if newest is None:
            return _End(self._free(today), 0, 0)
        actual = max(self._size(newest.name), 0)
        if actual != newest.size:
            newest = self._enter(newest, actual)
        day, _ = lines.parts(newest.name)
        if newest.size == actual < self.most_bytes and day >= today:
            return newest
        return _End(self._free(max(day, today)), 0, 0)

    def append(self, new: Sequence[New]) -> None:
        """Append a group of records, and make them durable (under the amend lock)."""
        end = self.meet()
        if not end.size:  # before there is its file: nobody then appends to an earlier one
            self._note(end, ())
        path = self._folder / end.name
        descriptor = self._files.open_to_append(path)
        try:
            self._append(descriptor, path, end, b"".join(one.content for one in new))
        finally:
            os.close(descriptor)
        offset, made = end.size, []
        for number, one in enumerate(new, end.lines + 1):
            made.append(Line(end.name, offset, number, len(one.content), one.place, one.revision))
            offset += len(one.content)
        with contextlib.suppress(sqlite3.Error):  # they are on the disk: whoever comes next enters them
            self._note(_End(end.name, offset, end.lines + len(made)), made)

    def changed(self, days: Iterable[str]) -> list[str]:
        """Return the segments of which not all is entered, or that are gone; new ones are looked for in these days."""
        known = self._known()
        there = {name for day in days for name in lines.of_day(self._folder, day)}
        return sorted(name for name in known.keys() | there if known.get(name, -1) != self._size(name))

    def catch_up(self, names: Iterable[str]) -> None:
        """Enter the lines of segments that have changed, and forget segments that are gone (under the amend lock)."""
        for name in names:
            actual = self._size(name)
            if actual < 0:
                self._forget(name)
                continue
            known = self._database.execute("SELECT * FROM segments WHERE name = ?", (name,))
            self._enter(_End(*known[0]) if known else _End(name, 0, 0), actual)

    def to_settle(self) -> list[str]:
        """Return the places of records whose last line no row of the index has."""
        return [row["place"] for row in self._database.execute("SELECT DISTINCT place FROM lines WHERE settled = 0")]

    def settled(self, places: Iterable[str]) -> None:
        """Note that the index has the rows of records (inside a transaction of the caller's)."""
        self._database.execute_all(SETTLED, [(place,) for place in places if records.is_line(place)])

    def unsettle(self, place: str) -> None:
        """Have the next reconciliation enter a record, if it still has a line."""
        self._database.execute("UPDATE lines SET settled = 0 WHERE place = ?", (place,))

    def distrust(self) -> None:
        """Have the next reconciliation read every segment (inside a transaction of the caller's)."""
        self._database.execute("DELETE FROM lines")
        self._database.execute("DELETE FROM segments")

    def named(self, places: Iterable[str]) -> list[str]:
        """Return the segments in which there is a line of one of these records, also one that no longer counts."""
        return sorted({line.segment for line in self._of_places(places)})

    def has(self, segment: str) -> bool:
        """Tell whether a segment is there."""
        return self._size(segment) >= 0

    def rewrite(self, segment: str, without: frozenset[str] = frozenset(), lines_gone: Iterable[int] = ()) -> int:
        """Put what counts of a segment in its place, without some records or lines (under the amend lock).

        ``lines_gone`` are offsets. The age of the segment stays, and what is no record goes to quarantine. Returns how
        many bytes are freed.
        """
        self.catch_up([segment])
        self._set_aside(segment)
        known = [Line(*row) for row in self._database.execute(OF_SEGMENT, (segment,))]
        gone = {(segment, offset) for offset in lines_gone}
        of_all = self._of_places({line.place for line in known})
        latest = {line.place: line for line in of_all if (line.segment, line.offset) not in gone}
        stay = [line for line in known if latest.get(line.place) == line and line.place not in without]
        path, freed = self._folder / segment, self._size(segment) - sum(line.size for line in stay)
        moved = self._copied(path, segment, stay) if stay else ()
        with self._database.transaction():
            settled = {row["offset"]: row["settled"] for row in self._flags(segment)}
            rows = [(*line, settled[was.offset]) for line, was in zip(moved, stay, strict=True)]
            self._database.execute_all(ENTER, rows)
            if moved:
                last = moved[-1]
                self._database.execute(
                    "INSERT OR REPLACE INTO segments VALUES (?, ?, ?)",
                    (last.segment, last.offset + last.size, last.number),
                )
            self._drop_rows(segment)
        self._files.drop(str(path))
        if path.exists():
            raise OSError(errno.EACCES, "a segment can't be removed", str(path))
        self._files.sync(path.parent)
        return freed

    def _set_aside(self, segment: str) -> None:
        for line in lines.read(self._folder, segment):
            if not line.place:
                name = f"{segment.replace('/', '-')}-{line.offset}.line"
                self._files.put(self._folder.parent / QUARANTINE / name, self._bytes(line))

    def _of_places(self, places: Iterable[str]) -> list[Line]:
        """Return all lines of records; of each the last one counts."""
        return [Line(*row) for row in self._database.execute(OF_PLACE, (json.dumps([*places]),))]

    def _copied(self, path: Path, segment: str, stay: Sequence[Line]) -> list[Line]:
        name = self._free(lines.parts(segment)[0])
        contents = [self._bytes(line) for line in stay]
        changed = path.stat()
        self._files.create(self._folder / name, b"".join(contents))
        os.utime(self._folder / name, ns=(changed.st_atime_ns, changed.st_mtime_ns))
        self._files.sync(path.parent)
        moved, offset = [], 0
        for order, line in enumerate(stay, 1):
            moved.append(line._replace(segment=name, offset=offset, number=order))
            offset += line.size
        return moved

    def _append(self, descriptor: int, path: Path, end: _End, content: bytes) -> None:
        try:
            view = memoryview(content)
            while view:
                view = view[self._files.append(descriptor, view) :]
            self._files.flush(descriptor)
            if not end.size:
                self._files.sync(path.parent)
        except OSError:
            self._files.cut(descriptor, end.size)
            raise

    def _line(self, place: str) -> Line:
        found = self.located([place]).get(place)
        if found is None:
            got = lines.CUT if self.losses.find(place) else f"no line of it: {place}"
            raise FileNotFoundError(errno.ENOENT, got, place)
        return found

    def _bytes(self, line: Line) -> bytes:
        return lines.content(self._folder, line, self._files)

    def _newest(self) -> _End | None:
        found = self._database.execute("SELECT * FROM segments ORDER BY name DESC LIMIT 1")
        return _End(*found[0]) if found else None

    def _free(self, day: str) -> str:
        there = (*self._known(), *lines.of_day(self._folder, day))
        taken = [lines.parts(name)[1] for name in there if name.startswith(f"{day}/")]
        return lines.name(day, max(taken, default=0) + 1)

    def _known(self) -> dict[str, int]:
        return {row["name"]: row["size"] for row in self._database.execute("SELECT name, size FROM segments")}

    def _size(self, name: str) -> int:
        """Return how many bytes a segment has, -1 when it is not there."""
        try:
            return (self._folder / name).stat().st_size
        except FileNotFoundError:
            return -1

    def _enter(self, known: _End, actual: int) -> _End:
        """Enter what a segment has beyond what is known of it; all of it when it has become shorter."""
        is_cut = actual < known.size
        if is_cut:
            known = _End(known.name, 0, 0)
        found = list(lines.read(self._folder, known.name, known.size, known.lines)) if actual > 0 else []
        if found:
            known = _End(known.name, found[-1].offset + found[-1].size, found[-1].number)
        with self._database.transaction():
            were = self._drop_rows(known.name) if is_cut else ()
            self._put(known, [line for line in found if line.place])
            self.losses.enter(were)
            self.losses.back(known.name)
        return known

    def _note(self, end: _End, entered: Sequence[Line]) -> None:
        with self._database.transaction():
            self._put(end, entered)

    def _put(self, end: _End, entered: Sequence[Line]) -> None:
        self._database.execute("INSERT OR REPLACE INTO segments VALUES (?, ?, ?)", end)
        self._database.execute_all(ENTER, [(*line, 0) for line in entered])

    def _flags(self, segment: str) -> list[sqlite3.Row]:
        return self._database.execute("SELECT offset, settled FROM lines WHERE segment = ?", (segment,))

    def _forget(self, segment: str) -> None:
        with self._database.transaction():
            self.losses.enter(self._drop_rows(segment))

    def _drop_rows(self, segment: str) -> list[Line]:
        were = [Line(*row) for row in self._database.execute(OF_SEGMENT, (segment,))]
        self._database.execute("DELETE FROM lines WHERE segment = ?", (segment,))
        self._database.execute("DELETE FROM segments WHERE name = ?", (segment,))
        return were
