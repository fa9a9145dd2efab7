"""From an SDK span to a line, on the thread that ends it: this is the agent's time, so the common case is short.

Only public properties are read. Most spans carry texts, bools and small integers, which are their own JSON form. What
else is in a span, a lone surrogate included, takes the careful way, which changes it as little as OTLP allows; nothing
of a span is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_gate.core.model import Attributes, Event, Link, Resource, Scope, Span, encode
from otel_gate.otlp.values import attributes_from_python, from_python

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from opentelemetry.sdk.resources import Resource as SdkResource
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope
    from opentelemetry.trace import SpanContext

    from otel_gate.pipeline.lines import Table

PLAIN = frozenset({str, bool})
STATUSES = ("unset", "ok", "error")
KINDS = ("internal", "server", "client", "producer", "consumer")
KNOWS_REMOTE, IS_REMOTE = 0x100, 0x200
INT64 = 2**63


class Lines:
    """Encodes the spans of one door; the resource and scope of the last one are mostly those of the next."""

    __slots__ = ("_last", "_resources", "_scopes")

    def __init__(self, resources: Table, scopes: Table) -> None:
        """Keep the tables that number resources and scopes."""
        self._resources, self._scopes = resources, scopes
        self._last: tuple[Any, Any, int, int | None] = (None, None, 0, None)

    def encode(self, span: ReadableSpan, span_id: str, parent_span_id: str) -> bytes:
        """Encode a span that has ended, with process-wide numbers for its resource and scope."""
        resource, scope = span.resource, span.instrumentation_scope
        last = self._last
        if last[0] is not resource or last[1] is not scope:
            last = self._last = (resource, scope, *self._numbers(resource, scope))
        try:
            return encode(_span(span, span_id, parent_span_id, last[2], last[3], _quick))
        except (UnicodeEncodeError, OverflowError):
            return encode(_span(span, span_id, parent_span_id, last[2], last[3], _careful))

    def _numbers(self, resource: SdkResource, scope: InstrumentationScope | None) -> tuple[int, int | None]:
        return (
            self._resources.number(id(resource), resource, resource_of),
            None if scope is None else self._scopes.number(id(scope), scope, scope_of),
        )


def resource_of(resource: SdkResource) -> Resource:
    """Convert a resource."""
    return Resource(_careful(resource.attributes), schema_url=resource.schema_url or "")


def scope_of(scope: InstrumentationScope) -> Scope:
    """Convert an instrumentation scope."""
    attributes = _careful(scope.attributes)
    return Scope(_text(scope.name), _text(scope.version or ""), attributes, schema_url=scope.schema_url or "")


def _span(  # noqa: PLR0913, PLR0917 - a call in the hot path, by position
    span: ReadableSpan, span_id: str, parent_span_id: str, resource: int, scope: int | None,
    attributes: Callable[[Mapping[str, Any] | None], Attributes],
) -> Span:  # fmt: skip
    context, parent, status = span.context, span.parent, span.status
    flags, state, said = int(context.trace_flags) | KNOWS_REMOTE, context.trace_state, status.description
    if parent is not None and parent.is_remote:
        flags |= IS_REMOTE
    events = span.events if getattr(span, "_events", True) else ()  # a hint: the property copies
    links = span.links if getattr(span, "_links", True) else ()
    return Span(
        span_id,
        parent_span_id,
        span.name if attributes is _quick else _text(span.name),
        span.start_time or 0,
        span.end_time or 0,
        STATUSES[status.status_code.value],
        attributes(span.attributes),
        _events(events, attributes) if events else (),
        "",
        _text(said) if said else "",
        KINDS[span.kind.value],
        _links(links, attributes) if links else (),
        state.to_header() if state else "",
        flags,
        span.dropped_attributes,
        span.dropped_events,
        span.dropped_links,
        (),
        (),
        (),
        resource,
        scope,
    )


def _events(events: Sequence[Any], attributes: Callable[[Any], Attributes]) -> tuple[Event, ...]:
    return tuple(
        Event(_text(event.name), event.timestamp, attributes(event.attributes), event.dropped_attributes)
        for event in events
    )


def _links(links: Sequence[Any], attributes: Callable[[Any], Attributes]) -> tuple[Link, ...]:
    return tuple(
        Link(
            f"{link.context.trace_id:032x}",
            f"{link.context.span_id:016x}",
            _trace_state(link.context),
            int(link.context.trace_flags) | KNOWS_REMOTE | (IS_REMOTE if link.context.is_remote else 0),
            attributes(link.attributes),
            link.dropped_attributes,
        )
        for link in links
    )


def _trace_state(context: SpanContext) -> str:
    return context.trace_state.to_header() if context.trace_state else ""


def _quick(attributes: Mapping[str, Any] | None) -> Attributes:
    if not attributes:
        return {}
    copied: Attributes = attributes.copy()  # type: ignore[attr-defined]  # a mapping proxy passes it on
    for value in copied.values():
        kind = type(value)
        if kind not in PLAIN and (kind is not int or not -INT64 <= value < INT64):
            return attributes_from_python(copied)[0]
    return copied


def _careful(attributes: Mapping[str, Any] | None) -> Attributes:
    return attributes_from_python(attributes)[0] if attributes else {}


def _text(value: str) -> str:
    return value if type(value) is str and value.isascii() else str(from_python(value)[0])
