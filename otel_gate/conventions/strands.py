"""Strands: the GenAI conventions, with the arguments in an event of the span.

The latest conventions (``gen_ai_latest_experimental``) put them in an attribute, and in an event of another name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_gate.conventions import arguments, genai
from otel_gate.conventions.meaning import Convention

if TYPE_CHECKING:
    from otel_gate.conventions.meaning import Arguments, Meaning, Seen

SCOPE = "strands.telemetry.tracer"
SWITCH = (
    "Strands records arguments by default: remove what takes the events or gen_ai.tool.call.arguments off its spans"
)
MESSAGE, DETAILS = "gen_ai.tool.message", "gen_ai.client.inference.operation.details"
FIELD, INPUT = "content", "gen_ai.input.messages"


def recognise(seen: Seen) -> Meaning | None:
    """Read a span that names its operation."""
    meaning = genai.recognise(seen)
    if meaning is None or meaning.operation != "tool" or genai.ARGUMENTS in seen.span.attributes:
        return meaning
    return meaning._replace(arguments=_given(seen) or meaning.arguments)


def _given(seen: Seen) -> Arguments | None:
    """Return what the message to the tool holds."""
    for event in seen.span.events:
        if event.name == MESSAGE and FIELD in event.attributes:
            return arguments.of_value(event.attributes[FIELD], f"events.{MESSAGE}.{FIELD}", seen)
        if event.name == DETAILS and INPUT in event.attributes:
            value = _of_messages(arguments.parsed(event.attributes[INPUT]))
            return arguments.of_value(value, f"events.{DETAILS}.{INPUT}", seen)
    return None


def _of_messages(messages: Any) -> Any:
    """Return the arguments of the call in a list of messages."""
    for message in messages if isinstance(messages, list) else ():
        parts = message.get("parts") if isinstance(message, dict) else None
        for part in parts if isinstance(parts, list) else ():
            if isinstance(part, dict) and part.get("type") == "tool_call":
                return part.get("arguments")
    return messages if isinstance(messages, str) and arguments.is_cut(messages) else None


CONVENTIONS = (Convention("strands", recognise, (SCOPE,), SWITCH, covers=(genai.recognise,)),)
