"""One store: save records first, then tell the index and the outbox (DESIGN section 2, steps 6 and 7).

``save`` commits one record to the disk. A first revision is linked into place, which fails when another process was
there first; an amendment is made under a lock. ``settle`` makes the names of a group of saved records durable, and only
then enters them in the index and the outbox, in one transaction. A crash in between leaves records without a row, or
with the row of an earlier revision: ``reconcile`` finds them by the times of their folders. Only ``reconcile`` notes
such a time, before it reads what is there, and when the clock that stamps folders can't show it again: what another
process had saved and not settled yet would be hidden otherwise.

A store object belongs to one thread. Everything may raise ``OSError`` or ``sqlite3.Error``.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

import msgspec

from otel_gate.core import record as records
from otel_gate.errors import InputError
from otel_gate.store import listing, removal
from otel_gate.store.accounts import Book, grown
from otel_gate.store.blobs import Blobs
from otel_gate.store.database import Database
from otel_gate.store.files import Draft, Files
from otel_gate.store.index import Index, row
from otel_gate.store.outbox import Outbox
from otel_gate.store.owner import is_gone

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from otel_gate.core.model import Record
    from otel_gate.store.accounts import Account

    Build = Callable[[Record | None], Record | None]

CLOCK_STEP_NS = 2_000_000_000  # the coarsest clock of a file system
AMEND_LOCK = "amend.lock"
INDEX = "index.sqlite3"


class Saved(NamedTuple):
    """A record that is on the disk, its place below ``records/``, its size in bytes and their CRC-32."""

    record: Record
    place: str
    size: int
    crc: int = -1


class Store:
    """Records, blobs, index and outbox below one folder."""

    def __init__(
        self, root: Path, *, files: Files | None = None, now_ns: Callable[[], int] = time.time_ns,
        index: Path | None = None,
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
        self._unsettled: dict[str, str] = {}

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
        has its name: the disk then does most of the work of the others with the first.
        """
        results: list[Saved | Exception | None] = [None] * len(wanted)
        drafts: list[tuple[int, Saved, Draft]] = []
        places = self._places([trace_id for trace_id, _ in wanted if records.identified(trace_id)])
        for number, (trace_id, build) in enumerate(wanted):
            with _fault_into(results, number):
                place = places.get(trace_id)
                if place is not None:
                    results[number] = self._amend(trace_id, place, build)
                elif record := build(None):
                    drafts.append((number, *self._draft(record)))
        synced = []
        for number, saved, draft in drafts:
            with _fault_into(results, number):
                synced.append((number, saved, self.files.sync_draft(draft)))
        for number, saved, draft in synced:
            with _fault_into(results, number):
                results[number] = self._publish(saved, draft, wanted[number][1])
        return results

    def settle(
        self, saved: Sequence[Saved], destinations: Sequence[str], forwardable: Callable[[Record], bool],
        account: Account | None = None,
    ) -> None:  # fmt: skip
        """Make the names of saved records durable, then enter them in index, outbox and their owner's account."""
        folders = {place.partition("/")[0] for _, place, *_ in saved}
        for folder in folders:
            self.files.sync(self.records / folder)
        rows = [row(*one, forwardable=forwardable(one.record), owed=True) for one in saved]
        with self.database.transaction():
            before = self.index.spans([one.place for one in saved])
            if self.index.add(rows) == len(rows):
                latest = list(saved)
            else:  # some were amended and settled by another process meanwhile: it decided what is owed
                latest = [one for one, own in zip(saved, rows, strict=True) if self.index.add([own])]
            for destination in destinations:
                self.outbox.update(latest, destination, self.now_ns(), forwardable)
            now = {place: len(record.spans) for record, place, *_ in latest}
            self.accounts.enter(sum(spans - before.get(place, 0) for place, spans in now.items()), account)
        for record, *_ in saved:
            self._unsettled.pop(record.trace_id, None)

    def load(self, place: str) -> Record:
        """Return a stored record.

        Raises:
            InputError: its file is missing or is not a record.
        """
        try:
            return self._read(place).record
        except (OSError, msgspec.MsgspecError) as error:
            path = str(self.records / place)
            raise InputError(path, expected="a record", got=str(error), try_="run otel-gate doctor") from error

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
                self._read(place)
            except msgspec.MsgspecError:
                self._move_away(place)

    def close(self) -> None:
        """Close the database; the next use opens it again."""
        self.database.close()

    def _reconcile(self, destinations: Sequence[str], forwardable: Callable[[Record], bool]) -> int:
        removal.finish(self)
        self.accounts.fold(is_gone)
        known, found = self.index.folders(), 0
        for folder, changed_ns in listing.days(self.records):
            if known.get(folder) != changed_ns:
                found += self._enter(folder, changed_ns, forwardable)
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

    def _draft(self, record: Record) -> tuple[Saved, Draft]:
        content = records.record_bytes(record)
        place = records.place(record, content, self.now_ns())
        return Saved(record, place, len(content), crc32(content)), self.files.draft(self.records / place, content)

    def _publish(self, saved: Saved, draft: Draft, build: Build) -> Saved | None:
        trace_id = saved.record.trace_id
        if not records.identified(trace_id):  # its name is the hash of its content: who has it has the same
            return saved if self.files.publish(draft) else None
        if trace_id not in self._unsettled and self.files.publish(draft):
            self._unsettled[trace_id] = saved.place
            return saved
        self.files.drop(draft.beside)
        return self._amend(trace_id, self._unsettled.get(trace_id), build)

    def _amend(self, trace_id: str, place: str | None, build: Build) -> Saved | None:
        with self.amending():
            while True:
                before = self._before(trace_id, place)
                record = build(before.record if before else None)
                if record is None:
                    return None
                if before is not None:
                    content = records.record_bytes(record)
                    self.files.replace(self.records / before.place, content)
                    return Saved(record, before.place, len(content), crc32(content))
                saved, draft = self._draft(record)
                if self.files.publish(self.files.sync_draft(draft)):
                    self._unsettled[trace_id] = saved.place
                    return saved

    def _places(self, trace_ids: list[str]) -> dict[str, str | None]:
        """Return where records of traces are: from the index, and from the disk while the index is not whole."""
        places: dict[str, str | None] = {}
        try:
            places |= self.index.place_of(trace_ids)
        except sqlite3.DatabaseError:
            if not self.database.renewed:
                raise
        if self.database.renewed:
            places |= {trace_id: self._find(trace_id) for trace_id in trace_ids if trace_id not in places}
        return places

    def _before(self, trace_id: str, place: str | None) -> Saved | None:
        """Return what there is of a trace; a damaged record, and the row of one that is gone, are cleared away."""
        while place := place or self._find(trace_id):
            saved = self._readable_or_moved(place)
            if saved is not None:
                return saved
            place = None
        return None

    def _find(self, trace_id: str) -> str | None:
        found = next(self.records.glob(f"*/{trace_id}.json"), None)
        return found.relative_to(self.records).as_posix() if found else None

    def _readable_or_moved(self, place: str) -> Saved | None:
        try:
            return self._read(place)
        except msgspec.MsgspecError:
            self._move_away(place)
        except FileNotFoundError:
            pass
        self.index.forget(place)
        return None

    def _move_away(self, place: str) -> None:
        name = f"{place.rpartition('/')[2]}.{self.now_ns()}"
        self.files.move(self.records / place, self.root / "quarantine" / name)

    def _read(self, place: str) -> Saved:
        content = self.files.read(self.records / place)
        return Saved(records.decode(content), place, len(content), crc32(content))

    def _readable(self, places: Iterable[str]) -> Iterator[Saved]:
        for place in places:
            try:
                yield self._read(place)
            except msgspec.MsgspecError:
                with self.amending():
                    if saved := self._readable_or_moved(place):
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


@contextlib.contextmanager
def _fault_into(results: list[Saved | Exception | None], number: int) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # noqa: BLE001 - one trace's fault is not its neighbours'
        results[number] = error
