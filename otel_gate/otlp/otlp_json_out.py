"""The model to OTLP/JSON, as the specification has it: hex ids, enumerations as numbers, 64-bit integers as strings."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

import msgspec

from otel_gate.otlp.any_json_out import key_values
from otel_gate.otlp.enums import number_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from otel_gate.core.model import EntityRef, Event, Link, Resource, Scope, Span, Trace

Item = dict[str, Any]


def encode(trace: Trace, first: int = 0) -> bytes:
    """Encode a request of ``spans[first:]``, regrouped by runs of resource and scope: one line, no line feed."""
    return msgspec.json.encode({"resourceSpans": _resource_spans(trace, trace.spans[first:])})


def _resource_spans(trace: Trace, spans: Iterable[Span]) -> list[Item]:
    return [
        (_resource(trace.resources[index]) if index is not None else {}) | {"scopeSpans": _scope_spans(trace, run)}
        for index, run in groupby(spans, lambda span: span.resource)
    ]


def _scope_spans(trace: Trace, spans: Iterable[Span]) -> list[Item]:
    return [
        (_scope(trace.scopes[index]) if index is not None else {}) | {"spans": [_span(trace, span) for span in run]}
        for index, run in groupby(spans, lambda span: span.scope)
    ]


def _span(trace: Trace, span: Span) -> Item:
    item = {"traceId": span.trace_id or trace.trace_id, "spanId": span.span_id} | _present(
        traceState=span.trace_state, parentSpanId=span.parent_span_id, flags=span.flags
    )
    status = _present(message=span.status_message, code=number_of(span.status))
    return item | {
        "name": span.name,
        "kind": number_of(span.kind),
        "startTimeUnixNano": str(span.start_ns),
        "endTimeUnixNano": str(span.end_ns),
        **_attributes(span),
        **_present(
            droppedEventsCount=span.dropped_events_count,
            droppedLinksCount=span.dropped_links_count,
            events=[_event(event) for event in span.events],
            links=[_link(link) for link in span.links],
        ),
        "status": status,
    }


def _event(event: Event) -> Item:
    return {"timeUnixNano": str(event.time_ns), "name": event.name} | _attributes(event)


def _link(link: Link) -> Item:
    return {
        "traceId": link.trace_id,
        "spanId": link.span_id,
        **_present(traceState=link.trace_state, flags=link.flags),
        **_attributes(link),
    }


def _resource(resource: Resource) -> Item:
    inner = _attributes(resource) | _present(entityRefs=[_entity(one) for one in resource.entity_refs])
    return {"resource": inner} | _present(schemaUrl=resource.schema_url)


def _scope(scope: Scope) -> Item:
    inner = _present(name=scope.name, version=scope.version) | _attributes(scope)
    return {"scope": inner} | _present(schemaUrl=scope.schema_url)


def _entity(reference: EntityRef) -> Item:
    return _present(
        schemaUrl=reference.schema_url,
        type=reference.type,
        idKeys=reference.id_keys,
        descriptionKeys=reference.description_keys,
    )


def _attributes(owner: Span | Event | Link | Resource | Scope) -> Item:
    return _present(attributes=key_values(owner.attributes), droppedAttributesCount=owner.dropped_attributes_count)


def _present(**fields: object) -> Item:
    return {name: value for name, value in fields.items() if value}
