"""What could not be read and was moved away: it is kept until somebody has looked at it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.store import listing
from otel_gate.store.checks.finding import Finding, counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_gate.store.checks.examination import Examination


def check(looked: Examination) -> Iterator[Finding]:
    """Find what lies in quarantine."""
    folder = looked.root / listing.QUARANTINE
    found = [path.name for path in sorted(folder.glob("*"))]
    if found:
        what = f"{counted(found, 'file')} that can't be read in {folder}"
        yield Finding(what, "looking at them, then removing them")
