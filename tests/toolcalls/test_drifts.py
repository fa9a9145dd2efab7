"""Drifts change what they are asked to, the same way from the same seed, and gold calls stay gold."""

from __future__ import annotations

from typing import Any

import pytest

from otel_gate.errors import CatalogueError
from otel_gate.toolcalls.catalogue import Catalogue
from otel_gate.toolcalls.drift import diff
from otel_gate.toolcalls.drifts import KINDS, Drift, applies, drift
from otel_gate.toolcalls.model import Call, Tool
from tests.toolcalls.interfaces import bfcl

TOOL = Tool(
    "create_deal",
    "Creates a deal.",
    {
        "type": "object",
        "properties": {
            "phone_number": {"type": "string"},
            "stage": {"type": "string", "enum": ["new", "won deal", "NEW"], "default": "new"},
            "items": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"unit_price": {"type": "number"}, "colourName": {"enum": ["red"]}},
                    "required": ["unit_price"],
                },
            },
        },
        "required": ["phone_number"],
    },
)
OTHER = Tool("ping", "Answers.")
CALL = Call(
    "create_deal", {"phone_number": "1", "stage": "won deal", "items": [{"unit_price": 2, "colourName": "red"}]}, "7"
)
CODES = {
    "stale_examples": {"description_changed"},
    "renamed_parameters": {"field_renamed"},
    "look_alikes": {"tool_added"},
    "camel_case": {"field_renamed"},
    "enum_aliases": {"enum_changed", "default_changed"},
    "reordered_fields": {"fields_reordered"},
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_drift_is_the_change_that_it_is_called(kind: str) -> None:
    """The difference that `diff` sees is of this kind only, in the target only, and the same again from its seed."""
    made = drift(kind, [TOOL, OTHER], 7, ["create_deal"])
    assert {one.code for one in diff(made.before, made.after)} == CODES[kind]
    assert made.changed == ("create_deal",)
    assert made.after["ping"] == OTHER
    assert drift(kind, [TOOL, OTHER], 7, ["create_deal"]) == made


def test_seeds_differ() -> None:
    """Another seed makes another drift, somewhere among ten."""
    for kind in ("renamed_parameters", "look_alikes", "reordered_fields"):
        assert len({drift(kind, [TOOL], seed).after.hash for seed in range(10)}) > 1


def test_new_names_and_orders_are_always_new() -> None:
    """A synonym that is another field's name is not taken, and two fields always change places."""
    pair = Tool("t", "", {"type": "object", "properties": {"city": {}, "town": {}}})
    snakes = Tool("t", "", {"type": "object", "properties": {"a_b": {}, "aB": {}, "cD": {}}})
    for seed in range(20):
        renamed = drift("renamed_parameters", [pair], seed).after["t"].parameters["properties"]
        assert len(renamed) == 2
        assert not renamed.keys() & {"city", "town"}
        assert list(drift("reordered_fields", [pair], seed).after["t"].parameters["properties"]) == ["town", "city"]
    assert list(drift("camel_case", [snakes], 0).after["t"].parameters["properties"]) == ["a_b", "aB", "c_d"]


def test_camel_case_and_back() -> None:
    """Snake case becomes camel case, camel case becomes snake case, at every depth; gold follows."""
    made = drift("camel_case", [TOOL], 0)
    schema = made.after["create_deal"].parameters
    assert list(schema["properties"]) == ["phoneNumber", "stage", "items"]
    assert list(schema["properties"]["items"]["items"]["properties"]) == ["unitPrice", "colour_name"]
    assert schema["required"] == ["phoneNumber"]
    assert made.call(CALL) == Call(
        "create_deal", {"phoneNumber": "1", "stage": "won deal", "items": [{"unitPrice": 2, "colour_name": "red"}]}, "7"
    )


def test_enum_aliases_are_one_to_one() -> None:
    """Each text has another spelling that no old text has; the default and gold follow."""
    made = drift("enum_aliases", [TOOL], 0)
    stage = made.after["create_deal"].parameters["properties"]["stage"]
    assert len(set(stage["enum"])) == 3
    assert not set(stage["enum"]) & {"new", "won deal", "NEW"}
    assert stage["default"] == stage["enum"][0]
    arguments: Any = made.call(CALL).arguments
    assert arguments["stage"] == "WON_DEAL"
    assert arguments["items"] == [{"unit_price": 2, "colourName": "RED"}]


def test_a_stale_example_shows_fields_that_are_not_there() -> None:
    """The example names the tool and none of its fields; the schema stays."""
    after = drift("stale_examples", [TOOL], 0).after["create_deal"]
    example = after.description.partition("Example: ")[2]
    assert '"create_deal"' in example
    assert not any(f'"{name}"' in example for name in TOOL.parameters["properties"])
    assert after.parameters == TOOL.parameters


def test_a_tool_that_stays_the_same_is_an_error() -> None:
    """No experiment compares an interface with itself."""
    for kind in ("camel_case", "enum_aliases", "reordered_fields", "renamed_parameters"):
        assert not applies(kind, OTHER)
        with pytest.raises(CatalogueError, match=f"drift {kind}: expected a tool that it changes, got 'ping'"):
            drift(kind, [OTHER], 0)
    with pytest.raises(CatalogueError, match="drift: expected one of"):
        drift("none", [OTHER], 0)
    with pytest.raises(CatalogueError, match="drift: expected a known tool, got 'x'"):
        drift("look_alikes", [OTHER], 0, ["x"])


def test_look_alikes_run_out() -> None:
    """A tool whose twins are all there already can have no other."""
    some = [TOOL]
    for seed in range(5):
        some = list(drift("look_alikes", some, seed, ["create_deal"]).after)
    with pytest.raises(CatalogueError, match="a tool that it changes"):
        drift("look_alikes", some, 9, ["create_deal"])


def _gold(schema: dict[str, Any]) -> dict[str, Any]:
    return {name: (one.get("enum") or ["v"])[0] for name, one in schema.get("properties", {}).items()}


def test_drifts_of_bfcl_are_right() -> None:
    """Over all examples each drift applies where it can, `diff` finds every rename, and gold has the new names."""
    made: dict[str, int] = dict.fromkeys(KINDS, 0)
    for _, tools in bfcl():
        target = tools[0]
        for kind in (kind for kind in KINDS if applies(kind, target)):
            one: Drift = drift(kind, tools, 3, [target.name])
            made[kind] += 1
            found = diff(one.before, one.after)
            assert {change.code for change in found} <= CODES[kind]
            renamed = sum(change.code == "field_renamed" for change in found)
            assert renamed == sum(map(len, one.fields.values()))
            call = one.call(Call(target.name, _gold(target.parameters)))
            schema = one.after[target.name].parameters
            assert set(call.arguments) == set(schema.get("properties", {}))
            assert all(
                call.arguments[name] in field["enum"]
                for name, field in schema.get("properties", {}).items()
                if "enum" in field
            )
    assert min(made.values()) > 200


def test_a_drift_needs_no_more_than_a_catalogue() -> None:
    """Without targets every tool drifts."""
    some = [TOOL, Tool("b", "", TOOL.parameters)]
    assert drift("camel_case", some, 0).changed == Catalogue(some).names
