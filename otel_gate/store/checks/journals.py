"""Journals: none is left of a process that has ended, and every entry of those that are left can be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.store.checks.finding import Finding, counted, listed
from otel_gate.store.journals import seen
from otel_gate.store.orphans import GOES_ON

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_gate.store.checks.examination import Examination
    from otel_gate.store.orphans import Orphan

RECOVER = "otel-gate recover"
GO_ON = "otel-gate serve, which goes on with what a gateway has left open; otherwise otel-gate recover"


def check(looked: Examination) -> Iterator[Finding]:
    """Find journals of processes that have ended, and what of them can't be read; the others are being written."""
    left, damaged, goes_on = [], list[str](), False
    for journal, has_ended in seen(looked.root, looked.store.files):
        if has_ended:
            left.append(journal.folder.name)
            damaged += _damaged(journal)
            goes_on = goes_on or bool(journal.about.get(GOES_ON))
    if left:
        what = f"{counted(left, 'journal')} of processes that have ended: {listed(left)}"
        yield Finding(what, GO_ON if goes_on else RECOVER, looked.recover)
    if damaged:
        what = f"{counted(damaged, 'part')} of journals that can't be read: {listed(damaged)}"
        yield Finding(what, f"{RECOVER}, which moves them to quarantine and records the rest", looked.recover)


def _damaged(journal: Orphan) -> Iterator[str]:
    for _ in journal.read():
        pass
    name = journal.folder.name
    for segment in journal.segments:
        yield from (f"{name}/{segment.path.name} at {gap.start}" for gap in segment.gaps)
    yield from (f"{name}/{path.name}" for path in journal.unreadable)
