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
    found = looked.readings.segments.damaged
    if found:
        what = f"{counted(found, 'line')} can't be read: {listed([str(line) for line in found])}"
        try_ = "otel-gate doctor --fix, which moves what can't be read to quarantine"
        yield Finding(what, try_, partial(_rewrite, looked, {line.segment for line in found}))


def cut(looked: Examination) -> Iterator[Finding]:
    """Find segments that end in the middle of a line: what it was to say is in the journal of its process."""
    records = looked.store.records
    found = [
        name for name in looked.readings.segments.cut if (records / name).stat().st_mtime_ns < looked.settled_before_ns
    ]
    if found:
        what = f"{counted(found, 'segment')} cut in the middle of the last line: {listed(found)}"
        try_ = "otel-gate doctor --fix, which keeps every whole line"
        yield Finding(what, try_, partial(_rewrite, looked, found))


def _rewrite(looked: Examination, names: Iterable[str]) -> None:
    segments = looked.store.segments
    for name in sorted(names):
        with looked.store.amending():
            if segments.has(name):
                segments.rewrite(name)
