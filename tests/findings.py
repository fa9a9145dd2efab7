"""Small traces made by hand, and what the rules say about them."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from otel_gate.core.gate import judge
from otel_gate.core.model import Completion, Event, OpenSpan, Span, Trace, Violation
from otel_gate.rules import RULES

TRACE_ID = "5b8efff798038103d269b633813fc60c"
ROOT_ID, TOOL_ID, AWAY_ID = "00000000000000a1", "00000000000000a2", "00000000000000a3"
REMOTE = 0x300
ROOT = Span(ROOT_ID, "", "agent.run", 1, 9, "ok", {"run.id": "run-1"}, ())
TOOL = Span(TOOL_ID, ROOT_ID, "tool.search", 2, 5, "ok", {"tool.name": "search", "input.sha256": "ab"}, ())
REMOTE_ROOT = replace(ROOT, parent_span_id=AWAY_ID, flags=REMOTE)


def trace(*spans: Span, **fields: Any) -> Trace:
    """Make a trace of spans."""
    return Trace(TRACE_ID, spans, **fields)


def only(code: str, judged: Trace) -> Violation:
    """Return the one finding of a rule, which must be the only finding of all."""
    (found,) = judge(judged, RULES).violations
    assert found.rule == code
    return found


def said(code: str, judged: Trace) -> str:
    """Return all that the one finding says."""
    found = only(code, judged)
    return f"{found.message} | {found.expected} | {found.got} | {found.try_}"


def tool(**fields: Any) -> Trace:
    """Make a trace whose tool span has other fields."""
    return trace(ROOT, replace(TOOL, **fields))


def lacking(attribute: str, **fields: Any) -> Trace:
    """Make a trace whose tool span lacks an attribute."""
    return tool(attributes={key: value for key, value in TOOL.attributes.items() if key != attribute}, **fields)


def root(value: object, **fields: Any) -> Trace:
    """Make a trace whose root has such a run id."""
    return trace(replace(ROOT, attributes={"run.id": value}, **fields), TOOL)


def failed(*events: str, **fields: Any) -> Trace:
    """Make a trace whose tool span failed, with events of such names."""
    return tool(status="error", events=tuple(Event(name, 3, {}) for name in events), **fields)


def closed(reason: Any, *names: str, capped: int = 0) -> Trace:
    """Make a trace that was closed for a reason with spans of such names open."""
    still = tuple(OpenSpan(f"{place:016x}", name) for place, name in enumerate(names, 1))
    return trace(ROOT, TOOL, completion=Completion(reason, still, capped))
