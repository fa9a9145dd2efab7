"""Spans as a convention is shown them, and whole traces of them, written short."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_gate.conventions import TABLE
from otel_gate.conventions.meaning import Seen
from otel_gate.conventions.normalise import normalise
from otel_gate.core.model import Event, Resource, Scope, Source, Span, Trace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from otel_gate.conventions.normalise import Normalised

TRACE = "ab" * 16
NAME, CALL = "lookup_order", "call_1"
GIVEN: dict[str, Any] = {"order_id": "A-1", "include_items": True}
TEXT = '{"order_id": "A-1", "include_items": true}'


def span_id(number: int) -> str:
    """Return the id of the span of this number; 0 is none."""
    return f"{number:016x}" if number else ""


def span(number: int, parent: int = 0, scope: int = 0, name: str = "x", **more: Any) -> Span:
    """Return a span that starts in the order of its number."""
    fields: dict[str, Any] = {"status": "unset", "attributes": {}, "events": (), "scope": scope, **more}
    return Span(span_id(number), span_id(parent), name, number, 1_000 - number, **fields)


def seen(
    attributes: Mapping[str, Any],
    scope: str = "",
    name: str = "x",
    events: Mapping[str, Mapping[str, Any]] | None = None,
) -> Seen:
    """Return one span as a convention is shown it; ``events`` are attributes by the name of the event."""
    made = tuple(Event(kind, 1, dict(held)) for kind, held in (events or {}).items())
    return Seen(span(1, name=name, attributes=dict(attributes), events=made), Scope(scope), Resource())


def trace(*spans: Span, scopes: tuple[str, ...] = ("a", "b", "c")) -> Trace:
    """Return a trace of spans that name their scope by its number."""
    return Trace(TRACE, spans, scopes=tuple(map(Scope, scopes)), source=Source())


def normal(*spans: Span, scopes: tuple[str, ...] = ("a", "b", "c"), run_id: str = "trace") -> Normalised:
    """Return a trace after the conventions."""
    return normalise(trace(*spans, scopes=scopes), TABLE, run_id)


def tool(name: str = NAME, arguments: Any = None, call_id: str = "", **more: Any) -> dict[str, Any]:
    """Return the attributes of a tool call by the GenAI conventions; nothing for what is None or empty."""
    found = {"gen_ai.tool.name": name, "gen_ai.tool.call.arguments": arguments, "gen_ai.tool.call.id": call_id, **more}
    return {"gen_ai.operation.name": "execute_tool", **{key: value for key, value in found.items() if value}}
