"""OpenInference, in any scope: what a span is stands in ``openinference.span.kind``, arguments in ``input.value``.

``tool.parameters`` is the tool's schema in most emitters, and never read here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.conventions import arguments
from otel_gate.conventions.meaning import NOTHING, Arguments, Convention, Meaning
from otel_gate.conventions.run_ids import identifier

if TYPE_CHECKING:
    from otel_gate.conventions.meaning import Operation, Seen

NAME = "openinference"
NAME_OF_TOOL = "tool.name"
TYPE, PLAIN = "input.mime_type", "text/plain"
SWITCH = "OPENINFERENCE_HIDE_INPUTS=false"
KIND, INPUT, SESSION = "openinference.span.kind", "input.value", "session.id"
KINDS: dict[str, Operation] = {"tool": "tool", "agent": "agent", "llm": "model", "embedding": "model"}


def recognise(seen: Seen) -> Meaning | None:
    """Read a span that says its kind."""
    kind = seen.mark(KIND)
    conversation = identifier(seen, SESSION) if SESSION in seen.span.attributes else NOTHING
    if not kind:
        return Meaning(conversation=conversation) if conversation.value else None
    is_told_twice = KIND in seen.span.conflicts and NAME_OF_TOOL in seen.span.attributes  # held to be a tool call
    operation = "tool" if is_told_twice else KINDS.get(kind, "other")
    if operation != "tool":
        return Meaning(operation, conversation=conversation)
    return Meaning(
        "tool", seen.text(NAME_OF_TOOL), _given(seen), identifier(seen, "tool.id", "tool.call_id"),
        conversation=conversation,
    )  # fmt: skip


def _given(seen: Seen) -> Arguments:
    """Return the arguments; what is said to be no JSON is not cut because it begins like some (``[ERROR …``)."""
    given = arguments.required(seen, INPUT)
    if given.unhashed != "cut" or seen.mark(TYPE) != PLAIN:
        return given
    text: str = seen.span.attributes[INPUT]
    return given if arguments.is_shortened(text, seen) else Arguments(text, given.where)


CONVENTIONS = (Convention(NAME, recognise, switch=SWITCH, marks=(KIND,), also=(SESSION,)),)
