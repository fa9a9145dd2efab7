"""One look at a store: what the checks share, read once and without a write."""

from __future__ import annotations

import shutil
import sqlite3
from functools import cached_property
from typing import TYPE_CHECKING

from otel_gate.store import listing, snapshot
from otel_gate.store.checks.readings import Readings, read

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from otel_gate.core.model import Record, Trace, Verdict
    from otel_gate.store import Store
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
        return read(self.root, rows, self.judge, self.codes)

    def again(self) -> None:
        """Look anew: something was mended."""
        for name in ("index", "readings"):
            self.__dict__.pop(name, None)
