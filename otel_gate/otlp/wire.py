"""The model to OTLP protobuf, the bytes joined by hand.

Building protobuf objects costs several times what joining their bytes does, and this runs for every span of an agent.
The fields stand in the order of their numbers and defaults are left out, as protobuf's own encoder has it. What no
reader of ours lets through but a ``Span`` could still hold (a value too deep, an integer too large, an id that is no
hex) is encoded as near as OTLP can: one bad field must not cost a receiver the whole request.
"""

from __future__ import annotations

import struct
from itertools import groupby
from typing import TYPE_CHECKING

from otel_gate.otlp.enums import KINDS, STATUSES, number_of
from otel_gate.otlp.wire_values import MASK64, AttributeWriter, sized, utf8, varint

if TYPE_CHECKING:
    from collections.abc import Iterable

    from otel_gate.core.model import EntityRef, Event, Link, Resource, Scope, Span, Trace

MASK32 = 2**32 - 1

_times = struct.Struct("<BQBQ").pack
_fixed64 = struct.Struct("<BQ").pack
_fixed32 = struct.Struct("<I").pack


def encode(trace: Trace, first: int = 0) -> bytes:
    """Encode an ExportTraceServiceRequest of ``spans[first:]``, regrouped by runs of equal resource and scope."""
    return _Writer(trace).request(trace.spans[first:])


class _Writer:
    """Encodes the spans of one trace; what they share (resource, scope, names, keys, parents) is encoded once."""

    def __init__(self, trace: Trace) -> None:
        self._attributes = AttributeWriter().write
        self._parents: dict[str, bytes] = {}
        self._names: dict[str, bytes] = {}
        self._trace_id = _id(b"\x0a", trace.trace_id)
        self._resources = [self._resource(resource) for resource in trace.resources]
        self._scopes = [self._scope(scope) for scope in trace.scopes]

    def request(self, spans: Iterable[Span]) -> bytes:
        out = []
        for (resource, url), of_resource in groupby(spans, lambda span: _at(self._resources, span.resource)):
            inner = [
                sized(b"\x12", scope + b"".join([sized(b"\x12", self._span(span)) for span in of_scope]) + scope_url)
                for (scope, scope_url), of_scope in groupby(of_resource, lambda span: _at(self._scopes, span.scope))
            ]
            out.append(sized(b"\x0a", resource + b"".join(inner) + url))
        return b"".join(out)

    def _span(self, span: Span) -> bytes:
        parts = [
            _id(b"\x0a", span.trace_id) if span.trace_id else self._trace_id,
            _id(b"\x12", span.span_id),
            _text(b"\x1a", span.trace_state) if span.trace_state else b"",
            self._parents.get(span.parent_span_id) or self._parent(span.parent_span_id),
            self._names.get(span.name) or self._name(span.name),
            _KINDS.get(span.kind) or _number(b"\x30", number_of(span.kind)),
            _start_and_end(span.start_ns, span.end_ns),
            self._attributes(b"\x4a", span.attributes),
        ]
        if span.dropped_attributes_count:
            parts.append(_number(b"\x50", span.dropped_attributes_count))
        if span.events:
            parts += [sized(b"\x5a", self._event(event)) for event in span.events]
        if span.dropped_events_count:
            parts.append(_number(b"\x60", span.dropped_events_count))
        if span.links:
            parts += [sized(b"\x6a", self._link(link)) for link in span.links]
        if span.dropped_links_count:
            parts.append(_number(b"\x70", span.dropped_links_count))
        if span.status != "unset" or span.status_message:
            parts.append(_status(span))
        if span.flags:
            parts.append(b"\x85\x01" + _fixed32(span.flags & MASK32))
        return b"".join(parts)

    def _parent(self, span_id: str) -> bytes:
        encoded = self._parents[span_id] = _id(b"\x22", span_id)
        return encoded

    def _name(self, name: str) -> bytes:
        encoded = self._names[name] = _text(b"\x2a", name)
        return encoded

    def _event(self, event: Event) -> bytes:
        attributes = self._attributes(b"\x1a", event.attributes)
        return (
            _time(0x09, event.time_ns)
            + _text(b"\x12", event.name)
            + attributes
            + _number(b"\x20", event.dropped_attributes_count)
        )

    def _link(self, link: Link) -> bytes:
        ids = _id(b"\x0a", link.trace_id) + _id(b"\x12", link.span_id) + _text(b"\x1a", link.trace_state)
        attributes = self._attributes(b"\x22", link.attributes) + _number(b"\x28", link.dropped_attributes_count)
        return ids + attributes + (b"\x35" + _fixed32(link.flags & MASK32) if link.flags else b"")

    def _resource(self, resource: Resource) -> tuple[bytes, bytes]:
        body = self._attributes(b"\x0a", resource.attributes) + _number(b"\x10", resource.dropped_attributes_count)
        entities = b"".join([sized(b"\x1a", _entity(reference)) for reference in resource.entity_refs])
        return sized(b"\x0a", body + entities), _text(b"\x1a", resource.schema_url)

    def _scope(self, scope: Scope) -> tuple[bytes, bytes]:
        names = _text(b"\x0a", scope.name) + _text(b"\x12", scope.version)
        attributes = self._attributes(b"\x1a", scope.attributes) + _number(b"\x20", scope.dropped_attributes_count)
        return sized(b"\x0a", names + attributes), _text(b"\x1a", scope.schema_url)


def _at(encoded: list[tuple[bytes, bytes]], index: int | None) -> tuple[bytes, bytes]:
    return (b"", b"") if index is None else encoded[index]


def _entity(reference: EntityRef) -> bytes:
    keys = b"".join([sized(b"\x1a", utf8(key)) for key in reference.id_keys])
    described = b"".join([sized(b"\x22", utf8(key)) for key in reference.description_keys])
    return _text(b"\x0a", reference.schema_url) + _text(b"\x12", reference.type) + keys + described


def _id(tag: bytes, text: str) -> bytes:
    try:
        raw = bytes.fromhex(text)
    except ValueError:
        return b""
    if 2 * len(raw) != len(text):  # fromhex passes over white space
        return b""
    return tag + varint(len(raw)) + raw if raw else b""


def _text(tag: bytes, text: str) -> bytes:
    return sized(tag, utf8(text)) if text else b""


def _status(span: Span) -> bytes:
    code = number_of(span.status)
    if not span.status_message:
        return _STATUSES.get(code) or sized(b"\x7a", _number(b"\x18", code))
    return sized(b"\x7a", _text(b"\x12", span.status_message) + _number(b"\x18", code))


def _number(tag: bytes, number: int) -> bytes:
    return tag + varint(number & MASK64) if number else b""


def _start_and_end(start_ns: int, end_ns: int) -> bytes:
    if 0 < start_ns <= MASK64 and 0 < end_ns <= MASK64:
        return _times(0x39, start_ns, 0x41, end_ns)
    return _time(0x39, start_ns) + _time(0x41, end_ns)


def _time(tag: int, time_ns: int) -> bytes:
    return _fixed64(tag, time_ns) if 0 < time_ns <= MASK64 else b""


_KINDS: dict[str | int, bytes] = {name: _number(b"\x30", number) for number, name in enumerate(KINDS)}
_STATUSES = {number: sized(b"\x7a", _number(b"\x18", number)) for number in range(1, len(STATUSES))}
