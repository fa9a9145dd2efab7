"""Langfuse: what a span is stands in ``langfuse.observation.type``, and a tool's name is its span's.

Its decorator writes ``{"args": […], "kwargs": {…}}``, its LangChain handler the arguments themselves. The handler's
spans have its metadata: what it writes is never unwrapped, for a tool may have parameters of those names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_gate.conventions import arguments, langgraph
from otel_gate.conventions.meaning import NOTHING, Convention, Found, Meaning
from otel_gate.conventions.run_ids import identifier

if TYPE_CHECKING:
    from otel_gate.conventions.meaning import Arguments, Operation, Seen

SCOPE, SWITCH = "langfuse-sdk", "LANGFUSE_OBSERVE_DECORATOR_IO_CAPTURE_ENABLED=true"
KIND, INPUT = "langfuse.observation.type", "langfuse.observation.input"
KINDS: dict[str, Operation] = {
    "tool": "tool", "agent": "agent", "generation": "model", "embedding": "model",
}  # fmt: skip
METADATA = "langfuse.observation.metadata."
CALL_ID = f"{METADATA}tool_call_id"
HANDLER = (CALL_ID, f"{METADATA}tags", f"{METADATA}color", f"{METADATA}ls_integration")


def recognise(seen: Seen) -> Meaning | None:
    """Read a span that says its type."""
    kind = seen.mark(KIND)
    if not kind:
        return None
    conversation = identifier(seen, "session.id", "langfuse.session.id")
    operation = KINDS.get(kind, "other")
    if operation != "tool":
        calls = langgraph.calls(seen, INPUT) if operation == "other" else ()
        return Meaning(operation, conversation=conversation, calls=calls)
    name = Found(seen.span.name, "name") if seen.span.name.strip() else NOTHING
    return Meaning("tool", name, _given(seen), _call_id(seen), conversation=conversation)


def _given(seen: Seen) -> Arguments:
    given = arguments.required(seen, INPUT)
    if seen.scope.name != SCOPE or given.unhashed or any(key in seen.span.attributes for key in HANDLER):
        return given
    value: Any = arguments.parsed(given.value)
    is_decorated = isinstance(value, dict) and value.keys() == {arguments.POSITIONAL, arguments.KEYWORDS}
    return arguments.called(given) if is_decorated else given


def _call_id(seen: Seen) -> Found:
    """Return the id of the call, which stands as JSON."""
    value = arguments.parsed(seen.span.attributes.get(CALL_ID))
    return Found(value, f"attributes.{CALL_ID}") if isinstance(value, str) and value.strip() else NOTHING


CONVENTIONS = (Convention("langfuse", recognise, switch=SWITCH, marks=(KIND,)),)
