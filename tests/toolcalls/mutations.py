"""Ways to break a call that is right: each where it applies, with the code and path that must be found for it."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any, NamedTuple

from otel_gate.toolcalls.model import Call

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.toolcalls.bfcl import Example

Step = str | int
OF_ANOTHER_TYPE: dict[str, list[Any]] = {
    "string": [7, None, ["x"], {"x": 1}, True], "integer": ["seven", 1.5, True, None, [1]],
    "number": ["seven", True, None, [1]], "boolean": ["true", 1, None], "array": ["x", {"x": 1}, None, 3],
    "object": ["x", [1], None, 3],
}  # fmt: skip


class Broken(NamedTuple):
    """A broken call, and the code and path of the issue that it must have (other issues may follow from it)."""

    call: Call
    code: str
    path: str


def places(schema: Any, value: Any, at: tuple[Step, ...] = ()) -> Iterator[tuple[tuple[Step, ...], dict, Any]]:
    """Walk a value with its schema: path, schema, value."""
    if not isinstance(schema, dict):
        return
    yield at, schema, value
    if isinstance(value, dict):
        for name, inner in schema.get("properties", {}).items():
            if name in value:
                yield from places(inner, value[name], (*at, name))
    elif isinstance(value, list):
        for index, one in enumerate(value):
            yield from places(schema.get("items"), one, (*at, index))


def path(at: tuple[Step, ...]) -> str:
    """Write a JSON path."""
    steps = (
        f"[{step}]" if isinstance(step, int) else f".{step}" if step.isidentifier() else f"[{json.dumps(step)}]"
        for step in at
    )
    return "$" + "".join(steps)


def changed(call: Call, at: tuple[Step, ...], change: Callable[[Any, Any], None]) -> Call:
    """Return a copy of a call in which ``change(parent, key)`` was made at a place."""
    arguments = copy.deepcopy(call.arguments)
    parent: Any = arguments
    for step in at[:-1]:
        parent = parent[step]
    change(parent, at[-1])
    return Call(call.tool, arguments)


def _put(value: Any) -> Callable[[Any, Any], None]:
    return lambda parent, key: parent.__setitem__(key, value)


def _objects(example: Example) -> Iterator[tuple[tuple[Step, ...], dict, dict]]:
    for at, schema, value in places(example.tool.parameters, example.call.arguments):
        if isinstance(value, dict) and "properties" in schema:
            yield at, schema, value


def a_required_field_is_left_out(example: Example) -> Iterator[Broken]:
    """Leave out each required field, at any depth."""
    for at, schema, value in _objects(example):
        for name in schema.get("required", []):
            if name in value:
                call = changed(example.call, (*at, name), lambda parent, key: parent.pop(key))
                yield Broken(call, "missing_field", path((*at, name)))


def a_field_is_renamed(example: Example) -> Iterator[Broken]:
    """Give each field another name."""
    for at, _, value in _objects(example):
        for name in value:
            call = changed(example.call, (*at, name), lambda parent, key: parent.update({f"{key}_v2": parent.pop(key)}))
            yield Broken(call, "unknown_field", path((*at, f"{name}_v2")))


def a_field_is_invented(example: Example) -> Iterator[Broken]:
    """Add a field that the schema doesn't have."""
    for at, _, _ in _objects(example):
        yield Broken(changed(example.call, (*at, "zzz new"), _put(1)), "unknown_field", path((*at, "zzz new")))


def _typed(example: Example, kinds: tuple[str, ...], wrong: Callable[[Any], bool]) -> Iterator[Broken]:
    for at, schema, _ in places(example.tool.parameters, example.call.arguments):
        kind = schema.get("type")
        if at and kind in kinds:
            for other in filter(wrong, OF_ANOTHER_TYPE[kind]):
                yield Broken(changed(example.call, at, _put(other)), "type_mismatch", path(at))


def a_value_is_of_another_type(example: Example) -> Iterator[Broken]:
    """Put values of every other type in each place, nested ones and items of arrays too."""
    return _typed(
        example, tuple(OF_ANOTHER_TYPE), lambda other: other is not None and not isinstance(other, bool | float)
    )


def a_value_is_null(example: Example) -> Iterator[Broken]:
    """Put null in each place that has a type."""
    return _typed(example, tuple(OF_ANOTHER_TYPE), lambda other: other is None)


def a_bool_stands_for_a_number(example: Example) -> Iterator[Broken]:
    """Put true where a number is due."""
    return _typed(example, ("integer", "number"), lambda other: other is True)


def a_fraction_stands_for_an_integer(example: Example) -> Iterator[Broken]:
    """Put 1.5 where an integer is due."""
    return _typed(example, ("integer",), lambda other: isinstance(other, float))


def a_number_is_written_as_text(example: Example) -> Iterator[Broken]:
    """Put a number's or a bool's own text in its place."""
    for at, schema, value in places(example.tool.parameters, example.call.arguments):
        if at and schema.get("type") in ("integer", "number", "boolean"):
            yield Broken(changed(example.call, at, _put(json.dumps(value))), "type_mismatch", path(at))


def a_value_is_wrapped_in_an_array(example: Example) -> Iterator[Broken]:
    """Put a value into an array where none is due."""
    for at, schema, value in places(example.tool.parameters, example.call.arguments):
        if at and schema.get("type") in ("string", "integer", "number", "boolean", "object"):
            yield Broken(changed(example.call, at, _put([value])), "type_mismatch", path(at))


def a_value_is_none_of_its_enum(example: Example) -> Iterator[Broken]:
    """Put a value of the right type that its enum doesn't have."""
    for at, schema, value in places(example.tool.parameters, example.call.arguments):
        if at and "enum" in schema and isinstance(value, str):
            yield Broken(changed(example.call, at, _put(f"{value} or so")), "invalid_enum", path(at))


def the_tool_is_misspelt(example: Example) -> Iterator[Broken]:
    """Name a tool that is not visible."""
    yield Broken(Call(f"{example.call.tool}_v2", example.call.arguments), "unknown_tool", "$")


def no_tool_is_named(example: Example) -> Iterator[Broken]:
    """Name no tool."""
    yield Broken(Call("", example.call.arguments), "missing_tool_name", "$")


def the_json_is_cut(example: Example) -> Iterator[Broken]:
    """Cut the text of the arguments in three places."""
    text = json.dumps(example.call.arguments)
    for at in {1, len(text) // 2, len(text) - 1} - {0}:
        yield Broken(Call(example.call.tool, text[:at]), "malformed_json", "$")


def the_arguments_are_no_object(example: Example) -> Iterator[Broken]:
    """Send an array, or a text within the text, in place of an object."""
    for other in ([example.call.arguments], json.dumps(example.call.arguments)):
        yield Broken(Call(example.call.tool, json.dumps(other)), "type_mismatch", "$")


MUTATIONS = (
    a_required_field_is_left_out, a_field_is_renamed, a_field_is_invented, a_value_is_of_another_type, a_value_is_null,
    a_bool_stands_for_a_number, a_fraction_stands_for_an_integer, a_number_is_written_as_text,
    a_value_is_wrapped_in_an_array, a_value_is_none_of_its_enum, the_tool_is_misspelt, no_tool_is_named,
    the_json_is_cut, the_arguments_are_no_object,
)  # fmt: skip
