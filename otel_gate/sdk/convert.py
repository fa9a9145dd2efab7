"""From an SDK span to a line, on the thread that ends it: this is the agent's time, so the common case is short.

Only public properties are read. Most spans carry texts, bools and small integers, which are their own JSON form. What
else is in a span, a lone surrogate included, takes the careful way, which changes it as little as OTLP allows; nothing
of a span is left out.
"""

from __future__ import annotations

from math import isfinite
from time import monotonic_ns, time_ns
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace
from opentelemetry.trace import INVALID_SPAN_CONTEXT, SpanKind, StatusCode

from otel_gate.core.model import Attributes, Event, Link, Resource, Scope, Span, encode
from otel_gate.otlp.values import attributes_from_python, from_python

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from opentelemetry.sdk.resources import Resource as SdkResource
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope
    from opentelemetry.trace import SpanContext, TraceState

    from otel_gate.pipeline.lines import Table
    from otel_gate.sdk.private import Private

UNSET, INTERNAL, NO_STATE = StatusCode.UNSET, SpanKind.INTERNAL, INVALID_SPAN_CONTEXT.trace_state
STATUSES = ("unset", "ok", "error")
KINDS = ("internal", "server", "client", "producer", "consumer")
KNOWS_REMOTE, IS_REMOTE = 0x100, 0x200
INT64 = 2**63
STEP_NS = 100_000_000  # by more than that a clock does not drift while a span is open


class Lines:
    """Encodes the spans of one door; the resource and scope of the last one are mostly those of the next."""

    __slots__ = ("_last", "_private", "_resources", "_scopes")

    def __init__(self, resources: Table, scopes: Table, private: Private | None = None) -> None:
        """Keep the tables that number resources and scopes, and what withholds content."""
        self._resources, self._scopes, self._private = resources, scopes, private
        self._last: tuple[Any, Any, int, int | None] = (self, self, 0, None)  # like no resource and no scope

    def encode(
        self, span: ReadableSpan, context: SpanContext, span_id: str, parent: SpanContext | None,
        began_ns: int = 0,
    ) -> bytes:  # fmt: skip
        """Encode a span that has ended, with process-wide numbers for its resource and scope.

        ``began_ns`` is the monotonic time of its start: when the clock was set meanwhile, the span keeps how long it
        really took.
        """
        resource, scope = span.resource, span.instrumentation_scope
        last = self._last
        if last[0] is not resource or last[1] is not scope:
            last = self._last = (resource, scope, *self._numbers(resource, scope))
        made = _span(span, context, span_id, parent, last[2], last[3])
        if began_ns:
            seen_ns = monotonic_ns() - began_ns
            if abs(made.end_ns - made.start_ns - seen_ns) > STEP_NS and abs(time_ns() - made.end_ns) < STEP_NS:
                made = replace(made, observed_ns=seen_ns)
        try:
            line = encode(made)
        except (UnicodeEncodeError, OverflowError, TypeError):
            made = _carefully(made, span)
            line = encode(made)
        return line if self._private is None else self._private.line(line, made, f"{context.trace_id:032x}")

    def _numbers(self, resource: SdkResource, scope: InstrumentationScope | None) -> tuple[int, int | None]:
        return (
            self._resources.number(id(resource), resource, resource_of),
            None if scope is None else self._scopes.number(id(scope), scope, scope_of),
        )


def resource_of(resource: SdkResource) -> Resource:
    """Convert a resource."""
    return Resource(_attributes(resource.attributes), schema_url=resource.schema_url or "")


def scope_of(scope: InstrumentationScope) -> Scope:
    """Convert an instrumentation scope."""
    attributes = _attributes(scope.attributes)
    return Scope(_text(scope.name), _text(scope.version or ""), attributes, schema_url=scope.schema_url or "")


def _span(  # noqa: PLR0913, PLR0917 - a call in the hot path, by position
    span: ReadableSpan, context: SpanContext, span_id: str, parent: SpanContext | None, resource: int, scope: int | None
) -> Span:
    status, kind = span.status, span.kind
    code = status.status_code
    attributes: Attributes = span.attributes.copy()  # type: ignore[union-attr]  # a mapping proxy passes it on
    for value in attributes.values():
        of = type(value)
        if of is str or of is bool or (of is int and -INT64 <= value < INT64):
            continue
        if of is not float or not isfinite(value):
            attributes = attributes_from_python(attributes)[0]
            break
    flags, state, parent_span_id = context.trace_flags | KNOWS_REMOTE, context.trace_state, ""
    if parent is not None:
        parent_span_id = f"{parent.span_id:016x}"
        if parent.is_remote:
            flags |= IS_REMOTE
    return Span(
        span_id,
        parent_span_id,
        span.name,
        span.start_time or 0,
        span.end_time or 0,
        "unset" if code is UNSET else STATUSES[code.value],
        attributes,
        _events(span.events) if getattr(span, "_events", True) else (),  # a hint: the property copies
        "",
        status.description or "",
        "internal" if kind is INTERNAL else KINDS[kind.value],
        _links(span.links) if getattr(span, "_links", True) else (),
        "" if state is NO_STATE else _header(state),
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


def _carefully(made: Span, span: ReadableSpan) -> Span:
    """Make what could not be encoded encodable: texts with lone surrogates, wherever they are."""
    return replace(
        made, name=_text(made.name), status_message=_text(made.status_message), attributes=_attributes(span.attributes)
    )


def _events(events: Sequence[Any]) -> tuple[Event, ...]:
    return tuple(
        Event(_text(event.name), event.timestamp, _attributes(event.attributes), event.dropped_attributes)
        for event in events
    )


def _links(links: Sequence[Any]) -> tuple[Link, ...]:
    return tuple(
        Link(
            f"{link.context.trace_id:032x}",
            f"{link.context.span_id:016x}",
            _header(link.context.trace_state),
            int(link.context.trace_flags) | KNOWS_REMOTE | (IS_REMOTE if link.context.is_remote else 0),
            _attributes(link.attributes),
            link.dropped_attributes,
        )
        for link in links
    )


def _header(state: TraceState | None) -> str:
    return state.to_header() if state else ""


def _attributes(attributes: Mapping[str, Any] | None) -> Attributes:
    return attributes_from_python(attributes)[0] if attributes else {}


def _text(value: str) -> str:
    return value if type(value) is str and value.isascii() else str(from_python(value)[0])
