"""The index: it is there, sound, and knows every record; and every record that it knows is there.

It is made anew from the records. Of a damaged one the deliveries are saved that can still be read: what is forgotten is
sent again.
"""

from __future__ import annotations

import sqlite3
from functools import partial
from typing import TYPE_CHECKING

from otel_gate.store import listing, salvage, snapshot
from otel_gate.store.checks.finding import Finding, counted, listed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from otel_gate.store.checks.examination import Examination

FIX = "otel-gate doctor --fix"
DAMAGED = ".damaged"


def sound(looked: Examination) -> Iterator[Finding]:
    """Find an index that is missing, damaged, or can't be read."""
    path, found = looked.root / listing.INDEX, looked.index
    if found is None:
        if looked.readings.records:
            names = [one.name for one in looked.readings.records]
            yield Finding(f"the index is missing; there are {counted(names, 'record')}", FIX, partial(_rebuild, looked))
        return
    damage = _damage(looked)
    if damage:
        what = f"the index of {looked.root} is damaged: {damage}"
        yield Finding(what, f"{FIX}, which makes it anew", partial(_set_aside, looked))
    elif isinstance(found, sqlite3.Error):
        what = f"the index of {looked.root} can't be read: {found}"
        yield Finding(what, f"otel-gate doctor --rebuild-index, or moving {path} away: it is made again")


def whole(looked: Examination) -> Iterator[Finding]:
    """Find records that the index does not know, or knows an earlier revision of."""
    if not isinstance(looked.index, snapshot.Snapshot):
        return
    rows, told = looked.index.rows, {*looked.readings.torn, *looked.readings.changed}
    told |= {one.place for one in looked.lost}
    missing = [
        one.name
        for one in looked.readings.records
        if one.name not in told
        and one.changed_ns < looked.settled_before_ns
        and (one.name not in rows or rows[one.name].size != one.size)
    ]
    if missing:
        what = f"{counted(missing, 'record')} not in the index as they are: {listed(missing)}"
        yield Finding(what, FIX, partial(_enter, looked))


def gone(looked: Examination) -> Iterator[Finding]:
    """Find records that index or outbox know and that are gone from the disk."""
    if not isinstance(looked.index, snapshot.Snapshot):
        return
    rows, deliveries = looked.index.rows, looked.index.deliveries
    told = {one.place for one in looked.lost}
    places = sorted(({place for place, row in rows.items() if row.owed in (0, 1)} | deliveries.keys()) - told)
    there = {one.name for one in looked.readings.records}
    lost = [place for place in places if not (place in there or (looked.store.records / place).exists())]
    if lost:
        owed = [place for place in lost if deliveries.get(place)]
        what = f"{counted(lost, 'record')} gone from the disk, {len(owed)} of them still owed: {listed(lost)}"
        yield Finding(what, f"a copy from before; {FIX} forgets them", partial(_forget, looked, lost))


def copies(looked: Examination) -> Iterator[Finding]:
    """Find damaged indexes that were set aside: all that they hold was made anew, or can be."""
    found = sorted(looked.root.glob(f"*{DAMAGED}"))
    if found:
        names = [path.name for path in found]
        what = f"{listed(names)}: the index was damaged, and was made anew from the records"
        yield Finding(what, f"{FIX}, which removes them", partial(_drop, looked, [str(path) for path in found]))


def _damage(looked: Examination) -> str:
    try:
        return snapshot.damage(looked.root / listing.INDEX)
    except sqlite3.Error:
        return ""


def _rebuild(looked: Examination) -> None:
    looked.store.rebuild(looked.forwardable)


def _enter(looked: Examination) -> None:
    looked.store.index.look_again()
    looked.store.reconcile((), looked.forwardable)


def _set_aside(looked: Examination) -> None:
    store, path = looked.store, looked.root / listing.INDEX
    deliveries = salvage.deliveries(path)
    store.close()
    with store.files.lock(path.with_name("index.lock")):
        for suffix in ("", "-wal", "-shm"):
            damaged = path.with_name(path.name + suffix)
            if damaged.exists():
                store.files.move(damaged, damaged.with_name(damaged.name + DAMAGED))
    _rebuild(looked)
    salvage.restore(store.database, deliveries)


def _forget(looked: Examination, places: Sequence[str]) -> None:
    for place in places:
        looked.store.index.forget(place)
    looked.store.outbox.forget(places)


def _drop(looked: Examination, paths: Sequence[str]) -> None:
    for path in paths:
        looked.store.files.drop(path)
