"""One store: save records first, then tell the index and the outbox (DESIGN section 2, steps 6 and 7).

``save`` commits one record to the disk (``saving``). ``settle`` makes the names of a group of saved records durable,
and only then enters them in the index and the outbox, in one transaction. A crash in between leaves records without a
row, or with the row of an earlier revision: ``reconcile`` finds files by the times of their folders, and lines by the
sizes of their segments. Only ``reconcile`` notes such a time, before it reads what is there, and when the clock that
stamps folders can't show it again: what another process had saved and not settled yet would be hidden otherwise.

A record has a place: its name here, in index and outbox. That of a file is its path below ``records/``; one that is a
line has the same place in whatever segment it stands (``where`` and ``content`` tell).

A store object belongs to one thread. Everything may raise ``OSError`` or ``sqlite3.Error``.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

import msgspec

from otel_gate.core import record as records
from otel_gate.errors import InputError
from otel_gate.store import listing, removal
from otel_gate.store.accounts import Book, grown
from otel_gate.store.blobs import Blobs
from otel_gate.store.database import Database
from otel_gate.store.files import Files
from otel_gate.store.index import Index, row
from otel_gate.store.outbox import Outbox
from otel_gate.store.owner import is_gone
from otel_gate.store.saving import Saved, Saver
from otel_gate.store.segments import Segments

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from otel_gate.core.model import Record
    from otel_gate.store.accounts import Account
    from otel_gate.store.saving import Build

CLOCK_STEP_NS = 2_000_000_000  # the coarsest clock of a file system
GROUP = 256
AMEND_LOCK = "amend.lock"
INDEX = "index.sqlite3"


class Where(NamedTuple):
    """Where a record stands: a file, and the line in it; 0 is the file as a whole."""

    path: Path
    line: int = 0

    def __str__(self) -> str:
        """Say both."""
        return f"{self.path}:{self.line}" if self.line else str(self.path)


class Store:
    """Records, blobs, index and outbox below one folder."""

    def __init__(
        self, root: Path, *, files: Files | None = None, now_ns: Callable[[], int] = time.time_ns,
        index: Path | None = None, layout: str = "files",
    ) -> None:  # fmt: skip
        """Name the folder; nothing is made before it is needed. ``index`` is that of a store that is only read."""
        self.root = Path(root)
        self.files = files or Files()
        self.now_ns = now_ns
        self.records = self.root / "records"
        self.blobs = Blobs(self.root / "blobs", self.files)
        self.database = Database(index or self.root / INDEX, self.files)
        self.index = Index(self.database)
        self.outbox = Outbox(self.database)
        self.accounts = Book(self.database, now_ns)
        self.segments = Segments(self.records, self.files, self.database, now_ns)
        self._saver = Saver(self, layout)
        self._is_only_read = index is not None

    def save(self, trace_id: str, build: Build) -> Saved | None:
        """Save what ``build`` makes of the trace's record so far (None when there is none).

        ``build`` returns None when there is nothing to add; then nothing is written and None is returned. It is called
        again when another process wrote the record in the meantime.
        """
        [saved] = self.save_all([(trace_id, build)])
        if isinstance(saved, Exception):
            raise saved
        return saved

    def save_all(self, wanted: Sequence[tuple[str, Build]]) -> list[Saved | Exception | None]:
        """Save several records as ``save`` does, and return for each what came of it, a fault as a value.

        The content of all new ones is written before the first of them is synced, and all are synced before the first
        has its name: the disk then does most of the work of the others with the first. Lines are one write and one
        sync.
        """
        return self._saver.save_all(wanted)

    def settle(
        self, saved: Sequence[Saved], destinations: Sequence[str], forwardable: Callable[[Record], bool],
        account: Account | None = None,
    ) -> None:  # fmt: skip
        """Make the names of saved records durable, then enter them in index, outbox and their owner's account."""
        folders = {place.partition("/")[0] for _, place, *_ in saved if not records.is_line(place)}
        for folder in folders:
            self.files.sync(self.records / folder)
        rows = [row(*one, forwardable=forwardable(one.record), owed=True) for one in saved]
        with self.database.transaction():
            before = self.index.spans([one.place for one in saved])
            if self.index.add(rows) == len(rows):
                latest = list(saved)
            else:  # some were amended and settled by another process meanwhile: it decided what is owed
                latest = [one for one, own in zip(saved, rows, strict=True) if self.index.add([own])]
            self.segments.settled(one.place for one in saved)
            latest = [*{one.place: one for one in latest}.values()]  # of revisions that are settled together the last
            for destination in destinations:
                self.outbox.update(latest, destination, self.now_ns(), forwardable)
            now = {place: len(record.spans) for record, place, *_ in latest}
            self.accounts.enter(sum(spans - before.get(place, 0) for place, spans in now.items()), account)
        for record, *_ in saved:
            self._saver.unsettled.pop(record.trace_id, None)

    def load(self, place: str) -> Record:
        """Return a stored record.

        Raises:
            InputError: its file is missing or is not a record.
        """
        try:
            return self.read(place).record
        except (OSError, msgspec.MsgspecError) as error:
            got = (error.strerror if isinstance(error, OSError) else None) or str(error)
            raise InputError(str(self.where(place)), expected="a record", got=got, try_="otel-gate doctor") from error

    def read(self, place: str) -> Saved:
        """Return a stored record as it was saved. May raise ``OSError`` and ``msgspec.MsgspecError``."""
        content = self.content(place)
        return Saved(records.decode(content), place, len(content), crc32(content))

    def content(self, place: str) -> bytes:
        """Return the bytes of a record: its file's, or its line. May raise ``OSError``."""
        return self.segments.read(place) if records.is_line(place) else self.files.read(self.records / place)

    def where(self, place: str) -> Where:
        """Return where a record stands, as far as that is known."""
        if not records.is_line(place):
            return Where(self.records / place)
        line = self.segments.located([place]).get(place) or next(iter(self.segments.losses.find(place)), None)
        return Where(self.records / line.segment, line.number) if line else Where(self.records)

    def lost(self, beginning: str) -> Where | None:
        """Return where the record of a trace stood of which no line is left, by the beginning of its id or place."""
        for prefix in (f"{records.SEGMENTS}/{beginning}", beginning):
            for found in self.segments.losses.find(prefix):
                return Where(self.records / found.segment, found.number)
        return None

    def reconcile(self, destinations: Sequence[str], forwardable: Callable[[Record], bool]) -> int:
        """Enter revisions that a crash kept out of the index, owe what was not decided; return how many were new."""
        try:
            return self._reconcile(destinations, forwardable)
        except sqlite3.DatabaseError:
            if not self.database.renewed:
                raise
            return self._reconcile(destinations, forwardable)

    def rebuild(self, forwardable: Callable[[Record], bool]) -> int:
        """Make the index anew from the records; deliveries that the outbox still knows stay as they are."""
        with self.database.transaction():
            self.index.distrust()
            self.segments.distrust()
        entered = self.reconcile((), forwardable)
        self.index.forget_distrusted()
        return entered

    def amending(self) -> contextlib.AbstractContextManager[None]:
        """Hold the lock under which records are amended, moved away and removed."""
        return self.files.lock(self.root / AMEND_LOCK)

    def quarantine(self, place: str) -> None:
        """Move a record away that can't be read, and leave its row; one that can be, or is gone, is let be."""
        with self.amending(), contextlib.suppress(FileNotFoundError):
            try:
                self.read(place)
            except msgspec.MsgspecError:
                self._saver.move_away(place)

    def catch_up(self, days: Iterable[str]) -> None:
        """Enter the lines of segments that have changed; segments that nobody knows are looked for in these days."""
        if changed := self.segments.changed(days):
            with contextlib.nullcontext() if self._is_only_read else self.amending():
                self.segments.catch_up(changed)

    def close(self) -> None:
        """Close the database; the next use opens it again."""
        self.database.close()

    def _reconcile(self, destinations: Sequence[str], forwardable: Callable[[Record], bool]) -> int:
        known = self.index.folders()
        changed = [(folder, time_ns) for folder, time_ns in listing.days(self.records) if known.get(folder) != time_ns]
        self.catch_up(folder for folder, _ in changed)
        removal.finish(self)
        self.accounts.fold(is_gone)
        found = self._enter_lines(forwardable)
        for folder, time_ns in changed:
            found += self._enter(folder, time_ns, forwardable)
        if destinations:
            self._owe(destinations)
        self.database.renewed = False
        return found

    def _enter(self, folder: str, changed_ns: int, forwardable: Callable[[Record], bool]) -> int:
        lasting = changed_ns < self.now_ns() - CLOCK_STEP_NS
        known = self.index.sizes(folder)
        new = sorted(place for place, size in listing.day(self.records / folder) if known.get(place) != size)
        rows, unparsable = [], 0
        for saved in self._readable(new):
            rows.append(row(*saved, forwardable=forwardable(saved.record), owed=False))
            unparsable += 0 if saved.place in known else len(saved.record.source.problems)
        with self.database.transaction():
            if lasting and len(rows) == len(new):
                self.index.saw({folder: changed_ns})
            before = self.index.sums(folder)
            entered = self.index.add(rows)
            self.accounts.found(grown(before, self.index.sums(folder), unparsable))
            return entered

    def _enter_lines(self, forwardable: Callable[[Record], bool]) -> int:
        entered, places = 0, self.segments.to_settle()
        for start in range(0, len(places), GROUP):
            saved = list(self._readable(places[start : start + GROUP]))
            rows = [row(*one, forwardable=forwardable(one.record), owed=False) for one in saved]
            group = [one.place for one in saved]
            with self.database.transaction():
                known = self.index.spans(group)
                back = self._cut_back(saved, rows, forwardable)
                before = self.index.sums_of(group)
                new = [own for one, own in zip(saved, rows, strict=True) if one.place not in back]
                entered += len(back) + self.index.add(new)
                unparsable = sum(len(one.record.source.problems) for one in saved if one.place not in known)
                self.accounts.found(grown(before, self.index.sums_of(group), unparsable))
                self.segments.settled(group)
        return entered

    def _cut_back(
        self, saved: Sequence[Saved], rows: Sequence[tuple[Any, ...]], forwardable: Callable[[Record], bool]
    ) -> set[str]:
        """Enter records that have lost a revision, and return their places: what was recorded stays accounted for."""
        ahead = self.index.ahead({one.place: len(one.record.spans) for one in saved})
        back = set()
        for one, own in zip(saved, rows, strict=True):
            if one.place in ahead and self.index.add([own]):
                back.add(one.place)
                owed = forwardable(one.record)
                self.outbox.cut(one.place, len(one.record.spans), self.now_ns(), owed=owed)
        return back

    def _readable(self, places: Iterable[str]) -> Iterator[Saved]:
        for place in places:
            try:
                yield self.read(place)
            except msgspec.MsgspecError:
                with self.amending():
                    if saved := self._saver.readable_or_moved(place):
                        yield saved
            except OSError:  # gone, or not readable by us: the folder is looked at again the next time
                continue

    def _owe(self, destinations: Sequence[str]) -> None:
        with self.database.transaction():
            for found in self.index.unowed():
                for destination in destinations:
                    place, trace_id, spans = found["place"], found["trace_id"], found["spans"]
                    self.outbox.owe(place, trace_id, destination, spans, self.now_ns(), owed=bool(found["forwardable"]))
            self.index.mark_owed()
