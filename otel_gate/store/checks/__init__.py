"""What can be wrong with a store, one small check each, in the order in which they are made and mended.

A check looks and changes nothing; it yields what it found, with a remedy and, where there is one, a function that mends
it. What was written as the truth is never mended by rewriting it. To add a check, write a function that takes an
``Examination`` and put it into the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from otel_gate.store.checks import (
    accounts,
    blobs,
    disk,
    index,
    journals,
    leftovers,
    modes,
    quarantine,
    records,
    segments,
)
from otel_gate.store.checks.examination import Examination
from otel_gate.store.checks.finding import Finding

__all__ = ["CHECKS", "FIRST", "Examination", "Finding"]

Check = Callable[[Examination], Iterable[Finding]]

FIRST: tuple[Check, ...] = (disk.check,)  # also where there is no store yet
CHECKS: tuple[Check, ...] = (
    modes.check,
    leftovers.check,
    records.torn,
    records.refused,
    records.changed,
    records.otherwise,
    segments.damaged,
    segments.cut,
    segments.lost,
    index.sound,
    index.whole,
    index.gone,
    index.copies,
    journals.check,
    accounts.balanced,
    accounts.held,
    blobs.same,
    blobs.named,
    quarantine.check,
)
