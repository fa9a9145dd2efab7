"""The span lists that strands-agents/evals keeps and reads, alone or as ``{"session_id": ..., "spans": [...]}``.

Each span is an object of its own with its ids, a scope, ``span_events``, and attributes as a plain object; spans that
came out of CloudWatch have OTLP's names of fields instead, and no resource either way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_gate.core.model import Event, Scope, Span
from otel_gate.otlp.console import kind, resource_of
from otel_gate.otlp.enums import KINDS, STATUSES, status_named
from otel_gate.otlp.fields import Item, field, pick, text, uint32
from otel_gate.otlp.foreign import (
    Placed,
    elements,
    hex_text,
    inner,
    iso_time,
    nanoseconds,
    objects,
    on_shelves,
    parent_text,
    plain_attributes,
    traces_of,
)
from otel_gate.otlp.mismatch import mismatch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from otel_gate.core.model import Trace
    from otel_gate.otlp.notes import Notes
    from otel_gate.otlp.pieces import Piece

TRACE_ID = ("trace_id", "traceId")
SPAN_ID = ("span_id", "spanId")
PARENT = ("parent_span_id", "parentSpanId")
START = ("start_time", "startTimeUnixNano")
END = ("end_time", "endTimeUnixNano")
TIME = ("timestamp", "time", "timeUnixNano")
EVENT_NAME = ("event_name", "name")


def is_span(value: dict[str, Any]) -> bool:
    """Tell a span of a list by its ids, its times and attributes that are an object."""
    if value.keys().isdisjoint(TRACE_ID) or value.keys().isdisjoint(SPAN_ID):
        return False
    return not value.keys().isdisjoint(START) and isinstance(value.get("attributes"), dict)


def is_list(value: dict[str, Any]) -> bool:
    """Tell a list in its wrapper by its first span; a document of the simplified shape has ``start_ns`` there."""
    spans = value.get("spans")
    first = spans[0] if isinstance(spans, list) and spans else None
    if not isinstance(first, dict) or "start_ns" in first or not value.keys().isdisjoint(TRACE_ID):
        return False
    return is_span(first) and ("start_time" in first or "span_events" in first or "durationNano" in first)


def read(values: Iterable[Placed]) -> list[Trace]:
    """Read spans, and lists of spans."""
    return traces_of(_spans(values), _trace_id, _span)


def _spans(values: Iterable[Placed]) -> Iterator[Placed]:
    for value, path in values:
        if isinstance(value, dict) and "spans" in value:
            yield from elements(value["spans"], f"{path}.spans")
        else:
            yield value, path


def _trace_id(item: Item, path: str) -> str:
    return pick(item, path, TRACE_ID, hex_text, "")


def _span(item: Item, path: str, piece: Piece) -> Span:
    notes = piece.notes
    status, scope = inner(item, path, "status"), inner(item, path, "scope")
    named = Scope(field(scope, f"{path}.scope", "name", text, ""), field(scope, f"{path}.scope", "version", text, ""))
    return Span(
        span_id=pick(item, path, SPAN_ID, hex_text, ""),
        parent_span_id=pick(item, path, PARENT, parent_text, ""),
        name=field(item, path, "name", text, ""),
        start_ns=pick(item, path, START, _time, 0),
        end_ns=pick(item, path, END, _time, 0),
        status=field(status, f"{path}.status", "code", _status, STATUSES[0]),
        attributes=plain_attributes(item, path, "attributes", notes),
        events=tuple(_events(item, path, notes)),
        status_message=field(status, f"{path}.status", "message", text, ""),
        kind=field(item, path, "kind", kind, KINDS[0]),
        flags=field(item, path, "flags", uint32, 0),
        **on_shelves(piece, resource_of(item, path, notes), named),
    )


def _events(item: Item, path: str, notes: Notes) -> Iterator[Event]:
    for name in ("span_events", "events"):
        for one, at in objects(item, path, name):
            attributes = plain_attributes(one, at, "attributes", notes) | plain_attributes(one, at, "body", notes)
            yield Event(pick(one, at, EVENT_NAME, text, ""), pick(one, at, TIME, _time, 0), attributes)


def _time(value: object, path: str, name: str) -> int:
    return iso_time(value, path, name) if type(value) is str else nanoseconds(value, path, name)


def _status(value: object, path: str, name: str) -> str:
    known = status_named(text(value, path, name))
    if known is None:
        raise mismatch(value, "OK, ERROR or UNSET", path, name)
    return known
