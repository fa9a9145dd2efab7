"""Segments: each line is a record, and the last one has its end."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from otel_gate.store.checks.finding import Finding, counted, listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from otel_gate.store.checks.examination import Examination


def damaged(looked: Examination) -> Iterator[Finding]:
    """Find lines that are no record; they are moved to quarantine, and a line before of the same trace counts."""
    found = looked.segments.damaged
    if found:
        what = f"{counted(found, 'line')} can't be read: {listed([str(line) for line in found])}"
        try_ = "otel-gate doctor --fix, which moves what can't be read to quarantine"
        yield Finding(what, try_, partial(_rewrite, looked, {line.segment for line in found}))


def cut(looked: Examination) -> Iterator[Finding]:
    """Find segments that end in the middle of a line: what it was to say is in the journal of its process."""
    records, lost = looked.store.records, {one.segment for one in looked.lost}
    found = [
        name
        for name in looked.segments.cut
        if name in lost or (records / name).stat().st_mtime_ns < looked.settled_before_ns
    ]
    if found:
        what = f"{counted(found, 'segment')} cut in the middle of the last line: {listed(found)}"
        try_ = "otel-gate doctor --fix, which keeps every whole line"
        yield Finding(what, try_, partial(_rewrite, looked, found))


def lost(looked: Examination) -> Iterator[Finding]:
    """Find lines that somebody has cut off: what is left of their traces counts again, if anything is."""
    if looked.lost:
        now = {place: line.revision for place, line in looked.segments.latest.items()}
        said = [
            f"{one} (revision {one.revision} of {one.place}; now {now.get(one.place, 'none')})" for one in looked.lost
        ]
        try_ = "a copy from before; otel-gate doctor --fix goes on with what is left"
        what = f"{counted(said, 'line')} lost since written: {listed(said)}"
        yield Finding(what, try_, partial(_go_on, looked))


def _go_on(looked: Examination) -> None:
    """Let the index follow the segments, and forget what is lost, with the deliveries of records that are gone."""
    store = looked.store
    store.reconcile((), looked.forwardable)
    lost = store.segments.losses.find()
    places = {one.place for one in lost}
    with store.amending(), store.database.transaction():
        store.segments.losses.follow(places)
    store.reconcile((), looked.forwardable)
    with store.database.transaction():
        store.outbox.forget(places - store.segments.located(places).keys())
        store.segments.losses.forget(lost)


def _rewrite(looked: Examination, names: Iterable[str]) -> None:
    segments = looked.store.segments
    for name in sorted(names):
        with looked.store.amending():
            if segments.has(name):
                segments.rewrite(name)
