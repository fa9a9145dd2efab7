"""The parts of an OTLP protobuf request: span, event, link, resource, scope and their values.

Protobuf has checked the types, so nothing here can mismatch; what is odd is noted under the path it has in OTLP/JSON.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_gate.core.model import Attributes, EntityRef, Event, Link, Resource, Scope, Span, encode
from otel_gate.otlp.any_json import DUPLICATE_KEY, EMPTY_KEY
from otel_gate.otlp.enums import KINDS, STATUSES, named
from otel_gate.otlp.ids import SPAN_ID_BYTES, TRACE_ID_BYTES, no_zeros, noting, wire_id
from otel_gate.otlp.json_form import (
    ARRAY_COST,
    OBJECT_COST,
    Codes,
    Value,
    bytes_value,
    double,
    fitted,
    object_value,
    spent,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue, KeyValueList
    from opentelemetry.proto.trace.v1 import trace_pb2

    from otel_gate.otlp.notes import Notes
    from otel_gate.otlp.pieces import Described, Piece


def read_span(
    span: trace_pb2.Span,
    path: str,
    piece: Piece,
    resource: Described[Resource] | None,
    scope: Described[Scope] | None,
) -> Span:
    """Read a span of a piece."""
    notes = piece.notes
    attributes, conflicts = _attributes(span.attributes, notes, path)
    return Span(
        span_id=noting(wire_id(span.span_id, SPAN_ID_BYTES), notes, f"{path}.spanId"),
        parent_span_id=no_zeros(noting(wire_id(span.parent_span_id, SPAN_ID_BYTES), notes, f"{path}.parentSpanId")),
        name=span.name,
        start_ns=span.start_time_unix_nano,
        end_ns=span.end_time_unix_nano,
        status=named(span.status.code, STATUSES),
        attributes=attributes,
        events=tuple(_event(event, notes, f"{path}.events[{index}]") for index, event in enumerate(span.events)),
        status_message=span.status.message,
        kind=named(span.kind, KINDS),
        links=tuple(_link(link, notes, f"{path}.links[{index}]") for index, link in enumerate(span.links)),
        trace_state=span.trace_state,
        flags=span.flags,
        dropped_attributes_count=span.dropped_attributes_count,
        dropped_events_count=span.dropped_events_count,
        dropped_links_count=span.dropped_links_count,
        conflicts=conflicts,
        resource=piece.resources.place(resource),
        scope=piece.scopes.place(scope),
    )


def read_resource(group: trace_pb2.ResourceSpans, notes: Notes, path: str) -> Resource | None:
    """Read the resource of a ``ResourceSpans``; None when it says nothing."""
    if not group.HasField("resource") and not group.schema_url:
        return None
    resource = group.resource
    references = tuple(
        EntityRef(one.type, one.schema_url, tuple(one.id_keys), tuple(one.description_keys))
        for one in resource.entity_refs
    )
    attributes, _ = _attributes(resource.attributes, notes, f"{path}.resource")
    return Resource(attributes, resource.dropped_attributes_count, group.schema_url, references)


def read_scope(group: trace_pb2.ScopeSpans, notes: Notes, path: str) -> Scope | None:
    """Read the scope of a ``ScopeSpans``; None when it says nothing."""
    if not group.HasField("scope") and not group.schema_url:
        return None
    scope = group.scope
    attributes, _ = _attributes(scope.attributes, notes, f"{path}.scope")
    return Scope(scope.name, scope.version, attributes, scope.dropped_attributes_count, group.schema_url)


def _event(event: trace_pb2.Span.Event, notes: Notes, path: str) -> Event:
    attributes, _ = _attributes(event.attributes, notes, path)
    return Event(event.name, event.time_unix_nano, attributes, event.dropped_attributes_count)


def _link(link: trace_pb2.Span.Link, notes: Notes, path: str) -> Link:
    attributes, _ = _attributes(link.attributes, notes, path)
    return Link(
        noting(wire_id(link.trace_id, TRACE_ID_BYTES), notes, f"{path}.traceId"),
        noting(wire_id(link.span_id, SPAN_ID_BYTES), notes, f"{path}.spanId"),
        link.trace_state,
        link.flags,
        attributes,
        link.dropped_attributes_count,
    )


def _attributes(pairs: Iterable[KeyValue], notes: Notes, path: str) -> tuple[Attributes, tuple[str, ...]]:
    out: Attributes = {}
    conflicts: dict[str, None] = {}
    for index, pair in enumerate(pairs):
        key, given = pair.key, pair.value
        value = given.string_value or _noted_value(given, notes, f"{path}.attributes[{index}]")
        if not key:
            notes.add(EMPTY_KEY, f"{path}.attributes[{index}]")
        if key in out:
            notes.add(DUPLICATE_KEY, f"{path}.attributes[{index}].key")
            if encode(out[key]) != encode(value):
                conflicts[key] = None
        out[key] = value
    return out, tuple(conflicts)


def _noted_value(given: AnyValue, notes: Notes, path: str) -> Value:
    codes: Codes = []
    value = fitted(_value, given, codes)
    for code in codes:
        notes.add(code, f"{path}.value")
    return value


def _value(given: AnyValue, room: int, codes: Codes) -> Value:
    member = given.WhichOneof("value")
    if member is None:
        return None
    value = getattr(given, member)
    convert = _CONVERSIONS.get(member)
    return convert(value, room, codes) if convert else value


def _array(value: ArrayValue, room: int, codes: Codes) -> list[Any]:
    room = spent(room, ARRAY_COST)
    return [_value(one, room, codes) for one in value.values]


def _kvlist(value: KeyValueList, room: int, codes: Codes) -> dict[str, Any]:
    room, out = spent(room, OBJECT_COST), {}
    for pair in value.values:
        codes.extend([DUPLICATE_KEY] * (pair.key in out))
        out[pair.key] = _value(pair.value, room, codes)
    return object_value(out)


def _string_index(_value: int, _room: int, codes: Codes) -> None:
    codes.append("string_index")


_CONVERSIONS: dict[str, Callable[[Any, int, Codes], Value]] = {
    "array_value": _array,
    "kvlist_value": _kvlist,
    "double_value": lambda value, _room, _codes: double(value),
    "bytes_value": lambda value, _room, _codes: bytes_value(value),
    "string_value_strindex": _string_index,
}
