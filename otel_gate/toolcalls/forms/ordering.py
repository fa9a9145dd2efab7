"""The order of a tool's fields, kept where keys have no order.

A model sees fields in an order, and the issues of a call follow it; canonical JSON sorts keys. So an order that is not
the sorted one stands beside the fields as ``propertyOrdering`` (Gemini's word for it), and goes back into them on
reading. Thus the hash of a catalogue changes with the order, and stored bytes give back what the model saw.
"""

from __future__ import annotations

from typing import Any

from otel_gate.toolcalls.forms.schema import remade

ORDERING = "propertyOrdering"


def spelled_out(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema that says the order of its fields wherever it is not the sorted one."""
    made: dict[str, Any] = remade(schema, _said)
    return made


def followed(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema whose fields stand in the order that it says; one that names no fields is left as it is."""
    made: dict[str, Any] = remade(schema, _obeyed)
    return made


def _said(schema: dict[str, Any]) -> dict[str, Any]:
    fields = schema.get("properties")
    rest = {keyword: value for keyword, value in schema.items() if keyword != ORDERING}
    if not isinstance(fields, dict) or list(fields) == _sorted(fields):
        return rest
    return {**rest, ORDERING: list(fields)}


def _sorted(fields: dict[str, Any]) -> list[str]:
    return sorted(fields, key=lambda name: name.encode("utf-16-be", "surrogatepass"))


def _obeyed(schema: dict[str, Any]) -> dict[str, Any]:
    fields, order = schema.get("properties"), schema.get(ORDERING)
    if not (isinstance(fields, dict) and isinstance(order, list)):
        return schema
    rest = {keyword: value for keyword, value in schema.items() if keyword != ORDERING}
    first = [name for name in order if isinstance(name, str) and name in fields]
    rest["properties"] = {name: fields[name] for name in dict.fromkeys([*first, *fields])}
    return rest
