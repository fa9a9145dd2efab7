"""One store: save records first, then tell the index and the outbox (DESIGN section 2, steps 6 and 7).

``save`` commits one record to the disk. A first revision is linked into place, which fails when another process was
there first; an amendment is made under a lock. ``settle`` makes the names of a group of saved records durable, and only
then enters them in the index and the outbox, in one transaction. A crash in between leaves records without a row:
``reconcile`` finds them by the times of their folders.

A store object belongs to one thread. Everything may raise ``OSError`` or ``sqlite3.Error``.
"""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from otel_gate.core import record as records
from otel_gate.core.model import Record
from otel_gate.errors import InputError
from otel_gate.store.blobs import Blobs
from otel_gate.store.database import Database
from otel_gate.store.files import Draft, Files
from otel_gate.store.index import Index, row
from otel_gate.store.outbox import Outbox

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    Build = Callable[[Record | None], Record | None]


class Saved(NamedTuple):
    """A record that is on the disk, its place below ``records/`` and its size in bytes."""

    record: Record
    place: str
    size: int


class Store:
    """Records, blobs, index and outbox below one folder."""

    def __init__(self, root: Path, *, files: Files | None = None, now_ns: Callable[[], int] = time.time_ns) -> None:
        """Name the folder; nothing is made before it is needed."""
        self.root = Path(root)
        self.files = files or Files()
        self.now_ns = now_ns
        self.records = self.root / "records"
        self.blobs = Blobs(self.root / "blobs", self.files)
        self.database = Database(self.root / "index.sqlite3", self.files)
        self.index = Index(self.database)
        self.outbox = Outbox(self.database)

    def save(self, trace_id: str, build: Build) -> Saved | None:
        """Save what ``build`` makes of the trace's record so far (None when there is none).

        ``build`` returns None when there is nothing to add; then nothing is written and None is returned. It is called
        again when another process wrote the record in the meantime.
        """
        [saved] = self.save_all([(trace_id, build)])
        if isinstance(saved, Exception):
            raise saved
        return saved

    def save_all(self, wanted: Sequence[tuple[str, Build]]) -> list[Saved | None | Exception]:
        """Save several records as ``save`` does, and return for each what came of it, a fault as a value.

        The content of all new ones is written before the first of them is synced: the disk then does most of the work
        of the others with it.
        """
        results: list[Saved | None | Exception] = [None] * len(wanted)
        drafts: list[tuple[int, Saved, Draft]] = []
        for number, (trace_id, build) in enumerate(wanted):
            with _fault_into(results, number):
                place = self.index.place(trace_id) if records.identified(trace_id) else None
                if place is None:
                    drafts.append((number, *self._draft(build(None))))
                else:
                    results[number] = self._amend(trace_id, place, build)
        for number, saved, draft in drafts:
            with _fault_into(results, number):
                self.files.sync_draft(draft)
                if self.files.publish(draft):
                    results[number] = saved
                elif records.identified(saved.record.trace_id):
                    results[number] = self._amend(saved.record.trace_id, None, wanted[number][1])
        return results

    def settle(
        self, saved: Sequence[Saved], destinations: Sequence[str], forwardable: Callable[[Record], bool]
    ) -> None:
        """Make the names of saved records durable, then enter them in the index and the outbox."""
        folders = {place.partition("/")[0] for _, place, _ in saved}
        for folder in folders:
            self.files.sync(self.records / folder)
        with self.database.transaction():
            self.index.saw({folder: self._changed(folder) for folder in folders})
            for record, place, size in saved:
                owed = forwardable(record)
                self.index.add([row(record, place, size, forwardable=owed, owed=True)])
                self.outbox.update(record, place, destinations, self.now_ns(), owed=owed)

    def load(self, place: str) -> Record:
        """Return a stored record.

        Raises:
            InputError: its file is missing or is not a record.
        """
        path = self.records / place
        try:
            return records.decode(self.files.read(path))
        except (OSError, msgspec.MsgspecError) as error:
            raise InputError(str(path), expected="a record", got=str(error), try_="run otel-gate doctor") from error

    def reconcile(self, destinations: Sequence[str], forwardable: Callable[[Record], bool]) -> int:
        """Enter records that a crash kept out of the index, owe what was never decided, and return how many were new."""
        known = self.index.folders()
        changed = {folder: time_ns for folder, time_ns in self._folders() if known.get(folder) != time_ns}
        found = 0
        for folder in changed:
            new = sorted(set(self._places(folder)) - self.index.places(folder))
            found += len(new)
            with self.database.transaction():
                self.index.add(row(*saved, forwardable=forwardable(saved.record), owed=False) for saved in self._readable(new))
                self.index.saw({folder: changed[folder]})
        if destinations:
            self._owe(destinations)
        return found

    def rebuild(self, forwardable: Callable[[Record], bool]) -> int:
        """Make the index anew from the records; deliveries that the outbox still knows stay as they are."""
        with self.database.transaction():
            self.index.clear()
        return self.reconcile((), forwardable)

    def close(self) -> None:
        """Close the database; the next use opens it again."""
        self.database.close()

    def _draft(self, record: Record | None) -> tuple[Saved, Draft]:
        if record is None:
            message = "a trace without a record has something to add"
            raise ValueError(message)
        content = records.record_bytes(record)
        place = records.place(record, content, self.now_ns())
        return Saved(record, place, len(content)), self.files.draft(self.records / place, content)

    def _amend(self, trace_id: str, place: str | None, build: Build) -> Saved | None:
        with self.files.lock(self.root / "amend.lock"):
            place = place or self._find(trace_id)
            before = self._readable_or_moved(place) if place else None
            record = build(before)
            if record is None:
                return None
            if before is None or place is None:
                saved, draft = self._draft(record)
                self.files.publish(self.files.sync_draft(draft))
                return saved
            content = records.record_bytes(record)
            self.files.replace(self.records / place, content)
            return Saved(record, place, len(content))

    def _find(self, trace_id: str) -> str | None:
        found = next(self.records.glob(f"*/{trace_id}.json"), None)
        return found.relative_to(self.records).as_posix() if found else None

    def _readable_or_moved(self, place: str) -> Record | None:
        try:
            return self.load(place)
        except InputError:
            path = self.records / place
            if path.exists():
                self.files.move(path, self.root / "quarantine" / f"{path.name}.{self.now_ns()}")
            return None

    def _readable(self, places: Iterable[str]) -> Iterator[Saved]:
        for place in places:
            record = self._readable_or_moved(place)
            if record is not None:
                yield Saved(record, place, (self.records / place).stat().st_size)

    def _owe(self, destinations: Sequence[str]) -> None:
        with self.database.transaction():
            for found in self.index.unowed():
                for destination in destinations:
                    place, trace_id, spans = found["place"], found["trace_id"], found["spans"]
                    self.outbox.owe(place, trace_id, destination, spans, self.now_ns(), owed=True)
            self.index.mark_owed()

    def _folders(self) -> Iterator[tuple[str, int]]:
        if self.records.is_dir():
            for folder in sorted(self.records.iterdir()):
                if folder.is_dir():
                    yield folder.name, self._changed(folder.name)

    def _places(self, folder: str) -> Iterator[str]:
        for path in (self.records / folder).iterdir():
            if path.suffix == ".json":
                yield f"{folder}/{path.name}"

    def _changed(self, folder: str) -> int:
        return (self.records / folder).stat().st_mtime_ns


@contextlib.contextmanager
def _fault_into(results: list[Saved | None | Exception], number: int) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # noqa: BLE001 - one trace's fault is not its neighbours'
        results[number] = error
