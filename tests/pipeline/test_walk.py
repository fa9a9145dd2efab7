"""A user's function asked about a value and everything inside it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_gate.pipeline.walk import Walk

SECRET, GONE = "hunter2", "***"
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4), max_leaves=20,
)  # fmt: skip


def raised(error: BaseException) -> None:
    """Take no fault of redact."""
    raise error


def by_name(key: str, value: Any) -> Any:
    return GONE if key == "password" else value


def by_text(_key: str, value: Any) -> Any:
    return value.replace(SECRET, GONE) if isinstance(value, str) else value


def walked(redact: Any, key: str, value: Any) -> Any:
    return Walk(redact, raised).attribute(key, value)


@pytest.mark.parametrize(
    ("value", "left"),
    [
        ({"password": SECRET, "n": 1}, {"password": GONE, "n": 1}),
        ([{"password": [SECRET]}, 5], [{"password": GONE}, 5]),
        ('{"password": "x"}', '{"password": "***"}'),
        (' {"kwargs": {"a": 1.50, "password": {"deep": "x"}}}', '{"kwargs": {"a": 1.5, "password": "***"}}'),
        ('[{"arguments": "{\\"password\\": 5}"}]', '[{"arguments": "{\\"password\\": \\"***\\"}"}]'),
        ('"{\\"password\\": 5}"', '"{\\"password\\": \\"***\\"}"'),
        ('{"password": "a", "password": "b"}', '{"password": "***"}'),
    ],
)
def test_a_member_is_replaced_by_its_name_wherever_it_is(value: Any, left: Any) -> None:
    """In objects and arrays, in JSON texts, and in JSON texts inside them."""
    assert walked(by_name, "input.value", value) == left


@pytest.mark.parametrize(
    "value",
    [SECRET, f"a {SECRET} b", [SECRET], {"a": {"b": [SECRET, 1]}}, json.dumps({"a": SECRET}), '{"a": "\\u0068unter2"}',
     '["\\u0068unter2"]', '"\\u0068unter2"', "{'a': 'hunter2'}", '{"a": "hunter2', '{"a": 1, "a": "hunter2"}'],
)  # fmt: skip
def test_a_text_is_found_however_it_is_written(value: Any) -> None:
    """Escapes of JSON are read before the function is asked; what is no JSON is asked about as it stands."""
    left = walked(by_text, "input.value", value)
    assert left != value
    assert GONE in json.dumps(left)


@given(JSON, st.booleans())
def test_what_nothing_changes_comes_back_as_it_is(value: Any, as_text: bool) -> None:  # noqa: FBT001
    """A function that changes nothing changes no byte, of a structure or of a JSON text with keys once each."""
    value = json.dumps(value) if as_text else value
    assert Walk(lambda _, one: one, raised).attribute("input.value", value) is value


@given(JSON)
def test_every_text_is_asked_about(value: Any) -> None:
    """Whatever the nesting, no text comes through a function that replaces every text."""

    def texts(one: Any) -> list[str]:
        if isinstance(one, dict):
            return [text for inner in one.values() for text in texts(inner)]
        if isinstance(one, list):
            return [text for inner in one for text in texts(inner)]
        return [one] * isinstance(one, str)

    left = walked(lambda _, one: GONE if isinstance(one, str) else one, "input.value", value)
    assert set(texts(left)) <= {GONE}
    assert len(texts(left)) == len(texts(value))


def test_values_have_the_names_that_lead_to_them() -> None:
    """The attribute's key, the names of members, and of a value in an array the array's."""
    asked = []

    def redact(key: str, value: Any) -> Any:
        asked.append((key, value))
        return value

    walked(redact, "input.value", '{"a": [1, {"b": null}], "c": true}')
    values = [("a", [1, {"b": None}]), ("a", 1), ("b", None), ("c", True)]
    assert [one for one in asked[1:] if one[0]] == values
    assert [one for one in asked if not one[0]] == [("", "a"), ("", "b"), ("", "c")]
    assert asked[0][0] == "input.value"


def test_a_value_that_the_function_changes_in_place_has_changed() -> None:
    """It gets a copy: what it does to it is seen."""

    def redact(_key: str, value: Any) -> Any:
        if isinstance(value, dict):
            value.pop("password", None)
        return value

    assert walked(redact, "input.value", {"a": 1, "password": SECRET}) == {"a": 1}
    assert walked(redact, "input.value", '{"x": {"password": "s"}}') == '{"x": {}}'


@pytest.mark.parametrize(
    ("given_back", "left"),
    [(("a", 1), ["a", 1]), (b"\0", {"$bytes": "AA=="}), (float("inf"), {"$double": "Infinity"}), (None, None),
     ({"$x": 1}, {"$object": {"$x": 1}}), ("\ud800", "\ufffd"), (2**70, str(2**70))],
)  # fmt: skip
def test_what_it_returns_is_brought_into_the_form_of_a_record(given_back: Any, left: Any) -> None:
    """Tuples, bytes and all that JSON has no value for are written as they are in any attribute."""
    assert walked(lambda *_: given_back, "input.value", "text") == left


def test_bytes_are_given_as_bytes() -> None:
    """The function sees what the attribute was, and not how a record writes it."""
    seen = []

    def redact(_key: str, value: Any) -> Any:
        seen.append(value)
        return value

    walked(redact, "input.value", [{"$bytes": "AAE="}, {"$double": "NaN"}])
    assert seen[0][0] == seen[1] == b"\0\1"
    assert seen[2] != seen[2]


def test_what_it_raises_on_is_replaced() -> None:
    """The value is gone, at the level at which the function raised, and the fault is told once for each."""
    faults: list[BaseException] = []

    def redact(_key: str, value: Any) -> Any:
        if value == SECRET:
            raise ValueError(SECRET)
        if value == "exit":
            raise SystemExit
        return value

    left = Walk(redact, faults.append).attribute("input.value", {"a": SECRET, "b": "exit", "c": 1})
    assert left == {"a": "[withheld: redact met ValueError]", "b": "[withheld: redact met SystemExit]", "c": 1}
    assert [type(fault) for fault in faults] == [ValueError, SystemExit]


def test_what_the_function_puts_in_the_place_of_another_thing_is_not_asked_about() -> None:
    """A function that answers with an object of its own is not asked about that again, without end."""
    assert walked(lambda *_: {"gone": True}, "input.value", "text") == {"gone": True}
    assert walked(lambda *_: [GONE], "input.value", {"a": 1}) == [GONE]


def test_a_function_that_only_ever_adds_comes_to_an_end() -> None:
    """What grows at every level is replaced, as what nests too deep."""
    faults: list[BaseException] = []
    left = Walk(lambda _, one: {"of": one}, faults.append).attribute("input.value", {"a": {}})
    assert left == "[withheld: redact met RecursionError]"


@pytest.mark.parametrize("value", ["[" * 100_000, '{"a":' * 100_000, "[" * 900 + "]" * 900])
def test_what_nests_too_deep_is_replaced_or_as_it_was_read(value: str) -> None:
    """Nothing goes on of which a part was not looked at."""
    faults: list[BaseException] = []
    left = Walk(lambda _, one: one, faults.append).attribute("input.value", value)
    assert left == "[withheld: redact met RecursionError]"
    assert [type(fault) for fault in faults] == [RecursionError]


@pytest.mark.parametrize(
    ("value", "left"),
    [
        ({SECRET: 1}, {GONE: 1}),
        ([{"a": {SECRET: {SECRET: 2}}}], [{"a": {GONE: {GONE: 2}}}]),
        ('{"hunter2": 1}', '{"***": 1}'),
        ('{"a": "{\\"x hunter2\\": [1]}"}', '{"a": "{\\"x ***\\": [1]}"}'),
        ({SECRET: 1, GONE: 2}, {GONE: 1, f"{GONE} 1": 2}),
    ],
)
def test_a_name_is_asked_about_as_a_text(value: Any, left: Any) -> None:
    """What stands as the key of a member is replaced at any depth, and no member is lost to another of its name."""
    assert walked(by_text, "input.value", value) == left


def test_what_is_no_text_is_no_name() -> None:
    """A function that gives something else for a name has withheld it."""
    assert walked(lambda key, one: one if key or not isinstance(one, str) else None, "x", {"a": {"b": 1}}) == {
        "[withheld: a name]": {"[withheld: a name]": 1}
    }
