"""Tools of Python: pydantic models, plain callables, and the tool objects of agent libraries.

Nothing is imported for it: a pydantic model, or an object that carries its own schema, is known by what it has.
A callable is read from its signature, its type hints and its docstring (Google's, NumPy's or Sphinx's way).
"""

from __future__ import annotations

import inspect
from typing import Any, get_type_hints

from otel_gate.core.canonical import as_json
from otel_gate.errors import CatalogueError
from otel_gate.toolcalls.forms.docstring import parameter_texts, summary
from otel_gate.toolcalls.forms.hints import NotJson, schema_of
from otel_gate.toolcalls.forms.ordering import followed
from otel_gate.toolcalls.forms.schema import bounded, quoted, remade
from otel_gate.toolcalls.model import Tool

SCHEMAS = ("parameters_json_schema", "input_schema", "inputSchema", "args_schema")
DEFINITIONS = "$defs"
KNOWN = "a tool, a provider's object, a pydantic model or a callable"
Parameter = inspect.Parameter


def tool_of(thing: Any, which: str) -> Tool | dict[str, Any]:
    """Return the tool of a Python object, or the provider's object that it dumps itself as.

    Raises:
        CatalogueError: it is nothing that a tool can be made of.
    """
    if isinstance(thing, type) and hasattr(thing, "model_json_schema"):
        return _of_model(thing, thing.__name__, inspect.getdoc(thing) or "")
    carried = next((value for key in SCHEMAS if (value := getattr(thing, key, None)) is not None), None)
    if carried is not None and isinstance(name := getattr(thing, "name", None), str):
        return _of_carrier(carried, name, str(getattr(thing, "description", "") or ""))
    if hasattr(type(thing), "model_dump"):
        dumped: dict[str, Any] = thing.model_dump(mode="json", by_alias=True, exclude_none=True)
        return dumped
    if callable(thing):
        return _of_callable(thing)
    hint = "one argument a tool: catalogue_of(*tools)" if isinstance(thing, list | tuple) else ""
    raise CatalogueError(which, KNOWN, f"a {type(thing).__name__}", hint)


def _of_model(model: Any, name: str, description: str) -> Tool:
    schema = bounded(model.model_json_schema(), f"tool {quoted(name)}")
    return Tool(name, description, {key: value for key, value in schema.items() if key not in {"title", "description"}})


def _of_carrier(carried: Any, name: str, description: str) -> Tool:
    if hasattr(carried, "model_json_schema"):
        return _of_model(carried, name, description)
    if not isinstance(carried, dict):
        raise CatalogueError(which=f"tool {quoted(name)}", expected="a schema", got=f"a {type(carried).__name__}")
    return Tool(name, description, followed(bounded(carried, f"tool {quoted(name)}")))


def _of_callable(function: Any) -> Tool:
    name = getattr(function, "__name__", None) or type(function).__name__
    which = f"tool {quoted(name)}"
    try:
        signature = inspect.signature(function)
    except (ValueError, TypeError) as error:
        raise CatalogueError(which, "a callable with a signature", str(error), "a function around it") from error
    hints, text = _hints(function), inspect.getdoc(function) or ""
    told = parameter_texts(text)
    named = {key: one for key, one in signature.parameters.items() if one.kind not in _OPEN_KINDS}
    fields = {key: _field(one, hints, told.get(key, ""), which) for key, one in named.items()}
    needed = [key for key, one in named.items() if one.default is Parameter.empty]
    is_open = any(one.kind is Parameter.VAR_KEYWORD for one in signature.parameters.values())
    schema = {"type": "object", "properties": fields, "required": needed, "additionalProperties": is_open}
    return Tool(name, summary(text), _hoisted(bounded(schema, which)))


def _hoisted(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema with the definitions of the models in it at its top, where their references point."""
    found: dict[str, Any] = {}

    def lift(one: dict[str, Any]) -> dict[str, Any]:
        found.update(one.get(DEFINITIONS, {}))
        return {keyword: value for keyword, value in one.items() if keyword != DEFINITIONS}

    made: dict[str, Any] = remade(schema, lift)
    return {**made, DEFINITIONS: found} if found else made


def _hints(function: Any) -> dict[str, Any]:
    target = function
    if isinstance(function, type):
        target = vars(function).get("__init__", function)
    elif not inspect.isroutine(function):
        target = type(function).__call__
    try:
        return get_type_hints(inspect.unwrap(target), include_extras=True)
    except Exception:  # noqa: BLE001 - a hint is the caller's code, and may name what can't be found
        return {}


def _field(parameter: Parameter, hints: dict[str, Any], told: str, which: str) -> dict[str, Any]:
    hint = hints.get(parameter.name, parameter.annotation)
    try:
        schema = schema_of(Any if hint is Parameter.empty or isinstance(hint, str) else hint)
    except NotJson as error:
        where = f"{which}, parameter {quoted(parameter.name)}"
        raise CatalogueError(where, "a type that JSON has a word for", str(error), "a plainer hint") from error
    described = {"description": told} if told and "description" not in schema else {}
    return {**schema, **described, **_default(parameter.default)}


def _default(value: Any) -> dict[str, Any]:
    plain = value is None or isinstance(value, bool | int | float | str | list | dict | tuple)
    return {"default": as_json(value)} if plain else {}


_OPEN_KINDS = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
