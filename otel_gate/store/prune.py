"""Pruning: the oldest records go, with what only they needed, and never one of which something is owed.

A plan is made from what is there; it removes nothing. To carry it out, under the amend lock, records that are still as
they were planned and of which nothing is owed are marked in the index as going, and their deliveries forgotten, in one
transaction; ``removal`` does the rest, also after a crash. A record that was amended meanwhile stays.

Age is counted from when a file was last written: times inside a trace are what somebody says. Blobs go last, and only
such as nothing in the store names. A blob is taken away from its name before it is removed: when it was put again at
that very moment, it gets its name back.

A line is as old as its segment. Segments of which half or more no longer counts go with any pruning: what counts is put
in a segment of the same age.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from otel_gate.store import listing, removal, snapshot
from otel_gate.store.shelf import Shelf

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from otel_gate.store.lines import Found
    from otel_gate.store.listing import Listed
    from otel_gate.store.store import Store

GROUP = 100
BLOB_GRACE_NS = 900 * 10**9  # a blob is put before anything names it
NOTHING = snapshot.Snapshot({}, {}, (), {})
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
    """What goes, with the blobs that each record names; what was to go and stays, by reason; the bytes left then.

    ``spare`` has how many bytes of segments no longer count, where these go.
    """

    records: list[Listed]
    blobs: list[Listed]
    needs: dict[str, frozenset[str]]
    kept: dict[str, int]
    left_bytes: int
    spare: dict[str, int]

    @property
    def freed_bytes(self) -> int:
        """How many bytes go."""
        return sum(one.size for one in (*self.records, *self.blobs)) + sum(self.spare.values())


class Pruned(NamedTuple):
    """How many records and blobs have gone, and their bytes."""

    records: int
    blobs: int
    freed_bytes: int


def plan(root: Path, limits: Limits) -> Plan:
    """Choose what goes; nothing is touched. It may raise ``sqlite3.Error`` and ``OSError``."""
    found = listing.segments(root)
    spare, kept_bytes = _spare(root, found)
    records = sorted(listing.records(root, found), key=lambda one: (one.changed_ns, str(one.path), one.offset))
    index = root / listing.INDEX
    known = snapshot.read(index) if index.exists() else NOTHING
    shelf = _shelf(root, records, limits)
    going, blobs, kept = list[listing.Listed](), shelf.unnamed(), Counter[str]()
    left = sum(one.size for one in records) + kept_bytes + shelf.size - sum(blob.size for blob in blobs)
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
    return Plan(going, blobs, {one.name: shelf.needs(one.name) for one in going}, dict(kept), left, spare)


def carry_out(store: Store, chosen: Plan, *, undecided: bool = False) -> Pruned:
    """Remove what was chosen and is still as it was. It may raise ``sqlite3.Error`` and ``OSError``."""
    gone: list[Listed] = []
    for group in _groups(chosen.records):
        with store.amending():
            store.segments.meet()
            same = list(_unchanged(store, group))
            with store.database.transaction():
                store.index.mark_going(same, undecided=undecided)
                store.outbox.forget([*store.index.going()])
            removal.remove(store)
            there = store.segments.located(one.name for one in group)
            gone += [one for one in group if not (one.name in there if one.line else one.path.exists())]
    spare = sum(_rewritten(store, segment) for segment in chosen.spare)
    stayed = {one.name for one in chosen.records} - {one.name for one in gone}
    needed = {name for place in stayed for name in chosen.needs[place]}
    blobs = [blob for blob in chosen.blobs if blob.name not in needed and _remove_blob(store, blob)]
    return Pruned(len(gone), len(blobs), sum(one.size for one in (*gone, *blobs)) + spare)


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


def _groups(records: Sequence[Listed]) -> Iterator[Sequence[Listed]]:
    """Give so many files, and all lines of a segment, together: a segment is written again as a whole."""
    files = [one for one in records if not one.line]
    for start in range(0, len(files), GROUP):
        yield files[start : start + GROUP]
    for _, group in itertools.groupby((one for one in records if one.line), key=lambda one: one.path):
        yield list(group)


def _spare(root: Path, found: Found) -> tuple[dict[str, int], int]:
    """Return how many bytes no longer count in each segment that is to go, and in all others together."""
    spare = Counter(found.cut)
    for line in (*found.earlier, *found.damaged):
        spare[line.segment] += line.size
    sizes = {name: (root / listing.RECORDS / name).stat().st_size for name in spare}
    going = {name: size for name, size in spare.items() if size * 2 >= sizes[name]}
    return going, sum(spare.values()) - sum(going.values())


def _rewritten(store: Store, segment: str) -> int:
    """Put what counts of a segment into a new one, and return how many bytes are freed; none when it is gone."""
    with store.amending():
        store.segments.meet()
        if not store.segments.has(segment):
            return 0
        return store.segments.rewrite(segment)


def _unchanged(store: Store, group: Sequence[Listed]) -> Iterator[tuple[str, int]]:
    there = store.segments.located(one.name for one in group if one.line)
    for one in group:
        if one.line:
            line = there.get(one.name)
            if line and (store.records / line.segment, line.offset, line.size) == (one.path, one.offset, one.size):
                yield one.name, one.size
            continue
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
