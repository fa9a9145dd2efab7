"""One call as an object, in the words that providers have for its tool, its arguments and its id."""

from __future__ import annotations

import dataclasses
from typing import Any

from otel_gate.toolcalls.arguments import parsed
from otel_gate.toolcalls.model import Call

NAMES = ("name", "tool", "tool_name", "function_name", "recipient_name")
ARGUMENTS = ("arguments", "args", "parameters", "input", "tool_input")
IDS = ("call_id", "tool_call_id", "tool_use_id", "id")
ASIDES = frozenset({
    *IDS, "caller", "error", "index", "kind", "namespace", "part_kind", "status", "thoughtSignature",
    "thought_signature", "type",
})  # fmt: skip
"""What may stand beside a tool's name and its arguments in a call; any other field says that it is no call."""
WRAPPERS = ("function", "custom", "tool_call", "function_call", "functionCall")


def named(value: Any) -> Call:
    """Return the call of an object that is known to be one; what it lacks is empty."""
    value = mapping(value)
    if not isinstance(value, dict):
        return Call("", value)
    inner = value
    for key in WRAPPERS:
        if isinstance(mapping(value.get(key)), dict):
            inner = mapping(value[key])
            break
    name = first(inner, *NAMES)
    if name is None and isinstance(value.get("function"), str):
        name = value["function"]
    number = first(value, *IDS)
    return Call(
        name if isinstance(name, str) else "", read_arguments(first(inner, *ARGUMENTS)),
        number if isinstance(number, str) else "",
    )  # fmt: skip


def is_named(value: Any) -> bool:
    """Tell whether an object is a call: a tool's name and arguments, and nothing beside them that a call has not."""
    if not isinstance(value, dict):
        return False
    for key in WRAPPERS:
        if isinstance(value.get(key), dict):
            return value.keys() <= ASIDES | {key} and any(name in value[key] for name in NAMES)
    names = [key for key in (*NAMES, "function") if isinstance(value.get(key), str)]
    given = [key for key in ARGUMENTS if key in value]
    fitting = given and isinstance(value[given[0]], dict | str | None)
    return len(names) == 1 and len(given) == 1 and bool(fitting) and value.keys() <= ASIDES | {names[0], given[0]}


def bare(value: dict[str, Any], tool: str) -> Call:
    """Return the call of arguments without a tool's name, which are ``tool``'s; a lone name is a call without any."""
    if not tool and value.keys() == {"name"} and isinstance(value["name"], str):
        return Call(value["name"])
    return Call(tool, value)


def read_arguments(arguments: Any) -> Any:
    """Return arguments as an object when they are the text of one; any other text stays as it is."""
    if not isinstance(arguments, str):
        return mapping(arguments)
    value = parsed(arguments)
    return value if isinstance(value, dict) else arguments


def mapping(value: Any) -> Any:
    """Return the plain form of a client's object (``model_dump``, a dataclass, ``to_dict``); all else as it is."""
    if value is None or isinstance(value, dict | list | str | int | float):
        return value
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", warnings=False)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    if isinstance(value, tuple):
        return list(value)
    return value.to_dict() if hasattr(value, "to_dict") else value


def first(value: dict[str, Any], *names: str) -> Any:
    """Return what the first of these names has that is there and not null."""
    return next((value[name] for name in names if value.get(name) is not None), None)
