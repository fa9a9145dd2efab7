"""The Vercel AI SDK: the GenAI conventions in release 7, attributes of its own (``ai.*``) before and beside that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.conventions import arguments, genai
from otel_gate.conventions.meaning import Convention, Meaning

if TYPE_CHECKING:
    from otel_gate.conventions.meaning import Operation, Seen

SWITCH = "recordInputs: true"
KIND, TOOL, SCOPE = "ai.operationId", "ai.toolCall", "ai"
NAME, ARGUMENTS, CALL_ID = "ai.toolCall.name", "ai.toolCall.args", "ai.toolCall.id"
OTHERS: tuple[tuple[str, Operation], ...] = (
    (".doGenerate", "model"), (".doStream", "model"), (".doEmbed", "model"), ("ai.generateText", "agent"),
    ("ai.streamText", "agent"),
)  # fmt: skip
CONTENT = ("ai.values", "ai.embedding", "ai.embeddings")


def legacy(seen: Seen) -> Meaning | None:
    """Read a span by the SDK's name for what it does, a tool call in its own scope by the span's name too."""
    kind = seen.span.attributes.get(KIND)
    if kind == TOOL or (seen.scope.name == SCOPE and seen.span.name.partition(" ")[0] == TOOL):
        return Meaning("tool", seen.text(NAME), arguments.required(seen, ARGUMENTS), seen.text(CALL_ID))
    if not isinstance(kind, str):
        return None
    return Meaning(next((operation for end, operation in OTHERS if kind.endswith(end)), "other"))


BY_GENAI = (Convention("vercel", genai.recognise, ("gen_ai",), SWITCH),)
CONVENTIONS = (
    Convention("vercel_legacy", legacy, (SCOPE,), SWITCH, CONTENT),
    Convention("vercel_legacy_elsewhere", legacy, switch=SWITCH, content=CONTENT, marks=(KIND,)),
)
