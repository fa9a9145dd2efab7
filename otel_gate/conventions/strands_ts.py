"""Strands for TypeScript: the GenAI conventions, with the arguments in an event of the span."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.conventions import arguments, genai
from otel_gate.conventions.meaning import Convention

if TYPE_CHECKING:
    from otel_gate.conventions.meaning import Arguments, Meaning, Seen

SWITCH = "Strands records arguments by default: remove what takes the events off its spans"
EVENT, CONTENT = "gen_ai.tool.message", "content"


def recognise(seen: Seen) -> Meaning | None:
    """Read a span that names its operation."""
    meaning = genai.recognise(seen)
    if meaning is None or meaning.operation != "tool" or genai.ARGUMENTS in seen.span.attributes:
        return meaning
    return meaning._replace(arguments=_given(seen) or meaning.arguments)


def _given(seen: Seen) -> Arguments | None:
    """Return what the message to the tool holds; the last one is the one that was sent."""
    for event in reversed(seen.span.events):
        if event.name == EVENT and CONTENT in event.attributes:
            return arguments.of_value(event.attributes[CONTENT], f"events.{EVENT}.{CONTENT}", seen)
    return None


CONVENTIONS = (Convention("strands_ts", recognise, ("strands-agents",), SWITCH, covers=(genai.recognise,)),)
