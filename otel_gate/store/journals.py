"""The journals of a store as they are seen from outside: nothing is made, moved or kept from anybody.

A journal whose process has ended is an orphan (``orphans``); one that nothing was begun in yet is passed over.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, NamedTuple

from otel_gate.store.journal import FOLDER, LOCK
from otel_gate.store.orphans import Orphan
from otel_gate.store.owner import is_gone

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from otel_gate.store.files import Files


class Seen(NamedTuple):
    """A journal that can be read while it is looked at, and whether its process has ended or let go of it."""

    journal: Orphan
    has_ended: bool


def seen(root: Path, files: Files) -> Iterator[Seen]:
    """Iterate over the journals of a store; one that goes meanwhile is passed over. May raise ``OSError``."""
    folder = root / FOLDER
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        journal = Orphan(path, files)
        with contextlib.suppress(FileNotFoundError):
            try:
                journal.open()
                if journal.segments or journal.unreadable:
                    yield Seen(journal, _has_ended(journal, files))
            finally:
                journal.close()


def _has_ended(journal: Orphan, files: Files) -> bool:
    if is_gone(str(journal.about.get("owner", ""))) or not (journal.folder / LOCK).exists():
        return True
    lock = files.hold(journal.folder / LOCK)
    if lock is None:
        return False
    files.release(lock)
    return True
