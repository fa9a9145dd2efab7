"""Pruning: the oldest records go, with what only they needed, and never one of which something is owed.

A plan is made from what is there; it removes nothing. To carry it out, under the amend lock, records that are still as
they were planned and of which nothing is owed are marked in the index as going, and their deliveries forgotten, in one
transaction; ``removal`` does the rest, also after a crash. A record that was amended meanwhile stays.

Age is counted from when a file was last written: times inside a trace are what somebody says. Blobs go last, and only
such as nothing in the store names. A blob is taken away from its name before it is removed: when it was put again at
that very moment, it gets its name back.
"""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from otel_gate.store import listing, removal, snapshot
from otel_gate.store.shelf import Shelf

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from otel_gate.store.listing import Listed
    from otel_gate.store.store import Store

GROUP = 100
BLOB_GRACE_NS = 900 * 10**9  # a blob is put before anything names it
NOTHING = snapshot.Snapshot({}, {})
OWED, UNDECIDED, NOT_INDEXED = "owed", "undecided", "not indexed"


class Limits(NamedTuple):
    """What goes: what was written before ``before_ns``, and the oldest until ``most_bytes`` are left; None is no limit.

    Blobs that were put after ``blobs_before_ns`` stay, and all with ``keep_blobs``. With ``undecided`` records go too
    for which nobody has decided yet whether they are owed.
    """

    before_ns: int | None
    most_bytes: int | None
    blobs_before_ns: int
    keep_blobs: bool = False
    undecided: bool = False


class Plan(NamedTuple):
    """What goes, with the blobs that each record names; what was to go and stays, by reason; the bytes left then."""

    records: list[Listed]
    blobs: list[Listed]
    needs: dict[str, frozenset[str]]
    kept: dict[str, int]
    left_bytes: int

    @property
    def freed_bytes(self) -> int:
        """How many bytes go."""
        return sum(one.size for one in (*self.records, *self.blobs))


class Pruned(NamedTuple):
    """How many records and blobs have gone, and their bytes."""

    records: int
    blobs: int
    freed_bytes: int


def plan(root: Path, limits: Limits) -> Plan:
    """Choose what goes; nothing is touched. It may raise ``sqlite3.Error`` and ``OSError``."""
    records = sorted(listing.records(root), key=lambda one: (one.changed_ns, one.name))
    index = root / listing.INDEX
    known = snapshot.read(index) if index.exists() else NOTHING
    shelf = _shelf(root, records, limits)
    going, blobs, kept = list[listing.Listed](), shelf.unnamed(), Counter[str]()
    left = sum(one.size for one in records) + shelf.size - sum(blob.size for blob in blobs)
    for one in records:
        if not _is_over(one, left, limits):
            continue
        reason = _reason(one, known, undecided=limits.undecided)
        if reason:
            kept[reason] += 1
            continue
        going.append(one)
        freed = shelf.without(one.name)
        blobs += freed
        left -= one.size + sum(blob.size for blob in freed)
    return Plan(going, blobs, {one.name: shelf.needs(one.name) for one in going}, dict(kept), left)


def carry_out(store: Store, chosen: Plan, *, undecided: bool = False) -> Pruned:
    """Remove what was chosen and is still as it was. It may raise ``sqlite3.Error`` and ``OSError``."""
    gone: list[Listed] = []
    for start in range(0, len(chosen.records), GROUP):
        group = chosen.records[start : start + GROUP]
        with store.amending():
            with store.database.transaction():
                store.index.mark_going(_unchanged(group), undecided=undecided)
                store.outbox.forget([*store.index.going()])
            removal.remove(store)
            gone += [one for one in group if not one.path.exists()]
    stayed = {one.name for one in chosen.records} - {one.name for one in gone}
    needed = {name for place in stayed for name in chosen.needs[place]}
    blobs = [blob for blob in chosen.blobs if blob.name not in needed and _remove_blob(store, blob)]
    return Pruned(len(gone), len(blobs), sum(one.size for one in (*gone, *blobs)))


def _shelf(root: Path, records: list[Listed], limits: Limits) -> Shelf:
    if limits.keep_blobs:
        return Shelf((), (), (), 0)
    return Shelf(listing.blobs(root), records, listing.others(root), limits.blobs_before_ns)


def _is_over(one: Listed, left_bytes: int, limits: Limits) -> bool:
    if limits.before_ns is not None and one.changed_ns < limits.before_ns:
        return True
    return limits.most_bytes is not None and left_bytes > limits.most_bytes


def _reason(one: Listed, known: snapshot.Snapshot, *, undecided: bool) -> str:
    """Say why a record has to stay; empty when it may go."""
    row = known.rows.get(one.name)
    if row is None or row.size != one.size:
        return NOT_INDEXED
    if known.deliveries.get(one.name):
        return OWED
    return UNDECIDED if row.forwardable and not row.owed and not undecided else ""


def _unchanged(group: Sequence[Listed]) -> Iterator[tuple[str, int]]:
    for one in group:
        with contextlib.suppress(FileNotFoundError):
            state = one.path.stat()
            if (state.st_size, state.st_mtime_ns) == (one.size, one.changed_ns):
                yield one.name, one.size


def _remove_blob(store: Store, blob: Listed) -> bool:
    beside = f"{blob.path}.{os.getpid()}-prune.tmp"
    try:
        store.files.rename(str(blob.path), beside)
    except FileNotFoundError:
        return False
    again = Path(beside).stat().st_mtime_ns != blob.changed_ns
    if again:
        with contextlib.suppress(FileExistsError):
            store.files.link(beside, str(blob.path))
    store.files.drop(beside)
    return not again
