"""Tools to draw: schemas with nested objects, lists, branches and references, in names of every script."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import strategies as st

from otel_gate.toolcalls.forms import tools_from_bfcl
from otel_gate.toolcalls.model import Tool

if TYPE_CHECKING:
    from collections.abc import Iterator

BFCL = Path(__file__).parents[2].parent / "shared" / "bfcl"
ODD = [
    "телефон",
    "Телефон",
    "telefon",
    "telefon_2",
    "año",
    "ano",
    "a.b",
    "a b",
    "a_b",
    "شهر",
    "名前",
    "",
    "🙂",
    "x" * 70,
    "x" * 64,
]
PLAIN: dict[str, list[Any]] = {"string": ["", "v"], "integer": [1, 7], "number": [1, 0.5], "boolean": [True, False]}
names = st.sampled_from(ODD) | st.text(st.characters(exclude_categories=["Cs"]), max_size=80)
tool_names = names.filter(bool)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
leaves = st.sampled_from(
    [
        {"type": "string"},
        {"type": "integer", "minimum": 1},
        {"type": "number"},
        {"type": "boolean"},
        {"type": ["string", "null"]},
        {"type": "string", "enum": ["a", "b"]},
        {},
    ]
)


def objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Draw the schema of an object."""
    fields = st.dictionaries(names, inner, max_size=5)
    return fields.flatmap(
        lambda found: st.fixed_dictionaries(
            {
                "type": st.just("object"),
                "properties": st.just(found),
                "required": st.lists(st.sampled_from(sorted(found)), unique=True),
            }
            if found
            else {"type": st.just("object"), "properties": st.just({})},
            optional={"additionalProperties": st.just(False)},
        )
    )


schemas = st.recursive(
    leaves, lambda inner: objects(inner) | inner.map(lambda one: {"type": "array", "items": one}), max_leaves=12
)
tools = st.builds(Tool, tool_names, texts, objects(schemas))
catalogues = st.lists(tools, max_size=6, unique_by=lambda tool: tool.name)


def values(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Draw a value that fits a drawn schema and holds declared fields only."""
    if "enum" in schema:
        return st.sampled_from(list(schema["enum"]))
    kind = schema.get("type", "integer")
    if kind == "object":
        fields = {name: values(one) for name, one in schema["properties"].items()}
        needed = {name: one for name, one in fields.items() if name in schema.get("required", ())}
        return st.fixed_dictionaries(needed, optional={name: one for name, one in fields.items() if name not in needed})
    if kind == "array":
        return st.lists(values(schema["items"]), max_size=3)
    return st.sampled_from(PLAIN.get(str(kind), [None, "n"]))


def bfcl() -> Iterator[tuple[dict[str, Any], list[Tool]]]:
    """Give every example of the shared data with its tools; the test is skipped where there is none."""
    if not BFCL.is_dir():
        pytest.skip("the shared BFCL data is not here")
    for file in sorted(BFCL.glob("BFCL_*.json")):
        for line in file.read_text(encoding="utf-8").splitlines():
            example = json.loads(line)
            yield example, tools_from_bfcl(example["function"])
