"""Rules that are off until somebody names them: ``--rules otel_gate.rules.optional:requested_calls_seen``.

What a model asked for is in its messages, what was executed is in tool spans. Some instrumentations record the first
and miss the second, and then a trace passes in which no tool was looked at. A request is no execution, so this is no
rule of the gate: a call whose arguments were refused never ran, and a handoff or a final answer is a call in form only.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from otel_gate.core.canonical import decode
from otel_gate.core.counted import counted
from otel_gate.core.model import Violation
from otel_gate.rules.wording import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_gate.core.model import Span, Trace

CODE, NAME = "requested_calls_seen", "requested-calls-seen"
TRY = (
    "see whether the instrumentation records this tool (docs/frameworks.md), or wrap it in otel_gate.tool_span; a call "
    "that was refused before it ran has no span"
)
NOT_EXECUTED = re.compile(r"transfer_to_|handoff|final_result")
"""Beginnings of the names of what frameworks let a model call and don't execute as a tool."""

LISTS = ("gen_ai.output.messages", "ai.response.toolCalls", "gcp.vertex.agent.llm_response", "output.value")
"""Attributes with messages, or calls, as JSON."""
EVENTS = {"gen_ai.choice": ("message", "gen_ai.event.content"), "gen_ai.client.inference.operation.details": LISTS[:1]}
FLAT = re.compile(
    r"((?:llm\.output_messages|gen_ai\.completion)\.\d+\.(?:message\.)?tool_calls\.\d+\.)"
    r"(?:tool_call\.function\.name|name)"
)
IDS = ("tool_call.id", "id")
CALL_NAMES, CALL_IDS = ("name", "toolName", "tool_name"), ("id", "toolCallId", "toolUseId", "call_id")
CALL_TYPES = frozenset({"tool_call", "function_call", "tool_use", "tool-call"})
CALL_KEYS = ("toolUse", "functionCall", "function_call", "tool_call", "function")
IN_PYTHON = re.compile(r"ToolCall\(tool_name='([^'\n]{1,200})', arguments=\{[^{}\n]{0,2000}\}, id='([^'\n]{1,200})'")
IN_TEXT = re.compile(r"^Action: *([\w.-]{1,200}) *$", re.MULTILINE)
MOST_DEPTH, MOST_SHOWN = 12, 5


def requested_calls_seen(trace: Trace) -> Iterator[Violation]:
    """Every tool call that a model asked for in its messages has a tool span of that name.

    Why: a tool that runs without a span is not judged, and a trace without tool spans looks like one without tools.

    Fix: use an instrumentation that records the tool, or wrap it in otel_gate.tool_span.
    """
    seen = Counter(name for span in trace.tools if isinstance(name := span.attributes.get("tool.name"), str))
    for name, (count, span) in _requested(trace).items():
        missing = count - seen[name]
        if missing > 0 and not NOT_EXECUTED.match(name):
            expected, got = counted(count, "tool span"), str(seen[name])
            message = f"a model asked for {shown(name)}: expected {expected} of that name, got {got}"
            yield Violation(CODE, NAME, span.span_id, message, expected, got, TRY)


def _requested(trace: Trace) -> dict[str, tuple[int, Span]]:
    """Return how many calls of each tool were asked for, and where first.

    A call with an id counts once, in however many messages it stands. Calls without one can't be told apart: as many
    count as one span names.
    """
    by_id: dict[str, dict[str, None]] = {}
    at_once: dict[str, int] = {}
    first: dict[str, Span] = {}
    for span in trace.spans:
        bare: Counter[str] = Counter()
        for name, call_id in _calls(span):
            first.setdefault(name, span)
            if call_id:
                by_id.setdefault(name, {})[call_id] = None
            else:
                bare[name] += 1
        for name, count in bare.items():
            at_once[name] = max(count, at_once.get(name, 0))
    return {name: (max(len(by_id.get(name, ())), at_once.get(name, 0)), span) for name, span in first.items()}


def _calls(span: Span) -> Iterator[tuple[str, str]]:
    """Yield the calls that a span's messages ask for: name, and id where there is one."""
    attributes = span.attributes
    for key, value in attributes.items():
        found = FLAT.fullmatch(key)
        if found and isinstance(value, str) and value:
            ids = (attributes.get(found[1] + name) for name in IDS)
            yield value, next((text for text in ids if isinstance(text, str)), "")
        elif key in LISTS:
            yield from _of_text(value)
    for event in span.events:
        for key in EVENTS.get(event.name, ()):
            yield from _of_text(event.attributes.get(key))


def _of_text(value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield from IN_PYTHON.findall(value)
        try:
            value = decode(value)
        except (ValueError, RecursionError):
            return
    yield from _inside(value, 0)


def _inside(value: Any, depth: int) -> Iterator[tuple[str, str]]:
    """Yield the calls in a value, at whatever depth a framework puts them."""
    if depth > MOST_DEPTH or not isinstance(value, dict | list):
        return
    if isinstance(value, list):
        for item in value:
            yield from _inside(item, depth + 1)
        return
    call = _call(value)
    if call:
        yield call
        return
    content = value.get("content")
    if value.get("role") == "assistant" and isinstance(content, str):
        yield from ((name, "") for name in IN_TEXT.findall(content))
    for key, item in value.items():
        inner = _named(item) if key in CALL_KEYS and isinstance(item, dict) else None
        if inner:
            yield inner[0], inner[1] or _text(value, CALL_IDS)
        else:
            yield from _inside(item, depth + 1)


def _call(value: dict[str, Any]) -> tuple[str, str] | None:
    is_one = _text(value, ("type",)) in CALL_TYPES or "toolName" in value
    return _named(value) if is_one else None


def _named(value: dict[str, Any]) -> tuple[str, str] | None:
    name = _text(value, CALL_NAMES)
    return (name, _text(value, CALL_IDS)) if name else None


def _text(value: dict[str, Any], keys: tuple[str, ...]) -> str:
    return next((text for key in keys if isinstance(text := value.get(key), str) and text), "")
