"""The removal of records that are marked in the index as going: their files first, then their rows.

Who marks a record has seen, under the amend lock, that nothing of it is owed. A crash leaves marked rows; every
reconciliation ends what was begun. A record that was amended since it was marked stays, and it is decided anew what of
it is owed.
"""

from __future__ import annotations

import contextlib
import errno
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from otel_gate.store.store import Store


def finish(store: Store) -> None:
    """End what a crash has interrupted."""
    if store.index.going():
        with store.amending():
            remove(store)


def remove(store: Store) -> None:
    """Remove what is marked (under the amend lock), and the folders of days that are empty then."""
    gone = [place for place, size in store.index.going().items() if _is_gone(store, place, size)]
    folders = sorted({store.records / place.partition("/")[0] for place in gone})
    for folder in folders:
        if folder.is_dir():
            store.files.sync(folder)
    store.index.end_going(gone)
    for folder in folders:
        with contextlib.suppress(OSError):  # something is in it, or it is gone
            folder.rmdir()


def _is_gone(store: Store, place: str, size: int) -> bool:
    path = store.records / place
    try:
        if path.stat().st_size != size:
            return False
    except FileNotFoundError:
        return True
    store.files.drop(str(path))
    if path.exists():
        raise OSError(errno.EACCES, "a record can't be removed", str(path))
    return True
