"""The answer of ``history`` as values and as lines of text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from otel_gate.report.escape import printable, shortened
from otel_gate.report.quantities import counted, moment
from otel_gate.report.table import columns

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

HistorySchema = Literal["otel-gate/history/1"]
HISTORY_SCHEMA: HistorySchema = "otel-gate/history/1"
Verdict = Literal["FIRST", "SAME", "DIFFERENT", "NOT COMPARABLE"]


class Step(Struct, frozen=True, omit_defaults=True):
    """A run of the history: how it compares with the one before, and with what all are measured by.

    ``changes`` counts each class of change against the run before; ``as_base`` tells whether it is like the first run,
    or like the golden when there is one.
    """

    trace_ids: tuple[str, ...]
    run_id: str
    start_ns: int
    verdict: Verdict
    as_base: bool | None
    changes: dict[str, int] = {}


class HistoryReport(Struct, frozen=True):
    """The runs of a name, the oldest first; ``first`` is the number of the first that is not as the base."""

    schema: HistorySchema
    exit_code: int
    name: str
    base: str
    first: int | None
    steps: tuple[Step, ...]


def report(name: str, base: str, steps: Sequence[Step]) -> HistoryReport:
    """Return the report of a history."""
    first = next((number for number, step in enumerate(steps) if step.as_base is False), None)
    return HistoryReport(HISTORY_SCHEMA, 0 if first is None else 1, name, base, first, tuple(steps))


def _aside(step: Step, found: HistoryReport, number: int) -> str:
    if number == found.first:
        return "first that differs"
    return f"again as {printable(found.base)}" if step.verdict == "DIFFERENT" and step.as_base else ""


def lines(found: HistoryReport, *, every: bool = False) -> Iterator[str]:
    """Yield the runs at which behaviour changed (``every``: all), then what was found."""
    rows = [
        (
            moment(step.start_ns), shortened(step.trace_ids[0], 32) if step.trace_ids else "-", step.verdict,
            ", ".join(f"{count} {name}" for name, count in step.changes.items()) or "-",
            _aside(step, found, number),
        )
        for number, step in enumerate(found.steps)
        if every or step.verdict != "SAME" or number == found.first
    ]  # fmt: skip
    yield from columns(rows) if rows else []
    runs = counted(len(found.steps), "run")
    name, base = printable(found.name), printable(found.base)
    if found.first is None:
        yield f"{name}: {runs}, all as {base}"
    else:
        step = found.steps[found.first]
        trace = printable(step.trace_ids[0]) if step.trace_ids else "-"
        yield f"{name}: {runs}; the first that differs from {base} is run {found.first + 1}, trace {trace}"
