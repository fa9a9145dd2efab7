"""The removal of records that are marked in the index as going: their files or lines first, then their rows.

Who marks a record has seen, under the amend lock, that nothing of it is owed. A crash leaves marked rows; every
reconciliation ends what was begun. A record that was amended since it was marked stays, and it is decided anew what of
it is owed. The last line of a record goes last: until then it is seen not to have been amended.
"""

from __future__ import annotations

import contextlib
import errno
from typing import TYPE_CHECKING

from otel_gate.core.record import is_line

if TYPE_CHECKING:
    from pathlib import Path

    from otel_gate.store.store import Store


def finish(store: Store) -> None:
    """End what a crash has interrupted."""
    if store.index.going():
        with store.amending():
            remove(store)


def remove(store: Store) -> None:
    """Remove what is marked (under the amend lock), and the folders of days that are empty then."""
    going = store.index.going()
    lines = {place: size for place, size in going.items() if is_line(place)}
    gone = [place for place, size in going.items() if place not in lines and _is_gone(store, place, size)]
    folders = {store.records / place.partition("/")[0] for place in gone}
    if lines:
        gone += _without(store, lines, folders)
    for folder in sorted(folders):
        if folder.is_dir():
            store.files.sync(folder)
    store.index.end_going(gone)
    for folder in sorted(folders):
        with contextlib.suppress(OSError):  # something is in it, or it is gone
            folder.rmdir()


def _without(store: Store, going: dict[str, int], folders: set[Path]) -> list[str]:
    """Remove the lines of records, and return what is gone; the folders of their segments are added to the others."""
    located = store.segments.located(going)
    same = frozenset(place for place, line in located.items() if line.size == going[place])
    for segment in store.segments.named(same):
        folders.add((store.records / segment).parent)
        store.segments.rewrite(segment, without=same)
    return [place for place in going if place in same or place not in located]


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
