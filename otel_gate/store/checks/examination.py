"""One look at a store: what the checks share, read once and without a write."""

from __future__ import annotations

import shutil
import sqlite3
from functools import cached_property
from typing import TYPE_CHECKING

from otel_gate.store import listing, snapshot
from otel_gate.store.checks.readings import Readings, read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from otel_gate.core.model import Record, Trace, Verdict
    from otel_gate.store import Store
    from otel_gate.store.lines import Found
    from otel_gate.store.lost import Lost
    from otel_gate.store.snapshot import Snapshot

SETTLING_NS = 60_000_000_000  # what is younger may be in the middle of its way


def free_bytes(folder: Path) -> int:
    """Return how many bytes of its disk a folder may still take."""
    return shutil.disk_usage(folder).free


class Examination:
    """A store that is looked at: its index, and its records one by one.

    ``judge`` gives the verdict of the rules, whose ``codes`` are those of violations that it can find; ``forwardable``
    tells whether a record may leave; what names a blob that was put after ``blobs_before_ns`` may be on its way.
    ``recover`` records what journals of ended processes hold.
    """

    def __init__(  # noqa: PLR0913
        self, store: Store, *, judge: Callable[[Trace], Verdict], codes: frozenset[str],
        forwardable: Callable[[Record], bool], blobs_before_ns: int, free: Callable[[Path], int] = free_bytes,
        recover: Callable[[], object] | None = None,
    ) -> None:  # fmt: skip
        """Read nothing yet."""
        self.store, self.root = store, store.root
        self.judge, self.codes, self.forwardable, self.free = judge, codes, forwardable, free
        self.blobs_before_ns, self.recover = blobs_before_ns, recover

    @property
    def settled_before_ns(self) -> int:
        """Before when a file was written that is not in the middle of its way."""
        return self.store.now_ns() - SETTLING_NS

    @cached_property
    def index(self) -> Snapshot | sqlite3.Error | None:
        """The index: None when there is none, the error when it can't be read."""
        path = self.root / listing.INDEX
        try:
            return snapshot.read(path) if path.exists() and path.stat().st_size else None
        except sqlite3.Error as error:
            return error

    @cached_property
    def readings(self) -> Readings:
        """What reading all records gave."""
        rows = self.index.rows if isinstance(self.index, snapshot.Snapshot) else {}
        behind = {one.place for one in self.lost}
        rows = {place: row for place, row in rows.items() if place not in behind} if behind else rows
        return read(self.root, self.segments, rows, self.judge, self.codes)

    @cached_property
    def segments(self) -> Found:
        """The lines of all segments."""
        return listing.segments(self.root)

    @cached_property
    def lost(self) -> list[Lost]:
        """Lines that were entered and are gone, whether or not somebody has noticed: their segment was cut."""
        if not isinstance(self.index, snapshot.Snapshot):
            return []
        found = {(one.segment, one.number): one for one in self.index.lost}
        for segment, size in self.index.sizes.items():
            if self._size(segment) < size:
                found |= {(one.segment, one.number): one for one in self._gone(segment)}
        return [found[where] for where in sorted(found)]

    def _gone(self, segment: str) -> Iterator[Lost]:
        for one in snapshot.entered(self.root / listing.INDEX, segment):
            there = self.segments.latest.get(one.place)
            if there is None or there.revision < one.revision:
                yield one

    def _size(self, segment: str) -> int:
        try:
            return (self.root / listing.RECORDS / segment).stat().st_size
        except FileNotFoundError:
            return -1

    def again(self) -> None:
        """Look anew: something was mended."""
        for name in ("index", "segments", "lost", "readings"):
            self.__dict__.pop(name, None)
