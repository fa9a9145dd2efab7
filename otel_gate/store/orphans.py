"""Journals whose process has ended without closing them, and how they are read again.

A journal is an orphan when its lock can be had, or when its owner's process is seen to be gone (a child that was forked
behind our back may hold the lock on). One process recovers at a time: it holds the lock ``recovery``. A journal whose
head says ``goes_on`` is a gateway's: its traces are open still, and the next gateway takes it over.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any

import msgspec

from otel_gate.store.frames import MAGIC, is_torn
from otel_gate.store.journal import FOLDER, JOURNAL_SCHEMA, LOCK, SUFFIX, left_behind
from otel_gate.store.owner import is_gone, process
from otel_gate.store.segment import Segment, head

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from otel_gate.store.files import Files

RECOVERY, GOES_ON = "recovery", "goes_on"
HEAD_BYTES = 1 << 20


class Orphan:
    """The journal of a process that has ended. May raise ``OSError``."""

    def __init__(self, folder: Path, files: Files) -> None:
        """Name its folder."""
        self.folder, self._files = folder, files
        self.about: dict[str, Any] = {}
        self.segments: list[Segment] = []
        self.unreadable: list[Path] = []
        self.torn: list[Path] = []  # segments without a whole head

    def open(self) -> None:
        """Open its segments; what does not begin as a segment does is ``unreadable``."""
        for path in sorted(self.folder.glob(f"*{SUFFIX}"), key=lambda path: (len(path.name), path.name)):
            descriptor = self._files.open(path)
            content = self._files.read_at(descriptor, HEAD_BYTES, 0)
            if is_torn(content, len(content)) and MAGIC not in content[1:]:  # nothing was accepted into it yet
                os.close(descriptor)
                self.torn.append(path)
                continue
            try:
                said, at = head(content)
                number, secret = int(path.name.removesuffix(SUFFIX)), said["secret"]
                if said["schema"] != JOURNAL_SCHEMA or not isinstance(secret, int):
                    raise ValueError(said["schema"])  # noqa: TRY301
            except (ValueError, KeyError, msgspec.MsgspecError):
                os.close(descriptor)
                self.unreadable.append(path)
                continue
            self.about = said
            self.segments.append(Segment(self._files, descriptor, number, path, secret, at=at))

    def read(self) -> Iterator[tuple[int, bytes]]:
        """Iterate over all entries, from the first one, with their places."""
        for segment in self.segments:
            segment.rewind()
            while portion := segment.read():
                yield from portion
            segment.finish()

    def payload(self, place: int) -> bytes:
        """Return an entry that was read before."""
        number = Segment.number_of(place)
        return next(segment for segment in self.segments if segment.number == number).payload(place)

    @property
    def ended_ns(self) -> int:
        """When its process was last seen alive (it tells once a second), in nanoseconds since the epoch."""
        return max((segment.path.stat().st_mtime_ns for segment in self.segments), default=0)

    def close(self) -> None:
        """Let go of the files."""
        for segment in self.segments:
            segment.close()
        self.segments = []

    def remove(self) -> None:
        """Remove it: everything that is whole in it is in records."""
        for path in sorted(self.folder.iterdir()):
            self._files.remove(path)
        self._files.remove(self.folder)


def may_exist(root: Path) -> bool:
    """Tell whether there is a journal that this process does not write, dead or alive; it costs next to nothing."""
    with contextlib.suppress(OSError), os.scandir(root / FOLDER) as entries:
        ours = f"{process()}-"
        names = (entry.name for entry in entries if entry.name != RECOVERY)
        return any(not name.startswith(ours) or name in left_behind for name in names)
    return False


def found(root: Path, files: Files, *, going_on: bool = True) -> Iterator[Orphan]:
    """Iterate over the orphans of a store, holding each one's lock and the right to recover.

    Without ``going_on``, those that the next gateway takes over are passed over.
    """
    if not (root / FOLDER).is_dir():
        return
    right = files.hold(root / FOLDER / RECOVERY)
    if right is None:
        return
    try:
        for folder in sorted(path for path in (root / FOLDER).iterdir() if path.is_dir()):
            with contextlib.suppress(FileNotFoundError):
                yield from _orphan(folder, files, going_on=going_on)
    finally:
        files.release(right)


def _orphan(folder: Path, files: Files, *, going_on: bool) -> Iterator[Orphan]:
    lock = files.hold(folder / LOCK)
    orphan = Orphan(folder, files)
    try:
        orphan.open()
        is_ours = going_on or not orphan.about.get(GOES_ON)
        if is_ours and (lock is not None or is_gone(str(orphan.about.get("owner", "")))):
            yield orphan
    finally:
        orphan.close()
        if lock is not None:
            files.release(lock)
