"""Logfire's own instrumentation of OpenAI Agents: spans are known by the literal template that is their name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.conventions import arguments
from otel_gate.conventions.meaning import Convention, Meaning
from otel_gate.conventions.run_ids import identifier

if TYPE_CHECKING:
    from otel_gate.conventions.meaning import Operation, Seen

SCOPE, SWITCH = "logfire.openai_agents", "RunConfig(trace_include_sensitive_data=True)"
TEMPLATE = "logfire.msg_template"
TOOL = "Function: {name}"
OTHERS: tuple[tuple[str, Operation], ...] = (
    ("Agent run", "agent"), ("OpenAI Agents trace", "agent"), ("Chat completion", "model"), ("Responses API", "model"),
)  # fmt: skip


def recognise(seen: Seen) -> Meaning:
    """Read a span by its template, and the ids of its trace in the SDK."""
    conversation = identifier(seen, "agent_trace_id", "group_id")
    template = seen.text(TEMPLATE).value or seen.span.name
    if TOOL in (seen.span.name, template):
        return Meaning("tool", seen.text("name"), arguments.required(seen, "input"), conversation=conversation)
    operation: Operation = next((kind for start, kind in OTHERS if template.startswith(start)), "other")
    return Meaning(operation, conversation=conversation)


CONVENTIONS = (Convention("logfire", recognise, (SCOPE,), SWITCH),)
