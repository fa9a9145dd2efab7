"""The calls that LangGraph's ``tools`` node was given: instrumentations record a list of them, or the whole state.

The text of a state can be long, so it is read for the node of the usual name only.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from otel_gate.conventions import arguments
from otel_gate.conventions.meaning import Requested

if TYPE_CHECKING:
    from otel_gate.conventions.meaning import Seen

NODE, CALL, WRAPPERS = "tools", "tool_call", ("input", "inputs", "data", "kwargs")
_LISTED = re.compile(r'\s*(?:\{\s*"inputs?"\s*:\s*)?(?:\[\s*\{\s*"|\{\s*"__type"\s*:\s*"tool_call_with_context")')


def calls(seen: Seen, *keys: str) -> tuple[Requested, ...]:
    """Return the calls in the first of these attributes that lists any."""
    for key in keys:
        text = seen.span.attributes.get(key)
        if isinstance(text, str) and CALL in text and (_LISTED.match(text) or seen.span.name.endswith(NODE)):
            found = _calls(_inside(arguments.parsed(text)), f"attributes.{key}")
            if found:
                return found
    return ()


def _calls(value: Any, where: str) -> tuple[Requested, ...]:
    if isinstance(value, dict):
        value = [value[CALL]] if CALL in value else _of_last_message(value.get("messages"))
    listed = value if isinstance(value, list) else []
    return tuple(_requested(one, where) for one in listed if isinstance(one, dict) and isinstance(one.get("name"), str))


def _requested(call: dict[str, Any], where: str) -> Requested:
    call_id = call.get("id")
    return Requested(
        call["name"], arguments.of_value(call.get("args"), where), call_id if isinstance(call_id, str) else ""
    )


def _of_last_message(messages: Any) -> Any:
    last = messages[-1] if isinstance(messages, list) and messages else None
    message = _inside(last)
    return message.get("tool_calls") if isinstance(message, dict) else None


def _inside(value: Any) -> Any:
    """Return what an instrumentation puts around an input or a message."""
    for key in WRAPPERS:
        if isinstance(value, dict) and isinstance(value.get(key), dict | list):
            return value[key]
    return value
