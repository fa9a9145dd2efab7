"""Back-pressure: the doors close when too much is open, and open again when clearly less is.

Nothing is lost in the middle: what the doors take has room, and what has none is refused at the door, to be sent again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from otel_gate.report.quantities import size

if TYPE_CHECKING:
    from collections.abc import Sequence

RETRY_S = 2.0
LOW, HIGH = 0.45, 0.6  # of the bytes that may be open: the journal takes up to half as much again, and has that limit


class Measure(NamedTuple):
    """Something that is open: in words, how much of it, where the doors close and open, and what says so."""

    what: str
    now: int
    low: int
    high: int
    option: str

    def shown(self, number: int) -> str:
        """Write a number of it."""
        return f"{number} {self.what}" if self.what == "traces" else f"{size(number)} of {self.what}"


def of_traces(now: int, most: int) -> Measure:
    """Measure open traces: the doors close at ``most``."""
    return Measure("traces", now, int(most * LOW / HIGH), most, "--max-open-traces")


def of_bytes(now: int, most: int) -> Measure:
    """Measure the bytes of spans without a record: the doors close before a trace would have to be capped."""
    return Measure("spans", now, int(most * LOW), int(most * HIGH), "the setting max_open_bytes")


class Pressure:
    """Whether the doors are closed, and why."""

    def __init__(self) -> None:
        """Start open."""
        self.reason = ""
        self._what: set[str] = set()

    def look(self, measures: Sequence[Measure]) -> None:
        """Close at the high mark of any measure, and open below the low marks of those that closed."""
        for one in measures:
            if one.now >= one.high:
                self._what.add(one.what)
            elif one.now < one.low:
                self._what.discard(one.what)
        self.reason = "; ".join(
            f"{one.shown(one.now)} wait for a record, the doors open again below {one.shown(one.low)} "
            f"({one.option} of the gateway)"
            for one in measures
            if one.what in self._what
        )
