"""Why a trace was not exported, or where it went: the answer of ``why``, and the deliveries in ``show``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from otel_gate.report import understood
from otel_gate.report.escape import printable, shortened
from otel_gate.report.quantities import counted, duration, moment
from otel_gate.report.table import columns

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from otel_gate.core.model import Record, Span, Violation

PENDING, HELD, PARTIAL = "pending", "held", "partial"
STATES = {
    PENDING: "still owed",
    "accepted": "delivered",
    "accepted_unconfirmed": "delivered; the answer could not be read",
    PARTIAL: "delivered in part: the destination refused some of the spans that were sent with it",
    "rejected": "refused for good by the destination",
    "too_large": "refused by the destination, which takes no request of this size",
    HELD: "held back: its record is not well-formed any more",
    "buried": "given up: it could not be sent",
}
AGAIN = "it is not sent again but by otel-gate forward --retry-buried"
REMEDIES = {
    PENDING: "see that the collector is up, then run otel-gate forward",
    PARTIAL: "read the answer above and the collector's log; it is not sent again",
    "rejected": f"read the answer above and the collector's log; {AGAIN}",
    "too_large": f"raise the size limit of the collector's receiver; {AGAIN}",
    "buried": f"otel-gate doctor; {AGAIN}",
}
RECORDED_ONLY = (
    "not forwarded: it is well-formed, and no endpoint was set when it was recorded",
    "  try  OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4317 for the next run",
)
UNDECIDED = (
    "not forwarded yet: it is well-formed, and the index, made anew since, does not know who is to have it",
    "  try  otel-gate forward, with the endpoint or the destinations of the agent",
)


class Delivery(Struct, frozen=True):
    """What is owed to one destination, or what that answered.

    Times are nanoseconds since the epoch, 0 when there is none: ``owed_ns`` (first owed), ``tried_ns`` (last attempt),
    ``next_ns`` (next attempt). ``traces`` is how many traces were in the request that was answered last.
    """

    destination: str
    state: str
    spans: int
    sent: int
    attempts: int
    code: str
    message: str
    next_ns: int
    updated_ns: int
    owed_ns: int = 0
    tried_ns: int = 0
    traces: int = 0
    trace_id: str = ""
    place: str = ""


def why(record: Record, deliveries: Sequence[Delivery], now_ns: int, *, decided: bool = True) -> list[str]:
    """Return the answer in lines: the violations, else where the trace went or what it waits for.

    ``decided`` is False when it is not known yet to whom the trace is owed.
    """
    violations = record.verdict.violations
    said: list[str] = []
    if violations:
        said.append(f"{_outcome(deliveries)}: {counted(len(violations), 'violation')}")
        spans = {span.span_id: span for span in record.spans}
        for found in violations:
            said += _finding(found, spans.get(found.span_id or ""))
    elif not deliveries:
        said += RECORDED_ONLY if decided else UNDECIDED
    for delivery in deliveries:
        said += _delivery(delivery, now_ns)
    said += (f"note  {one}" for one in understood.notes(record.source.notes))
    return said


def answer(delivery: Delivery, now_ns: int) -> str:
    """Say in one line how a delivery stands."""
    parts = [STATES.get(delivery.state, delivery.state), f"{delivery.sent} of {counted(delivery.spans, 'span')} sent"]
    parts.append(counted(delivery.attempts, "attempt") if delivery.attempts else "not tried yet")
    if words := said(delivery):
        parts.append(f"last answer: {words}")
    if delivery.state == PENDING and delivery.attempts:
        wait_ns = delivery.next_ns - now_ns
        due = f"in {duration(wait_ns)}" if wait_ns > 0 else "due now"
        parts.append(f"next try {moment(delivery.next_ns)} ({due})")
    return ", ".join(parts)


def said(delivery: Delivery) -> str:
    """Return what the destination said last, and of how many traces when that leaves open which one is meant."""
    batch = f"(of a batch of {delivery.traces} traces)" if delivery.state == PARTIAL and delivery.traces > 1 else ""
    return " ".join(filter(None, (shortened(delivery.code, 60), shortened(delivery.message, 200), batch)))


def times(delivery: Delivery) -> str:
    """Say since when a trace is owed, when it was tried last, and when it is tried next."""
    parts = [f"owed since {moment(delivery.owed_ns)}", f"last attempt {moment(delivery.tried_ns)}"]
    if delivery.state == PENDING:
        parts.append(f"next attempt {upcoming(delivery)}")
    return ", ".join(parts)


def upcoming(delivery: Delivery) -> str:
    """Say when a delivery is tried next."""
    if delivery.state != PENDING:
        return "-"
    return moment(delivery.next_ns) if delivery.next_ns else "now"


def _outcome(deliveries: Sequence[Delivery]) -> str:
    if any(delivery.state != HELD for delivery in deliveries):
        return "exported although it is not well-formed (observe)"
    if any(one.sent >= one.spans > 0 for one in deliveries):
        return "exported before it was held back"
    return "exported in part before it was held back" if any(one.sent for one in deliveries) else "not exported"


def _finding(found: Violation, at: Span | None) -> Iterator[str]:
    yield f"{printable(found.rule)} {printable(found.name)}"
    name, seen = (shortened(at.name, 60), understood.recognised(at)) if at else ("", "")
    span = "the whole trace" if found.span_id is None else f"{found.span_id or '(no id)'} {name}"
    parts = (
        ("span", span),
        ("recognised", seen),
        ("expected", found.expected),
        ("seen", found.message or found.got),
        ("try", found.try_),
    )
    yield from columns([(title, printable(text)) for title, text in parts if text], "  ")


def _delivery(delivery: Delivery, now_ns: int) -> Iterator[str]:
    yield f"{printable(delivery.destination)}: {answer(delivery, now_ns)}"
    remedy = REMEDIES.get(delivery.state)
    if remedy:
        yield f"  try  {remedy}"
