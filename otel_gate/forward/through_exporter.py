"""Any ``SpanExporter`` as a destination: the record's spans are rebuilt as the SDK's ``ReadableSpan``.

What a ``ReadableSpan`` or the SDK's own encoder can't carry is lost on this way: a link's trace state, all flags but
the trace flags and a parent's remoteness, a trace state that the W3C would not have, the message of a status that is
not an error, an unspecified or unknown kind, an unknown status number, attributes without a key (those of spans, events
and links count as dropped), ids that are none, and the dropped counts and entity references of resource and scope. The
record has them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from opentelemetry.attributes import BoundedAttributes
from opentelemetry.sdk.resources import Resource as SdkResource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.sdk.util import BoundedList
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags, TraceState

from otel_gate.core.model import has_remote_parent
from otel_gate.forward.destination import RETRY, Result
from otel_gate.otlp.json_form import unescaped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from otel_gate.core.model import Attributes, Scope, Span, Trace

KINDS = {kind.name.lower(): kind for kind in SpanKind}
STATUSES = {code.name.lower(): code for code in StatusCode}
MOST_DROPPED = 2**32 - 1  # that OTLP carries
SAMPLED = TraceFlags(TraceFlags.SAMPLED)
TRACE_ID, SPAN_ID = re.compile("[0-9a-f]{32}"), re.compile("[0-9a-f]{16}")


class ThroughExporter:
    """A destination that is an exporter of the user's."""

    exact = False

    def __init__(self, name: str, exporter: SpanExporter) -> None:
        """Wrap an exporter."""
        self.name, self._exporter = name, exporter

    def pack(self, trace: Trace, first: int) -> list[ReadableSpan]:
        """Rebuild the spans of a trace."""
        none = SdkResource({})
        resources = [SdkResource(_python(resource.attributes), resource.schema_url) for resource in trace.resources]
        scopes = [_scope(scope) for scope in trace.scopes]
        return [
            readable(
                span, span.trace_id or trace.trace_id, none if span.resource is None else resources[span.resource],
                None if span.scope is None else scopes[span.scope],
            )
            for span in trace.spans[first:]
        ]  # fmt: skip

    def send(self, packed: Sequence[list[ReadableSpan]], timeout_s: float) -> Result:  # noqa: ARG002 - it has its own
        """Export; only SUCCESS is final, since FAILURE does not say why. Raises what the exporter raises."""
        result = self._exporter.export([span for spans in packed for span in spans])
        if result is SpanExportResult.SUCCESS:
            return Result("accepted", result.name)
        return Result(RETRY, getattr(result, "name", str(result)))

    def close(self) -> None:
        """Shut the exporter down."""
        self._exporter.shutdown()

    def after_fork(self) -> None:
        """Leave it to the exporter what a fork means to it."""


def readable(span: Span, trace_id: str, resource: SdkResource, scope: InstrumentationScope | None) -> ReadableSpan:
    """Rebuild one span."""
    trace_number, parent_number = _number(trace_id, TRACE_ID), _number(span.parent_span_id, SPAN_ID)
    parent = SpanContext(trace_number, parent_number, has_remote_parent(span), SAMPLED) if parent_number else None
    flags = TraceFlags(span.flags & 0xFF | SAMPLED)  # it was exported, so it was sampled
    own = trace_number, _number(span.span_id, SPAN_ID)
    context = SpanContext(*own, is_remote=False, trace_flags=flags, trace_state=_trace_state(span.trace_state))
    code = STATUSES.get(str(span.status), StatusCode.UNSET)
    return ReadableSpan(
        span.name, context, parent, resource, _bounded(span.attributes, span.dropped_attributes_count),
        _counted([_event(event) for event in span.events], span.dropped_events_count),
        _counted([_link(link) for link in span.links], span.dropped_links_count),
        KINDS.get(str(span.kind), SpanKind.INTERNAL), None,
        Status(code, span.status_message if code is StatusCode.ERROR and span.status_message else None),
        span.start_ns or None, span.end_ns or None, scope,
    )  # fmt: skip


def python_of(value: Any) -> Any:
    """Turn a value of the model's JSON form into the Python value that the SDK has for it."""
    if isinstance(value, list):
        return [python_of(one) for one in value]
    if isinstance(value, dict):
        plain = unescaped(value)
        return {key: python_of(one) for key, one in plain.items()} if isinstance(plain, dict) else plain
    return value


def _scope(scope: Scope) -> InstrumentationScope:
    return InstrumentationScope(scope.name, scope.version, scope.schema_url, _python(scope.attributes))


def _python(attributes: Attributes) -> dict[str, Any]:
    return {key: python_of(value) for key, value in attributes.items()}


def _bounded(attributes: Attributes, dropped: int) -> BoundedAttributes:
    bounded = BoundedAttributes(attributes=_python(attributes))
    bounded.dropped = min(bounded.dropped + dropped, MOST_DROPPED)
    return bounded


def _counted(items: list[Any], dropped: int) -> Any:
    counted: BoundedList[Any] = BoundedList.from_seq(None, items)
    counted.dropped = dropped
    return counted


def _event(event: Any) -> Event:
    return Event(event.name, _bounded(event.attributes, event.dropped_attributes_count), event.time_ns)


def _link(link: Any) -> Link:
    remote = link.flags & 0x200 != 0
    ids = _number(link.trace_id, TRACE_ID), _number(link.span_id, SPAN_ID)
    context = SpanContext(*ids, remote, TraceFlags(link.flags & 0xFF))
    return Link(context, _bounded(link.attributes, link.dropped_attributes_count))


def _trace_state(header: str) -> TraceState:
    return TraceState.from_header([header]) if header else TraceState()


def _number(text: str, form: re.Pattern[str]) -> int:
    return int(text, 16) if form.fullmatch(text) else 0
