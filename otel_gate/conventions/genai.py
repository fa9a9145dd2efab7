"""The GenAI semantic conventions (v0.1.0 and the forms before it), in any scope.

Arguments are a JSON text or a structure (``gen_ai.tool.call.arguments``), opt-in in most libraries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.conventions import arguments
from otel_gate.conventions.meaning import NOTHING, Convention, Found, Meaning
from otel_gate.conventions.run_ids import identifier
from otel_gate.core.tool_words import OF_TOOLS

if TYPE_CHECKING:
    from otel_gate.conventions.meaning import Operation, Seen

NAME = "genai"
SWITCH = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY"
OPERATION, ARGUMENTS, CONVERSATION = "gen_ai.operation.name", "gen_ai.tool.call.arguments", "gen_ai.conversation.id"
TOOL_NAME, OLDER_ARGUMENTS = "gen_ai.tool.name", "gen_ai.tool.args"
OPERATIONS: dict[str, Operation] = {
    "execute_tool": "tool",
    "create_agent": "agent", "invoke_agent": "agent", "invoke_workflow": "agent", "plan": "agent",
    "agent_step": "agent",
    "chat": "model", "text_completion": "model", "generate_content": "model", "embeddings": "model",
}  # fmt: skip


def recognise(seen: Seen) -> Meaning | None:
    """Read a span that names its operation."""
    named = operation(seen)
    if named == "tool":
        return tool(seen)
    conversation = identifier(seen, CONVERSATION)
    return Meaning(named, conversation=conversation) if named or conversation.value else None


def operation(seen: Seen) -> Operation | None:
    """Return what a span says it is, None when it doesn't.

    One that says two different things, and carries what only tools have, is held to be a tool call: in whatever order
    the two stand.
    """
    name, span = seen.mark(OPERATION), seen.span
    if OPERATION in span.conflicts and not OF_TOOLS.isdisjoint(span.attributes):
        return "tool"
    return OPERATIONS.get(name, "other") if name else None


def tool(seen: Seen, *keys: str) -> Meaning:
    """Read a tool call; its arguments are in the first of these that there is, by default the convention's."""
    return Meaning(
        "tool", seen.text(TOOL_NAME), arguments.required(seen, *(keys or (ARGUMENTS, OLDER_ARGUMENTS))), call_id(seen),
        conversation=identifier(seen, CONVERSATION),
    )  # fmt: skip


def call_id(seen: Seen) -> Found:
    """Return the id that the model gave the call; some emitters write a placeholder."""
    found = seen.text("gen_ai.tool.call.id")
    return NOTHING if found.value in arguments.PLACEHOLDERS else found


CONVENTIONS = (Convention(NAME, recognise, switch=SWITCH, marks=(OPERATION,), also=(CONVERSATION,)),)
