"""Records: each can be read, and is what was written."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from otel_gate.store.checks.finding import Finding, counted, listed
from otel_gate.store.snapshot import Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from otel_gate.store.checks.examination import Examination


def torn(looked: Examination) -> Iterator[Finding]:
    """Find files that are no record; they are moved to quarantine, and what comes of their traces is kept anew."""
    found = looked.readings.torn
    if found:
        what = f"{counted(found, 'record')} can't be read: {listed(found)}"
        try_ = "otel-gate doctor --fix, which moves what can't be read to quarantine"
        yield Finding(what, try_, partial(_move, looked, found))


def refused(looked: Examination) -> Iterator[Finding]:
    """Find files that the disk does not give."""
    found = _with_reasons(looked.readings.refused)
    if found:
        yield Finding(f"{counted(found, 'record')} can't be opened: {listed(found)}", "the rights of a user that may")


def changed(looked: Examination) -> Iterator[Finding]:
    """Find records that are not as they were written."""
    found = _with_reasons(looked.readings.changed)
    if found:
        yield Finding(
            f"{counted(found, 'record')} changed since written: {listed(found)}",
            "a copy from before; what a record says is never rewritten here",
        )


def otherwise(looked: Examination) -> Iterator[Finding]:
    """Find records whose verdict is not what the rules make of their spans."""
    found = looked.readings.otherwise
    if found:
        yield Finding(
            f"{counted(found, 'record')} with another verdict than the rules give their spans: {listed(found)}",
            "otel-gate rejudge when the rules have changed, else a copy from before",
        )


def _with_reasons(found: Mapping[str, str]) -> list[str]:
    return [f"{place} ({why})" for place, why in found.items()]


def _move(looked: Examination, places: Sequence[str]) -> None:
    known = looked.index.rows if isinstance(looked.index, Snapshot) else {}
    for place in places:
        looked.store.quarantine(place)
        if place in known:
            looked.store.index.forget(place)
