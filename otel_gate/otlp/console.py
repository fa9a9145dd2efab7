"""What opentelemetry-sdk's ConsoleSpanExporter prints: one JSON object a span, printed over many lines.

It holds no instrumentation scope and no flags, so what a convention knows by scope can't be told by it (``no_scope``),
and its times end at microseconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_gate.core.model import Event, Link, Resource, Scope, Span
from otel_gate.otlp.enums import KINDS, STATUSES, kind_named, status_named
from otel_gate.otlp.fields import Item, field, text
from otel_gate.otlp.foreign import (
    MICROSECONDS,
    Placed,
    hex_text,
    inner,
    iso_time,
    objects,
    on_shelves,
    parent_text,
    plain_attributes,
    traces_of,
)
from otel_gate.otlp.mismatch import mismatch

if TYPE_CHECKING:
    from collections.abc import Iterable

    from otel_gate.core.model import Trace
    from otel_gate.otlp.notes import Notes
    from otel_gate.otlp.pieces import Piece


def is_span(value: dict[str, Any]) -> bool:
    """Tell a printed span by its context and the names of its times."""
    context = value.get("context")
    if not isinstance(context, dict) or "trace_id" not in context:
        return False
    return "parent_id" in value or str(context["trace_id"]).startswith("0x")


def read(values: Iterable[Placed]) -> list[Trace]:
    """Read printed spans."""
    return traces_of(values, _trace_id, _span)


def _trace_id(item: Item, path: str) -> str:
    return field(inner(item, path, "context"), f"{path}.context", "trace_id", hex_text, "")


def _span(item: Item, path: str, piece: Piece) -> Span:
    notes = piece.notes
    notes.add(MICROSECONDS, f"{path}.start_time")
    notes.add("no_scope", path)
    context, status = inner(item, path, "context"), inner(item, path, "status")
    return Span(
        span_id=field(context, f"{path}.context", "span_id", hex_text, ""),
        parent_span_id=field(item, path, "parent_id", parent_text, ""),
        name=field(item, path, "name", text, ""),
        start_ns=field(item, path, "start_time", iso_time, 0),
        end_ns=field(item, path, "end_time", iso_time, 0),
        status=field(status, f"{path}.status", "status_code", _status, STATUSES[0]),
        attributes=plain_attributes(item, path, "attributes", notes),
        events=tuple(_event(one, at, notes) for one, at in objects(item, path, "events")),
        status_message=field(status, f"{path}.status", "description", text, ""),
        kind=field(item, path, "kind", kind, KINDS[0]),
        links=tuple(_link(one, at, notes) for one, at in objects(item, path, "links")),
        **on_shelves(piece, resource_of(item, path, notes), Scope()),
    )


def kind(value: object, path: str, name: str) -> str:
    """Read a span kind by its name, with or without ``SpanKind.`` before it."""
    known = kind_named(text(value, path, name).rpartition(".")[2])
    if known is None:
        raise mismatch(value, "the name of a span kind", path, name)
    return known


def resource_of(item: Item, path: str, notes: Notes) -> Resource:
    """Read the resource that is written inside a span."""
    given, at = inner(item, path, "resource"), f"{path}.resource"
    return Resource(plain_attributes(given, at, "attributes", notes), 0, field(given, at, "schema_url", text, ""))


def _status(value: object, path: str, name: str) -> str:
    known = status_named(text(value, path, name).rpartition(".")[2])
    if known is None:
        raise mismatch(value, "the name of a status", path, name)
    return known


def _event(item: Item, path: str, notes: Notes) -> Event:
    return Event(
        field(item, path, "name", text, ""),
        field(item, path, "timestamp", iso_time, 0),
        plain_attributes(item, path, "attributes", notes),
    )


def _link(item: Item, path: str, notes: Notes) -> Link:
    context, at = inner(item, path, "context"), f"{path}.context"
    return Link(
        field(context, at, "trace_id", hex_text, ""),
        field(context, at, "span_id", hex_text, ""),
        attributes=plain_attributes(item, path, "attributes", notes),
    )
