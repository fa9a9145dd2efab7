"""A second, plain way from the model to OTLP: the stubs of ``opentelemetry-proto``, filled field by field."""

from __future__ import annotations

import base64
from itertools import groupby
from typing import TYPE_CHECKING, Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import (
    AnyValue,
    ArrayValue,
    EntityRef,
    InstrumentationScope,
    KeyValue,
    KeyValueList,
)
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span, Status

if TYPE_CHECKING:
    from collections.abc import Iterable

    from otel_gate.core import model

KINDS = ["unspecified", "internal", "server", "client", "producer", "consumer"]
STATUSES = ["unset", "ok", "error"]


def request(trace: model.Trace) -> ExportTraceServiceRequest:
    """Build the request that a trace stands for."""
    runs = groupby(trace.spans, lambda span: span.resource)
    return ExportTraceServiceRequest(resource_spans=[resource_spans(trace, index, spans) for index, spans in runs])


def resource_spans(trace: model.Trace, index: int | None, spans: Iterable[model.Span]) -> ResourceSpans:
    """Build one run of a resource."""
    runs = groupby(spans, lambda span: span.scope)
    inner = [scope_spans(trace, scope, run) for scope, run in runs]
    if index is None:
        return ResourceSpans(scope_spans=inner)
    found = trace.resources[index]
    resource = Resource(
        attributes=pairs(found.attributes),
        dropped_attributes_count=found.dropped_attributes_count,
        entity_refs=[
            EntityRef(
                type=one.type, schema_url=one.schema_url, id_keys=one.id_keys, description_keys=one.description_keys
            )
            for one in found.entity_refs
        ],
    )
    return ResourceSpans(resource=resource, scope_spans=inner, schema_url=found.schema_url)


def scope_spans(trace: model.Trace, index: int | None, spans: Iterable[model.Span]) -> ScopeSpans:
    """Build one run of a scope."""
    inner = [span_of(trace, span) for span in spans]
    if index is None:
        return ScopeSpans(spans=inner)
    found = trace.scopes[index]
    scope = InstrumentationScope(
        name=found.name,
        version=found.version,
        attributes=pairs(found.attributes),
        dropped_attributes_count=found.dropped_attributes_count,
    )
    return ScopeSpans(scope=scope, spans=inner, schema_url=found.schema_url)


def span_of(trace: model.Trace, span: model.Span) -> Span:
    """Build a span."""
    code: Any = STATUSES.index(span.status) if isinstance(span.status, str) else span.status
    kind: Any = KINDS.index(span.kind) if isinstance(span.kind, str) else span.kind
    has_status = code or span.status_message
    return Span(
        trace_id=bytes.fromhex(span.trace_id or trace.trace_id),
        span_id=bytes.fromhex(span.span_id),
        parent_span_id=bytes.fromhex(span.parent_span_id),
        name=span.name,
        kind=kind,
        start_time_unix_nano=span.start_ns,
        end_time_unix_nano=span.end_ns,
        status=Status(code=code, message=span.status_message) if has_status else None,
        attributes=pairs(span.attributes),
        trace_state=span.trace_state,
        flags=span.flags,
        dropped_attributes_count=span.dropped_attributes_count,
        dropped_events_count=span.dropped_events_count,
        dropped_links_count=span.dropped_links_count,
        events=[
            Span.Event(
                name=event.name,
                time_unix_nano=event.time_ns,
                attributes=pairs(event.attributes),
                dropped_attributes_count=event.dropped_attributes_count,
            )
            for event in span.events
        ],
        links=[
            Span.Link(
                trace_id=bytes.fromhex(link.trace_id),
                span_id=bytes.fromhex(link.span_id),
                trace_state=link.trace_state,
                flags=link.flags,
                attributes=pairs(link.attributes),
                dropped_attributes_count=link.dropped_attributes_count,
            )
            for link in span.links
        ],
    )


def pairs(attributes: dict[str, Any]) -> list[KeyValue]:
    """Build attributes."""
    return [KeyValue(key=key, value=any_value(value)) for key, value in attributes.items()]


def any_value(value: Any) -> AnyValue:  # noqa: PLR0911 - one way out for each type
    """Build a value from its JSON form."""
    match value:
        case None:
            return AnyValue()
        case bool():
            return AnyValue(bool_value=value)
        case int():
            return AnyValue(int_value=value)
        case float():
            return AnyValue(double_value=value)
        case str():
            return AnyValue(string_value=value)
        case list():
            return AnyValue(array_value=ArrayValue(values=[any_value(one) for one in value]))
        case {"$bytes": str(text), **rest} if not rest:
            return AnyValue(bytes_value=base64.b64decode(text))
        case {"$double": str(name), **rest} if not rest:
            return AnyValue(double_value=float(name))
        case {"$object": dict(inner), **rest} if not rest:
            return AnyValue(kvlist_value=KeyValueList(values=pairs(inner)))
    return AnyValue(kvlist_value=KeyValueList(values=pairs(value)))
