"""The GenAI semantic conventions (v0.1.0 and the forms before it), in any scope.

Arguments are a JSON text or a structure (``gen_ai.tool.call.arguments``), opt-in in most libraries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.conventions import arguments
from otel_gate.conventions.meaning import NOTHING, Convention, Found, Meaning

if TYPE_CHECKING:
    from otel_gate.conventions.meaning import Operation, Seen

NAME = "genai"
SWITCH = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY"
OPERATION, ARGUMENTS, CONVERSATION = "gen_ai.operation.name", "gen_ai.tool.call.arguments", "gen_ai.conversation.id"
MERGED = "execute_tool (merged)"  # ADK's span beside those of calls that ran together
OPERATIONS: dict[str, Operation] = {
    "execute_tool": "tool",
    "create_agent": "agent", "invoke_agent": "agent", "invoke_workflow": "agent", "plan": "agent", "agent_step": "agent",
    "chat": "model", "text_completion": "model", "generate_content": "model", "embeddings": "model",
}  # fmt: skip


def recognise(seen: Seen) -> Meaning | None:
    """Read a span that names its operation."""
    conversation = seen.text(CONVERSATION)
    name = seen.span.attributes.get(OPERATION)
    if not isinstance(name, str):
        return Meaning(conversation=conversation) if conversation.value else None
    operation = OPERATIONS.get(name, "other")
    if operation != "tool" or seen.span.name == MERGED:
        return Meaning("other" if operation == "tool" else operation, conversation=conversation)
    return Meaning(
        "tool", seen.text("gen_ai.tool.name"), arguments.required(seen, ARGUMENTS), call_id(seen),
        conversation=conversation,
    )  # fmt: skip


def call_id(seen: Seen) -> Found:
    """Return the id that the model gave the call; some emitters write a placeholder."""
    found = seen.text("gen_ai.tool.call.id")
    return NOTHING if found.value in arguments.PLACEHOLDERS else found


CONVENTIONS = (Convention(NAME, recognise, switch=SWITCH),)
