"""What changed between two catalogues is named, and whether a call that was right may now be wrong."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from otel_gate.toolcalls.catalogue import Catalogue
from otel_gate.toolcalls.drift import Change, describe, diff, renames
from otel_gate.toolcalls.model import Tool
from tests.toolcalls.interfaces import catalogues

PHONE = {"type": "string", "description": "The customer's phone"}
FIELDS: dict[str, Any] = {
    "phone": PHONE,
    "kind": {"type": "string", "enum": ["a", "b"]},
    "count": {"type": "integer", "minimum": 1},
    "address": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    "tags": {"type": "array", "items": {"type": "string"}},
}
BASE = {"type": "object", "properties": FIELDS, "required": ["phone"]}


def changes(new: dict[str, Any], old: dict[str, Any] = BASE) -> list[tuple[str, str, bool]]:
    found = diff(Catalogue([Tool("t", "d", old)]), Catalogue([Tool("t", "d", new)]))
    return [(one.code, one.path, one.breaking) for one in found]


def field(name: str, **keywords: Any) -> dict[str, Any]:
    """Return the base with keywords of one field changed; None takes one away."""
    made = {key: value for key, value in {**FIELDS[name], **keywords}.items() if value is not None}
    return {**BASE, "properties": {**FIELDS, name: made}}


def without(name: str, **more: Any) -> dict[str, Any]:
    return {**BASE, "properties": {**{key: one for key, one in FIELDS.items() if key != name}, **more}, "required": []}


LOOSE = {**BASE, "required": []}
TABLE: list[tuple[str, dict[str, Any], list[tuple[str, str, bool]]]] = [
    ("the same", BASE, []),
    ("another description", field("phone", description="Telephone"), [("description_changed", "$.phone", False)]),
    ("a default", field("count", default=1), [("default_changed", "$.count", False)]),
    ("a wider type", field("count", type="number"), [("type_changed", "$.count", False)]),
    ("null too", field("count", type=["integer", "null"]), [("type_changed", "$.count", False)]),
    ("another type", field("phone", type="integer"), [("type_changed", "$.phone", True)]),
    ("no type", field("phone", type=None), [("type_changed", "$.phone", False)]),
    ("a value less", field("kind", enum=["a"]), [("enum_changed", "$.kind", True)]),
    ("a value more", field("kind", enum=["a", "b", "c"]), [("enum_changed", "$.kind", False)]),
    ("a value for another", field("kind", enum=["a", "c"]), [("enum_changed", "$.kind", True)]),
    ("no enum", field("kind", enum=None), [("enum_changed", "$.kind", False)]),
    ("an enum", field("phone", enum=["1"]), [("enum_changed", "$.phone", True)]),
    ("a tighter bound", field("count", minimum=2), [("constraint_changed", "$.count", True)]),
    ("a looser bound", field("count", minimum=0), [("constraint_changed", "$.count", False)]),
    ("no bound", field("count", minimum=None), [("constraint_changed", "$.count", False)]),
    ("an upper bound", field("count", maximum=5), [("constraint_changed", "$.count", True)]),
    ("a pattern", field("phone", pattern="^1"), [("schema_changed", "$.phone", True)]),
    ("a title", field("phone", title="Phone"), [("annotation_changed", "$.phone", False)]),
    ("an item's type", field("tags", items={"type": "integer"}), [("type_changed", "$.tags[]", True)]),
    ("no items", field("tags", items=None), [("schema_changed", "$.tags", False)]),
    ("required", {**BASE, "required": ["phone", "count"]}, [("became_required", "$.count", True)]),
    ("optional", LOOSE, [("became_optional", "$.phone", False)]),
    ("closed", {**BASE, "additionalProperties": False}, [("constraint_changed", "$", True)]),
    ("a condition", {**BASE, "anyOf": [{"required": ["kind"]}]}, [("schema_changed", "$", True)]),
    (
        "required, undeclared",
        {**BASE, "required": ["phone", "x"]},
        [("became_required", "$.x", True)],
    ),
    (
        "a nested rename",
        field("address", properties={"town": {"type": "string"}}, required=["town"]),
        [("field_renamed", "$.address.city", True)],
    ),
    ("reordered", {**BASE, "properties": dict(reversed(FIELDS.items()))}, [("fields_reordered", "$", False)]),
    ("an unreachable definition", {**BASE, "$defs": {"A": {}}}, [("annotation_changed", "$", False)]),
]


@pytest.mark.parametrize(("case", "new", "found"), TABLE, ids=[row[0] for row in TABLE])
def test_a_change_is_named(case: str, new: dict[str, Any], found: list[tuple[str, str, bool]]) -> None:
    """One change of a schema is one finding, at its place, breaking or not."""
    assert changes(new) == found, case


NAMES: list[tuple[str, dict[str, Any], list[tuple[str, str, bool]]]] = [
    ("a new optional field", {**BASE, "properties": {**FIELDS, "x": {}}}, [("field_added", "$.x", False)]),
    (
        "a new required field",
        {**BASE, "properties": {**FIELDS, "x": {}}, "required": ["phone", "x"]},
        [("field_added", "$.x", True)],
    ),
    ("a field less", without("kind"), [("became_optional", "$.phone", False), ("field_removed", "$.kind", True)]),
]


@pytest.mark.parametrize(("case", "new", "found"), NAMES, ids=[row[0] for row in NAMES])
def test_fields_come_and_go(case: str, new: dict[str, Any], found: list[tuple[str, str, bool]]) -> None:
    """A new field is breaking when it is required; one that is gone always is."""
    assert changes(new) == found, case


RENAMED = {
    "another case": ("phone_number", "phoneNumber", {"type": "string"}, {"type": "string"}),
    "the same description": ("phone_number", "телефон", PHONE, PHONE),
    "a longer name": ("phone", "telephone", {"type": "string"}, {"type": "string"}),
    "type and name": ("phone", "phone_number", PHONE, {**PHONE, "type": "integer"}),
}


@pytest.mark.parametrize("case", RENAMED)
def test_a_rename_is_recognised(case: str) -> None:
    """A field that goes while one comes that is like it in name, description or place has a new name."""
    old_name, new_name, old, new = RENAMED[case]
    other = {"other": {"type": "boolean"}}
    before = Catalogue(
        [Tool("t", "d", {"type": "object", "properties": {old_name: old, **other}, "required": [old_name]})]
    )
    after = Catalogue(
        [Tool("t", "d", {"type": "object", "properties": {new_name: new, **other}, "required": [new_name]})]
    )
    found = diff(before, after)
    assert found[0] == Change("field_renamed", "t", f"$.{old_name}", f"$.{old_name}", f"$.{new_name}", breaking=True)
    assert describe(found[0]) == f"field_renamed $.{old_name} -> $.{new_name}"
    assert renames(found) == {"t": {f"$.{old_name}": f"$.{new_name}"}}
    assert [one.code for one in found[1:]] in ([], ["type_changed"])


def test_a_rename_is_recognised_elsewhere_too() -> None:
    """The same words, or the same description, are enough when place and need have changed."""
    old = {"a_b": {"description": "one"}, "x": {"description": "The phone"}, "z": {"type": "array"}}
    new = {"телефон": {"description": "The phone"}, "z": {"type": "array"}, "aB": {"description": "two"}}
    found = changes({"properties": new, "required": ["aB", "телефон"]}, {"properties": old})
    assert [(code, path) for code, path, _ in found if code.startswith("field_")] == [
        ("field_renamed", "$.a_b"), ("field_renamed", "$.x"),
    ]  # fmt: skip


def test_two_fields_don_t_become_one() -> None:
    """Of two that are like the new field, the closer one has its name now, the other is gone."""
    old: dict[str, Any] = {"phone_number_x": {}, "phone_num": {}}
    new: dict[str, Any] = {"phone_number": {}}
    found = changes({"properties": new}, {"properties": old})
    assert [(code, path) for code, path, _ in found] == [
        ("field_renamed", "$.phone_number_x"), ("field_removed", "$.phone_num"),
    ]  # fmt: skip


def test_an_opened_object_breaks_nothing() -> None:
    """Taking away the ban on other fields refuses no call."""
    assert changes(BASE, {**BASE, "additionalProperties": False}) == [("constraint_changed", "$", False)]


def test_values_are_compared_as_json_does() -> None:
    """True is no 1, in a default as in an enum."""
    found = changes(field("count", default=True), field("count", default=1))
    assert found == [("default_changed", "$.count", False)]
    assert changes(field("count", enum=[True]), field("count", enum=[1])) == [("enum_changed", "$.count", True)]


def test_unlike_tools_without_descriptions_are_no_rename() -> None:
    """That one tool went and one came says nothing alone."""
    found = diff(Catalogue([Tool("ping")]), Catalogue([Tool("weather")]))
    assert [one.code for one in found] == ["tool_removed", "tool_added"]


def test_fields_that_share_a_schema_each_change() -> None:
    """One Python object that stands for two fields is two findings."""
    one, other = {"type": "string"}, {"type": "integer"}
    found = changes({"properties": {"a": other, "b": other}}, {"properties": {"a": one, "b": one}})
    assert [path for _, path, _ in found] == ["$.a", "$.b"]


def test_another_field_is_no_rename() -> None:
    """A field that goes while quite another comes is removed, and the other added."""
    found = changes(without("phone", verbose={"type": "boolean", "description": "Whether to say more"}))
    assert found == [("field_removed", "$.phone", True), ("field_added", "$.verbose", False)]


def test_tools_come_go_and_are_renamed() -> None:
    """Removed tools first, then the others in their order; a look-alike among the new ones is named."""
    search = Tool("search_web", "Searches the web for pages about a subject.", BASE)
    old = Catalogue(
        [search, Tool("create_deal", "Creates a deal in the CRM.", LOOSE), Tool("ping", "Answers at once.")]
    )
    twin = Tool("search_web_v2", search.description, BASE)
    new = Catalogue(
        [search, Tool("createDeal", "Creates a deal in the CRM.", LOOSE), twin, Tool("weather", "Tells rain.")]
    )
    found = [(one.code, one.tool, one.before, one.after, one.breaking) for one in diff(old, new)]
    assert found == [
        ("tool_removed", "ping", "ping", "", True),
        ("tool_renamed", "create_deal", "create_deal", "createDeal", True),
        ("tool_added", "search_web_v2", "", "looks like search_web", False),
        ("tool_added", "weather", "", "", False),
    ]


def test_another_order_of_tools_is_a_change() -> None:
    """A model sees the order; no call breaks by it."""
    one, other = Tool("a"), Tool("b")
    assert diff(Catalogue([one, other]), Catalogue([other, one])) == [
        Change("tools_reordered", "", "$", "", "", breaking=False)
    ]


@settings(max_examples=60)
@given(catalogues, catalogues)
def test_no_change_means_the_same_hash(one: list[Tool], other: list[Tool]) -> None:
    """Two catalogues have no change exactly when their hashes are equal; with itself a catalogue has none."""
    old, new = Catalogue(one), Catalogue(other)
    assert diff(old, old) == []
    assert (diff(old, new) == []) == (old.hash == new.hash)
    assert diff(Catalogue([*one]), Catalogue([*one[::-1]])) == [] or len(one) > 1


LOOPS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"properties": {"a": {"$ref": "#"}}}, {"properties": {"a": {"$ref": "#"}, "b": {}}}),
    ({"properties": {"a": {"$ref": "#/properties/a"}}}, {"properties": {"a": {"$ref": "#/x"}}}),
    (
        {"properties": {name: {"$ref": "#"} for name in "abcdefgh"}},
        {"properties": {name: {"$ref": "#"} for name in "abcdefgh"}, "title": "x"},
    ),
    ({"properties": {"a": True}}, {"properties": {"a": False}}),
    ({"properties": {f"f{n}": {} for n in range(2_000)}}, {"properties": {f"g{n}": {} for n in range(2_000)}}),
]


@pytest.mark.timeout(30)
@pytest.mark.parametrize(("old", "new"), LOOPS)
def test_hostile_schemas_are_compared_soon(old: dict[str, Any], new: dict[str, Any]) -> None:
    """References in circles, and two thousand fields under new names, come to an end."""
    assert changes(new, old)
