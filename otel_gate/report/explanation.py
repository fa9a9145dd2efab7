"""Why a trace was not exported, or where it went: the answer of ``why``, and the deliveries in ``show``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from otel_gate.report.escape import printable, shortened
from otel_gate.report.quantities import counted, duration, moment
from otel_gate.report.table import columns

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from otel_gate.core.model import Record, Violation

PENDING = "pending"
STATES = {
    PENDING: "still owed",
    "accepted": "delivered",
    "accepted_unconfirmed": "delivered; the answer could not be read",
    "partial": "delivered in part: the destination refused some of the spans that were sent with it",
    "rejected": "refused for good by the destination",
    "too_large": "refused by the destination, which takes no request of this size",
    "held": "held back: the record was amended and is not well-formed any more",
}
REMEDIES = {
    PENDING: "see that the collector is up, then run otel-gate forward",
    "partial": "read the answer above and the collector's log; it is not sent again",
    "rejected": "read the answer above and the collector's log; it is not sent again",
    "too_large": "raise the size limit of the collector's receiver; it is not sent again",
}
RECORDED_ONLY = (
    "not forwarded: it is well-formed, and no endpoint was set when it was recorded",
    "  try  OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4317 for the next run",
)


class Delivery(Struct, frozen=True):
    """What is owed to one destination, or what that answered; ``next_ns`` is when it is tried again."""

    destination: str
    state: str
    spans: int
    sent: int
    attempts: int
    code: str
    message: str
    next_ns: int
    updated_ns: int


def why(record: Record, deliveries: Sequence[Delivery], now_ns: int) -> list[str]:
    """Return the answer in lines: the violations, else where the trace went or what it waits for."""
    violations = record.verdict.violations
    said: list[str] = []
    if violations:
        outcome = "exported although it is not well-formed (observe)" if deliveries else "not exported"
        said.append(f"{outcome}: {counted(len(violations), 'violation')}")
        names = {span.span_id: span.name for span in record.spans}
        for found in violations:
            said += _finding(found, names.get(found.span_id or "", ""))
    elif not deliveries:
        said += RECORDED_ONLY
    for delivery in deliveries:
        said += _delivery(delivery, now_ns)
    return said


def answer(delivery: Delivery, now_ns: int) -> str:
    """Say in one line how a delivery stands."""
    parts = [STATES.get(delivery.state, delivery.state), f"{delivery.sent} of {counted(delivery.spans, 'span')} sent"]
    parts.append(counted(delivery.attempts, "attempt") if delivery.attempts else "not tried yet")
    said = " ".join(filter(None, (delivery.code, shortened(delivery.message, 200))))
    if said:
        parts.append(f"last answer: {said}")
    if delivery.state == PENDING and delivery.attempts:
        wait_ns = delivery.next_ns - now_ns
        due = f"in {duration(wait_ns)}" if wait_ns > 0 else "due now"
        parts.append(f"next try {moment(delivery.next_ns)} ({due})")
    return ", ".join(parts)


def _finding(found: Violation, name: str) -> Iterator[str]:
    yield f"{printable(found.rule)} {printable(found.name)}"
    span = "the whole trace" if found.span_id is None else f"{found.span_id or '(no id)'} {shortened(name, 60)}"
    parts = (("span", span), ("expected", found.expected), ("seen", found.message or found.got), ("try", found.try_))
    yield from columns([(title, printable(text)) for title, text in parts if text], "  ")


def _delivery(delivery: Delivery, now_ns: int) -> Iterator[str]:
    yield f"{printable(delivery.destination)}: {answer(delivery, now_ns)}"
    remedy = REMEDIES.get(delivery.state)
    if remedy:
        yield f"  try  {remedy}"
