"""OpenInference, in any scope: what a span is stands in ``openinference.span.kind``, arguments in ``input.value``.

``tool.parameters`` is the tool's schema in most emitters, and never read here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.conventions import arguments
from otel_gate.conventions.meaning import NOTHING, Convention, Meaning
from otel_gate.conventions.run_ids import identifier

if TYPE_CHECKING:
    from otel_gate.conventions.meaning import Operation, Seen

NAME = "openinference"
SWITCH = "OPENINFERENCE_HIDE_INPUTS=false"
KIND, INPUT, SESSION = "openinference.span.kind", "input.value", "session.id"
KINDS: dict[str, Operation] = {"tool": "tool", "agent": "agent", "llm": "model", "embedding": "model"}


def recognise(seen: Seen) -> Meaning | None:
    """Read a span that says its kind."""
    kind = seen.mark(KIND)
    conversation = identifier(seen, SESSION) if SESSION in seen.span.attributes else NOTHING
    if not kind:
        return Meaning(conversation=conversation) if conversation.value else None
    operation = KINDS.get(kind, "other")
    if operation != "tool":
        return Meaning(operation, conversation=conversation)
    return Meaning(
        "tool", seen.text("tool.name"), arguments.required(seen, INPUT), identifier(seen, "tool.id", "tool.call_id"),
        conversation=conversation,
    )  # fmt: skip


CONVENTIONS = (Convention(NAME, recognise, switch=SWITCH, marks=(KIND,)),)
