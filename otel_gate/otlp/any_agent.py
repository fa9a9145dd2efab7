"""The trace that mozilla-ai/any-agent gives: ``{"spans": [...], "final_output": ...}``, the SDK's spans as objects.

Ids are JSON numbers of 128 and 64 bits, times nanoseconds; the parent is a whole span context, remote or not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_gate.core.model import REMOTE_FLAGS, Event, Link, Scope, Span
from otel_gate.otlp.console import kind, resource_of
from otel_gate.otlp.enums import KINDS, STATUSES, status_named
from otel_gate.otlp.fields import UINT32, Item, field, text
from otel_gate.otlp.foreign import (
    Placed,
    elements,
    hex_text,
    inner,
    nanoseconds,
    objects,
    on_shelves,
    plain_attributes,
    traces_of,
)
from otel_gate.otlp.ids import no_zeros
from otel_gate.otlp.mismatch import mismatch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from otel_gate.core.model import Trace
    from otel_gate.otlp.notes import Notes
    from otel_gate.otlp.pieces import Piece

REMOTE_KNOWN = 0x100
_BITS = {"trace_id": 128, "span_id": 64}


def is_trace(value: dict[str, Any]) -> bool:
    """Tell a trace by its first span, which has a context and a parent inside."""
    spans = value.get("spans")
    first = spans[0] if isinstance(spans, list) and spans else None
    return isinstance(first, dict) and isinstance(first.get("context"), dict) and "start_time" in first


def read(values: Iterable[Placed]) -> list[Trace]:
    """Read traces."""
    return traces_of(_spans(values), _trace_id, _span)


def _spans(values: Iterable[Placed]) -> Iterator[Placed]:
    for value, path in values:
        given = value.get("spans") if isinstance(value, dict) else value
        yield from elements(given, f"{path}.spans")


def _trace_id(item: Item, path: str) -> str:
    return field(inner(item, path, "context"), f"{path}.context", "trace_id", _id, "")


def _span(item: Item, path: str, piece: Piece) -> Span:
    notes = piece.notes
    context, parent, status = (inner(item, path, name) for name in ("context", "parent", "status"))
    scope = inner(item, path, "scope")
    if not scope:
        notes.add("no_scope", path)
    return Span(
        span_id=field(context, f"{path}.context", "span_id", _id, ""),
        parent_span_id=no_zeros(field(parent, f"{path}.parent", "span_id", _id, "")),
        name=field(item, path, "name", text, ""),
        start_ns=field(item, path, "start_time", nanoseconds, 0),
        end_ns=field(item, path, "end_time", nanoseconds, 0),
        status=field(status, f"{path}.status", "status_code", _status, STATUSES[0]),
        attributes=plain_attributes(item, path, "attributes", notes),
        events=tuple(_event(one, at, notes) for one, at in objects(item, path, "events")),
        status_message=field(status, f"{path}.status", "description", text, ""),
        kind=field(item, path, "kind", kind, KINDS[0]),
        links=tuple(_link(one, at, notes) for one, at in objects(item, path, "links")),
        flags=_flags(context, parent),
        **on_shelves(piece, resource_of(item, path, notes), _scope(scope, f"{path}.scope")),
    )


def _scope(given: Item, path: str) -> Scope:
    return Scope(field(given, path, "name", text, ""), field(given, path, "version", text, ""))


def _flags(context: Item, parent: Item) -> int:
    given = context.get("trace_flags")
    value = given.get("value") if isinstance(given, dict) else given
    flags = value if type(value) is int and 0 <= value <= UINT32 else 0
    if parent.get("span_id") is None:
        return flags
    return flags | (REMOTE_FLAGS if parent.get("is_remote") is True else REMOTE_KNOWN)


def _id(value: object, path: str, name: str) -> str:
    if type(value) is not int:
        return hex_text(value, path, name)
    bits = _BITS[name]
    if 0 <= value < 2**bits:
        return f"{value:0{bits // 4}x}"
    raise mismatch(value, f"int from 0 to 2^{bits}-1, or its hex digits", path, name)


def _status(value: object, path: str, name: str) -> str:
    known = status_named(text(value, path, name))
    if known is None:
        raise mismatch(value, "ok, error or unset", path, name)
    return known


def _event(item: Item, path: str, notes: Notes) -> Event:
    return Event(
        field(item, path, "name", text, ""),
        field(item, path, "timestamp", nanoseconds, 0),
        plain_attributes(item, path, "attributes", notes),
    )


def _link(item: Item, path: str, notes: Notes) -> Link:
    context, at = inner(item, path, "context"), f"{path}.context"
    return Link(
        field(context, at, "trace_id", _id, ""),
        field(context, at, "span_id", _id, ""),
        attributes=plain_attributes(item, path, "attributes", notes),
    )
