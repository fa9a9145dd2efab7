"""The journal of one process: what was accepted and is not decided yet, on disk before anybody is told so.

``journal/<pid>-<start time>-<random>/`` belongs to one pipeline of one process, which holds the lock ``owner`` in it
while it lives. In it lie segments, ``000001.segment`` and so on, each a sequence of entries (``frames``). The first
entry of a segment, with the secret 0, is a JSON object: ``schema``, ``owner``, ``secret`` and what the pipeline has to
say of itself. What else is needed to understand a segment is repeated in its next entries, so a segment can be read
when those before it are gone. Payloads are opaque here. A *place* is the number of a segment and an offset, in one
integer that grows.

What always holds:

- An entry is on disk when ``append`` returns True: one call of the system appends it, and what was written in part is
  none. It survives the end of the process; with ``sync`` it also survives the loss of power, and who appends at the
  same time shares the cost (a sync that the disk refuses is counted in ``sync_errors``). What was appended together
  survives it when ``sync`` has returned.
- ``append`` takes no lock without ``sync``: it may be called from anywhere, by a signal handler in the middle of
  another ``append`` too. A descriptor is closed when nobody can be writing to it any more.
- Entries are read in the order in which they were appended. A segment is removed when it was read to its end and
  nothing in it is needed any more.
- With ``grouped``, who appends takes turns, and nothing follows what was written in part (a full disk does that): the
  segment ends there, as if the process had, and that is no damage. Another one is begun when the disk takes it.
- A segment takes entries when its head and what goes with it are written whole: one without a whole head has none.
- A journal that was left may be gone on with (``adopt``): its segments stay, and its places mean what they meant.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import secrets
import threading
import weakref
from typing import TYPE_CHECKING, Any
from zlib import crc32

import msgspec

from otel_gate.core.counted import counted
from otel_gate.store.frames import MAGIC, framed, pack, pieces
from otel_gate.store.openfile import NoFile, OpenFile
from otel_gate.store.owner import new_owner, process
from otel_gate.store.segment import Segment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from otel_gate.store.files import Files
    from otel_gate.store.orphans import Orphan

JOURNAL_SCHEMA = "otel-gate/journal/1"
FOLDER, LOCK, SUFFIX = "journal", "owner", ".segment"
SEGMENT_BYTES, IDLE_BYTES = 16 << 20, 1 << 18
TRIES = 10
left_behind: set[str] = set()  # folders that this process closed with something in them


class Journal:
    """The journal that this process writes. What appends, ``sync``, ``end`` are for any thread, the rest is for one."""

    def __init__(  # noqa: PLR0913
        self, root: Path, files: Files, about: Mapping[str, Any], preamble: Callable[[], Iterable[bytes]],
        defining: threading.RLock | None = None, *, sync: bool = False, grouped: bool = False,
        segment_bytes: int = SEGMENT_BYTES,
    ) -> None:  # fmt: skip
        """Name the store; nothing is made before ``open``.

        ``about`` and ``preamble`` say what every segment begins with; ``defining`` is held while ``preamble`` is asked.
        With ``sync`` every ``append`` is durable, with ``grouped`` what ``sync`` was called for.
        """
        self._root, self._files, self._about, self._preamble = root / FOLDER, files, about, preamble
        self._sync, self._durable, self._write = sync, sync or grouped, files.append
        self._in_turn = threading.RLock() if grouped else None
        self._segment_bytes = segment_bytes
        self.defining = defining or threading.RLock()
        self.folder: Path | None = None
        self.sync_errors = self.read_to = 0
        self.blocked = False
        self._secret = secrets.randbits(32)
        self._to: OpenFile = NoFile()
        self._writers: dict[int, Callable[[], OpenFile | None]] = {}
        self.segments: list[Segment] = []
        self._last, self._numbers = 0, itertools.count(1)
        self._lock: int | None = None

    @property
    def is_open(self) -> bool:
        """Whether entries are taken."""
        return self._to.fd >= 0

    @property
    def size(self) -> int:
        """How many bytes its segments have, about."""
        return sum(segment.at for segment in self.segments)

    @property
    def unread_bytes(self) -> int:
        """How many bytes were appended and not read yet, about; for any thread."""
        return sum(segment.unread for segment in tuple(self.segments) if not segment.is_done)

    def append(self, payload: bytes) -> bool:
        """Append an entry and return whether it is on disk."""
        to = self._to  # holds it open
        entry = (
            pack(MAGIC, len(payload), crc32(payload, self._secret)) + payload
        )  # like framed: this is the agent's time
        if self._in_turn:
            return self._appended(to, entry)
        try:
            if self._write(to.fd, entry) != len(entry):
                return False
        except OSError:
            return False
        if self._sync and not to.settle(self._files.flush):
            self.sync_errors += 1
        return True

    def append_all(self, payloads: Iterable[bytes]) -> None:
        """Append entries together, when that is possible."""
        self._appended(self._to, b"".join(framed(payload, self._secret) for payload in payloads))

    def append_together(self, payloads: Iterable[bytes]) -> set[OpenFile] | None:
        """Append entries in few pieces; return the files for ``sync``, None when not every entry is on disk."""
        files: set[OpenFile] = set()
        for piece in pieces(payloads, self._secret):
            to = self._to  # after the entries were made: what they rest on was announced before
            if not self._appended(to, piece):
                return None
            files.add(to)
        return files

    def _appended(self, to: OpenFile, content: bytes) -> bool:
        """Append to a file and return whether all of it is there; what was written in part ends its segment."""
        with self._in_turn or contextlib.nullcontext(), contextlib.suppress(OSError):
            written = 0 if to.is_torn else self._write(to.fd, content)
            to.is_torn = to.is_torn or (self._in_turn is not None and 0 < written < len(content))
            if to.is_torn and self._to is to:
                self.stop()
            return written == len(content)
        return False

    def sync(self, files: Iterable[OpenFile]) -> None:
        """Make durable what was appended to these files. May raise ``OSError``. For any thread."""
        for file in files:
            self._files.flush(file.fd)

    def end(self) -> int:
        """Return the place after everything that was appended until now."""
        to = self._to
        try:
            return Segment.place(to.number, os.fstat(to.fd).st_size)
        except OSError:
            return Segment.place(to.number, 0)

    def beat(self) -> None:
        """Have the time of its file say that this process lives: whoever recovers it knows about when it ended."""
        to = self._to
        with contextlib.suppress(OSError, TypeError, NotImplementedError):  # Windows sets no times by a descriptor
            os.utime(to.fd)

    def open(self) -> None:
        """Make the journal, and take it for this process. May raise ``OSError``."""
        self.turn()

    def adopt(self, orphan: Orphan, lock: int) -> int:
        """Go on in the journal of a process that has ended, whose lock is held; return the place after what is in it.

        It is read anew, from its first entry. May raise ``OSError``; then everything is as it was.
        """
        if os.fstat(lock).st_nlink == 0:
            raise FileNotFoundError(orphan.folder)
        for path in orphan.torn:
            self._files.remove(path)
        secret, segments = self._secret, orphan.segments
        self.folder, self._lock, self._secret = orphan.folder, lock, orphan.about["secret"]
        self.segments, self._numbers = list(segments), itertools.count(segments[-1].number + 1)
        for segment in segments:
            segment.rewind()
            self._writers[segment.number] = _nobody
        self._introduce()
        try:
            self.turn()
        except BaseException:
            self.folder = self._lock = None
            self._secret, self.segments, self._writers, self._numbers = secret, [], {}, itertools.count(1)
            raise
        orphan.segments = []
        return Segment.place(self._last, 0)

    def turn(self) -> None:
        """Go on in a new segment. May raise ``OSError``; then everything is as it was."""
        if self.folder is None or self._lock is None or os.fstat(self._lock).st_nlink == 0:
            self._settle_in()
        number = next(self._numbers)
        path = self.folder / f"{number:06}{SUFFIX}"  # type: ignore[operator]  # it has settled in
        to = OpenFile(self._files.open_new(path), number)
        try:
            with self.defining:
                segment = self._begun(to, number, path)
                self._writers[number] = weakref.ref(to)
                self.segments.append(segment)
                self._last, self._to = number, to
        except BaseException:
            self._files.drop(str(path))
            raise

    def _settle_in(self) -> None:
        """Take a new folder; the one before, with its lock, was removed under us."""
        for _ in range(TRIES):
            folder = self._root / f"{process()}-{secrets.token_hex(4)}"
            lock = self._files.hold(folder / LOCK)
            if lock is not None and os.fstat(lock).st_nlink > 0:
                break
            if lock is not None:
                self._files.release(lock)
        else:
            message = f"{folder}: somebody took it for an orphan before it was begun, {TRIES} times"
            raise OSError(message)
        if self._lock is not None:
            self._files.release(self._lock)
        self.folder, self._lock = folder, lock
        self._introduce()

    def _introduce(self) -> None:
        self._about = {**self._about, "schema": JOURNAL_SCHEMA, "owner": new_owner(), "secret": self._secret}

    def _begun(self, to: OpenFile, number: int, path: Path) -> Segment:
        header = framed(msgspec.json.encode(self._about), 0)
        content = header + b"".join(framed(payload, self._secret) for payload in self._preamble())
        if self._write(to.fd, content) != len(content):
            message = f"{path}: expected {counted(len(content), 'byte')} to be written, and fewer were"
            raise OSError(message)
        if self._durable:  # its name too
            self._files.flush(to.fd)
            self._files.sync(path.parent)
        return Segment(self._files, self._files.open(path), number, path, self._secret, at=len(header))

    def is_due(self, *, idle: bool) -> bool:
        """Tell whether the current segment is full (with nothing needed: not empty), or somebody has removed it."""
        try:
            found = os.fstat(self._to.fd)
        except OSError:
            return False
        return found.st_size >= (IDLE_BYTES if idle else self._segment_bytes) or found.st_nlink == 0

    def read(self, *, patient: bool = True) -> list[tuple[int, bytes]]:
        """Return a portion of what was appended since the last time: places and payloads. May raise ``OSError``.

        ``blocked`` says that somebody may be writing to a segment still that is not the last: what comes after it has
        to wait, when this is to be ``patient``.
        """
        self.blocked = False
        for segment in self.segments:
            if segment.is_done:
                continue
            sealed = self._is_sealed(segment)
            portion = segment.read()
            self.read_to = segment.next_place
            if portion:
                return portion
            if sealed:
                segment.is_done = True
                continue
            self.blocked = self.blocked or segment.number != self._last
            if patient:
                break
        return []

    @property
    def has_more(self) -> bool:
        """Whether there is something to read. May raise ``OSError``."""
        return any(segment.has_more for segment in tuple(self.segments) if not segment.is_done)

    def payloads(self, places: Iterable[int]) -> list[bytes]:
        """Return entries that were read before. May raise ``OSError``."""
        by_number = {segment.number: segment for segment in self.segments}
        return [by_number[Segment.number_of(place)].payload(place) for place in places]

    def forget(self, needed: int) -> None:
        """Remove the segments that end before this place; the current one stays."""
        while len(self.segments) > 1:
            segment = self.segments[0]
            if not (segment.is_done and segment.next_place <= needed):
                return
            segment.close()
            with contextlib.suppress(OSError):
                self._files.remove(segment.path)
            del self.segments[0], self._writers[segment.number]

    def stop(self) -> None:
        """Take nothing more; what is on its way still comes, and is to be read."""
        self._to = NoFile(self._last + 1)  # what is not appended comes after everything that was

    @property
    def is_read(self) -> bool:
        """Whether nothing more can come, and everything was read."""
        return not self.is_open and all(segment.is_done for segment in self.segments)

    def close(self, *, remove: bool) -> None:
        """Let go of it. ``remove`` says that nothing in it is needed: else it stays, for whoever recovers it."""
        self.stop()
        for segment in self.segments:
            segment.close()
        if remove and self.folder is not None:
            for path in (*(segment.path for segment in self.segments), self.folder / LOCK, self.folder):
                with contextlib.suppress(OSError):
                    self._files.remove(path)
        if self._lock is not None:
            self._files.release(self._lock)
        if not remove and self.folder is not None:
            left_behind.add(self.folder.name)
        self.folder = self._lock = None
        self.segments, self._writers = [], {}

    def abandon(self) -> None:
        """Let go of it in a forked child: it is the parent's, and so is the lock."""
        lock, self._lock = self._lock, None
        if lock is not None:
            os.close(lock)
        self.close(remove=False)

    def _is_sealed(self, segment: Segment) -> bool:
        """Tell whether nobody can append to a segment any more."""
        return self._writers[segment.number]() is None


def _nobody() -> None:
    """Stand for who writes to a segment of a process that has ended."""
