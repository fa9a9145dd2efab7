"""VoltAgent: what a span is stands in ``span.type``, its arguments in a bare ``input``, its run in ``operation.id``.

Its tool spans are named ``tool.execution:X``, as if they were ours. ``tool.parameters`` is the tool's schema.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.conventions import arguments
from otel_gate.conventions.meaning import Convention, Meaning

if TYPE_CHECKING:
    from otel_gate.conventions.meaning import Operation, Seen

KIND, INPUT = "span.type", "input"
KINDS: dict[str, Operation] = {"tool": "tool", "agent": "agent", "llm": "model"}
SWITCH = "VoltAgent records arguments by default: remove what takes input off its spans"
CONTENT = (INPUT, "output", "agent.messages", "llm.messages")


def recognise(seen: Seen) -> Meaning:
    """Read a span by its type, and the id of its run."""
    kind = seen.mark(KIND)
    carried = Meaning(run_id=seen.text("operation.id"), conversation=seen.text("conversation.id"))
    if not kind:
        return carried
    operation = KINDS.get(kind, "other")
    if operation != "tool":
        return carried._replace(operation=operation)
    given = arguments.required(seen, INPUT)
    return carried._replace(
        operation="tool", name=seen.text("tool.name"), arguments=given, call_id=seen.text("tool.call.id")
    )


CONVENTIONS = (Convention("voltagent", recognise, ("@voltagent/core",), SWITCH, content=CONTENT),)
