"""Any ``SpanExporter`` as a destination: the record's spans are rebuilt as the SDK's ``ReadableSpan``.

What a ``ReadableSpan`` or the SDK's own encoder can't carry is lost on this way: a link's trace state, the low bits of
flags, the message of a status that is not an error, an unknown kind or status number, and the dropped counts and entity
references of resource and scope. The record has them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opentelemetry.attributes import BoundedAttributes
from opentelemetry.sdk.resources import Resource as SdkResource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.sdk.util import BoundedList
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags, TraceState

from otel_gate.core.model import Resource, has_remote_parent
from otel_gate.forward.destination import RETRY, Result
from otel_gate.otlp.json_form import unescaped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from otel_gate.core.model import Attributes, Scope, Span, Trace

KINDS = {kind.name.lower(): kind for kind in SpanKind}
STATUSES = {code.name.lower(): code for code in StatusCode}


class ThroughExporter:
    """A destination that is an exporter of the user's."""

    def __init__(self, name: str, exporter: SpanExporter) -> None:
        """Wrap an exporter."""
        self.name, self._exporter = name, exporter

    def pack(self, trace: Trace, first: int) -> list[ReadableSpan]:
        """Rebuild the spans of a trace."""
        resources = [SdkResource(python_of(r.attributes), r.schema_url) for r in trace.resources or (Resource(),)]
        scopes = [_scope(scope) for scope in trace.scopes]
        return [
            readable(span, trace.trace_id, resources[span.resource or 0], None if span.scope is None else scopes[span.scope])
            for span in trace.spans[first:]
        ]

    def send(self, packed: Sequence[list[ReadableSpan]], timeout_s: float) -> Result:  # noqa: ARG002 - it has its own
        """Export; only SUCCESS is final, since FAILURE does not say why."""
        try:
            result = self._exporter.export([span for spans in packed for span in spans])
        except Exception as error:  # noqa: BLE001 - a foreign exporter may raise anything
            return Result(RETRY, type(error).__name__, str(error)[:500])
        if result is SpanExportResult.SUCCESS:
            return Result("accepted", result.name)
        return Result(RETRY, result.name)

    def close(self) -> None:
        """Shut the exporter down."""
        self._exporter.shutdown()

    def after_fork(self) -> None:
        """Leave it to the exporter what a fork means to it."""


def readable(span: Span, trace_id: str, resource: SdkResource, scope: InstrumentationScope | None) -> ReadableSpan:
    """Rebuild one span."""
    trace_number = int(trace_id, 16)
    parent = None
    if span.parent_span_id:
        parent = SpanContext(trace_number, int(span.parent_span_id, 16), has_remote_parent(span), TraceFlags(1))
    flags = TraceFlags(span.flags & 0xFF | TraceFlags.SAMPLED)  # it was exported, so it was sampled
    context = SpanContext(trace_number, int(span.span_id, 16), False, flags, _trace_state(span.trace_state))  # noqa: FBT003
    code = STATUSES.get(str(span.status), StatusCode.UNSET)
    return ReadableSpan(
        span.name, context, parent, resource, _bounded(span.attributes, span.dropped_attributes_count),
        _counted([_event(event) for event in span.events], span.dropped_events_count),
        _counted([_link(link) for link in span.links], span.dropped_links_count),
        KINDS.get(str(span.kind), SpanKind.INTERNAL), None,
        Status(code, span.status_message if code is StatusCode.ERROR and span.status_message else None),
        span.start_ns or None, span.end_ns or None, scope,
    )  # fmt: skip


def python_of(value: Any) -> Any:  # noqa: ANN401 - any attribute value
    """Turn a value of the model's JSON form into the Python value that the SDK has for it."""
    if isinstance(value, list):
        return [python_of(one) for one in value]
    if isinstance(value, dict):
        plain = unescaped(value)
        return {key: python_of(one) for key, one in plain.items()} if isinstance(plain, dict) else plain
    return value


def _scope(scope: Scope) -> InstrumentationScope:
    return InstrumentationScope(scope.name, scope.version, scope.schema_url, python_of(scope.attributes))


def _bounded(attributes: Attributes, dropped: int) -> BoundedAttributes:
    bounded = BoundedAttributes(attributes={key: python_of(value) for key, value in attributes.items()})
    bounded.dropped = dropped
    return bounded


def _counted(items: list[Any], dropped: int) -> Any:  # noqa: ANN401 - the SDK's own list type
    counted: BoundedList[Any] = BoundedList.from_seq(None, items)
    counted.dropped = dropped
    return counted


def _event(event: Any) -> Event:  # noqa: ANN401
    return Event(event.name, _bounded(event.attributes, event.dropped_attributes_count), event.time_ns)


def _link(link: Any) -> Link:  # noqa: ANN401
    remote = link.flags & 0x200 != 0
    context = SpanContext(int(link.trace_id or "0", 16), int(link.span_id or "0", 16), remote, TraceFlags(link.flags & 0xFF))
    return Link(context, _bounded(link.attributes, link.dropped_attributes_count))


def _trace_state(header: str) -> TraceState:
    return TraceState.from_header([header]) if header else TraceState()
