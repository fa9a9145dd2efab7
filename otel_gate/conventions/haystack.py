"""Haystack: a tool call is known by its span's name, in its own scope or with its own attributes.

The scope is the application's choice. A failing tool leaves the status unset and sets ``haystack.tool.error``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.conventions import arguments
from otel_gate.conventions.meaning import Convention, Meaning

if TYPE_CHECKING:
    from otel_gate.conventions.meaning import Operation, Seen

SCOPE, SWITCH = "haystack", "HAYSTACK_CONTENT_TRACING_ENABLED=true"
STEP, TOOL = "haystack.agent.step.", "haystack.agent.step.tool"
NAME, INPUT, OUTPUT = "haystack.tool.name", f"{TOOL}.input", f"{TOOL}.output"
OTHERS: dict[str, Operation] = {"haystack.agent.step.llm": "model", "haystack.agent.run": "agent"}


def recognise(seen: Seen) -> Meaning | None:
    """Read a span by its name."""
    name = seen.span.name
    if name == TOOL and (seen.scope.name == SCOPE or NAME in seen.span.attributes or INPUT in seen.span.attributes):
        return Meaning("tool", seen.text(NAME), arguments.required(seen, INPUT))
    return Meaning(OTHERS.get(name, "other")) if name.startswith("haystack.") and seen.scope.name == SCOPE else None


CONVENTIONS = (
    Convention("haystack", recognise, (SCOPE,), SWITCH),
    Convention("haystack_elsewhere", recognise, switch=SWITCH, marks=(NAME, INPUT)),
)
