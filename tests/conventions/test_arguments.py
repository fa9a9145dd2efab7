"""Arguments as emitters write them: what there is to hash, and why there is nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_gate.conventions import arguments, openinference
from otel_gate.conventions.arguments import called, is_cut, of_value, parsed, read, required, unwrapped
from otel_gate.conventions.meaning import Arguments
from otel_gate.core.canonical import argument_hash, canonical_bytes
from tests.conventions.spans import TEXT, normal, seen, span

KEY = "input.value"
WHERE = f"attributes.{KEY}"
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4)
ANY = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)  # fmt: skip
HARD = st.text(st.sampled_from('{}[]"\\ab,: '), max_size=8)
JSON = st.dictionaries(HARD, HARD | st.integers() | st.lists(HARD, max_size=2), max_size=3)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (TEXT, None), ("A-1", None), ("5", None), ("{not json}", None), ("[draft] hello", None), ({}, None), ([], None),
        (0, None), (False, None), ("{}", None), ('"A-1"', None), ("{} and more", None),
        (None, "absent"), ("", "absent"), (" \n", "absent"),
        ("__REDACTED__", "placeholder"), ("<not specified>", "placeholder"), ("<not serializable>", "placeholder"),
        ("N/A", "placeholder"), ("unknown", "placeholder"), ("null", "placeholder"), (" null\n", "placeholder"),
        ('"__REDACTED__"', "placeholder"),
        ("[Scrubbed due to 'session']", "scrubbed"),
        ('{"order_id": "A-1', "cut"), ('[{"a": 1}', "cut"), ("{", "cut"), ('{"a": "}', "cut"), ('{"a": "}\\', "cut"),
        ('{"a": "x"...', "cut"),
    ],
)  # fmt: skip
def test_a_value_is_arguments_or_says_why_not(value: Any, reason: Any) -> None:
    """What is absent, stands for something else, was scrubbed or is cut off is nothing to hash."""
    found = of_value(value, WHERE)
    assert found == Arguments(None if reason else value, WHERE, reason)


@given(JSON, st.integers(1, 60))
def test_an_object_that_is_cut_anywhere_is_known_to_be(value: dict[str, Any], length: int) -> None:
    """No proper beginning of an object's text passes for arguments."""
    text = json.dumps(value, ensure_ascii=False)
    assert not is_cut(text)
    assert is_cut(text[: min(length, len(text) - 1)])


@given(ANY)
def test_nothing_that_a_trace_holds_makes_it_raise(value: Any) -> None:
    """Whatever stands where arguments are expected, there is an answer, and it can be hashed."""
    found = of_value(value, WHERE, seen({KEY: value, "logfire.scrubbed": value}))
    for one in (found, unwrapped(Arguments(value, WHERE), "kwargs"), called(Arguments(value, WHERE), "more")):
        assert isinstance(canonical_bytes(one.value), bytes)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, '"' * 100_001, "{" + '"\\' * 100_000, "9" * 5_000])
def test_hostile_texts_are_answered(text: str) -> None:
    """Deep nesting, long numbers and rows of quotes cost no time and no traceback."""
    assert parsed(text) == text
    assert of_value(text, WHERE).unhashed == ("cut" if text[0] in "[{" else None)


def test_the_first_attribute_that_is_there_is_read() -> None:
    """A second copy is not looked at, also when the first was withheld."""
    shown = seen({"b": "__REDACTED__", "c": TEXT})
    assert required(shown, "a", "b", "c") == Arguments(None, "attributes.b", "placeholder")
    assert required(shown, "x", "y") == Arguments(None, "attributes.x", "absent")
    assert read(shown, "x", "y") is None


def test_a_structure_is_as_it_was_given() -> None:
    """The model's own wrapper around a lone key with a dollar sign is no part of the arguments."""
    given_there = of_value({"a": [{"$object": {"$ref": "#/x"}}]}, WHERE).value
    assert given_there == {"a": [{"$ref": "#/x"}]}
    assert canonical_bytes(given_there) == canonical_bytes('{"a":[{"$ref":"#/x"}]}')
    assert of_value({"$object": {"$object": {"$x": 1}}}, WHERE).value == {"$object": {"$x": 1}}


@pytest.mark.parametrize(
    ("value", "found", "where"),
    [
        ('{"kwargs": {"a": 1}}', {"a": 1}, f"{WHERE}.kwargs"),
        ('{"args": [], "kwargs": {"a": 1}}', {"a": 1}, f"{WHERE}.kwargs"),
        ('{"args": null, "kwargs": {}}', {}, f"{WHERE}.kwargs"),
        ({"kwargs": {"a": 1}}, {"a": 1}, f"{WHERE}.kwargs"),
        ('{"args": [1], "kwargs": {"a": 1}}', {"args": [1], "kwargs": {"a": 1}}, WHERE),
        ('{"args": [1]}', {"args": [1], "kwargs": {}}, WHERE),
        ('{"args": [1], "kwargs": {}, "beside": true}', {"args": [1], "kwargs": {}}, WHERE),
        ("{}", "{}", WHERE),
        ('{"kwargs": {"a": 1}, "other": 2}', '{"kwargs": {"a": 1}, "other": 2}', WHERE),
        ('{"kwargs": [1]}', '{"kwargs": [1]}', WHERE),
        ('{"args": "x", "kwargs": {}}', '{"args": "x", "kwargs": {}}', WHERE),
        ("A-1", "A-1", WHERE),
        (5, 5, WHERE),
    ],
)
def test_a_wrapper_of_keywords_is_taken_off(value: Any, found: Any, where: str) -> None:
    """Keywords alone are the arguments; positional ones stay beside them; what is no such wrapper stays whole."""
    assert called(Arguments(value, WHERE), "beside") == Arguments(found, where)


def test_what_cannot_be_unwrapped_is_said_of_the_attribute() -> None:
    """A path that isn't there is absent, and what stands there may be withheld itself."""
    assert unwrapped(Arguments(TEXT, WHERE), "order_id") == Arguments("A-1", f"{WHERE}.order_id")
    assert unwrapped(Arguments(TEXT, WHERE), "inputs", "x") == Arguments(None, WHERE, "absent")
    assert unwrapped(Arguments('{"inputs": "__REDACTED__"}', WHERE), "inputs") == Arguments(None, WHERE, "placeholder")
    assert unwrapped(Arguments(None, WHERE, "cut"), "inputs") == Arguments(None, WHERE, "cut")


@pytest.mark.parametrize(
    ("scrubbed", "reason"),
    [
        ('[{"path": ["attributes", "session_id"], "matched_substring": "session"}]', None),
        ('[{"path": ["attributes", "input.value"], "matched_substring": "auth"}]', "scrubbed"),
        ('[{"path": ["attributes", "input.value", "key"], "matched_substring": "auth"}]', "scrubbed"),
        ('[{"path": ["otel_events", 0, "attributes", "x"]}]', None),
        ([{"path": ["attributes", "input.value"]}], "scrubbed"),
        ("[]", None),
        ("not a list", "scrubbed"), ('{"path": []}', "scrubbed"), ('[{"path": []}]', "scrubbed"), ("[5]", "scrubbed"),
        ('[{"path": "attributes"}]', "scrubbed"), (None, "scrubbed"), (7, "scrubbed"),
    ],
)  # fmt: skip
def test_what_a_scrubber_altered_is_never_hashed(scrubbed: Any, reason: str | None) -> None:
    """Arguments that Logfire's list names, or a list that cannot be read may name, are refused; others are not."""
    assert required(seen({KEY: TEXT, "logfire.scrubbed": scrubbed}), KEY).unhashed == reason


@pytest.mark.parametrize(("path", "reason"), [(["otel_events", 0], "scrubbed"), (["attributes", "x"], None)])
def test_a_scrubbed_event_is_no_source(path: list[Any], reason: str | None) -> None:
    """For arguments in an event, anything that was scrubbed outside the attributes counts."""
    shown = seen({"logfire.scrubbed": json.dumps([{"path": path}])})
    assert of_value(TEXT, "events.gen_ai.tool.message.content", shown).unhashed == reason


def test_placeholders_can_be_added() -> None:
    """An emitter may have a placeholder of its own."""
    assert required(seen({KEY: "{}"}), KEY, placeholders=arguments.PLACEHOLDERS | {"{}"}).unhashed == "placeholder"


@pytest.mark.parametrize("text", ["[ERROR disk full", "{{name} is here", "[x", "{not json", '{"a": b'])
def test_a_text_that_is_said_to_be_no_json_is_hashed_as_it_stands(text: str) -> None:
    """Without that word, or with evidence of a cut, it counts as JSON that was cut; dropped attributes are none."""
    marked = {"openinference.span.kind": "TOOL", "input.value": text}
    plain = {**marked, "input.mime_type": "text/plain"}
    dropped = normal(span(1), span(2, 1, attributes={**plain, "tool.name": "x"}, dropped_attributes_count=3)).trace
    assert dropped.tools[0].attributes["input.sha256"] == argument_hash(text)
    assert reason_of({**plain, "output.value": text}) is None
    assert reason_of({**plain, "output.value": "longer than that, by far and away"}) is None
    for lacking in (marked, {**plain, "input.mime_type": "application/json"}, {**plain, "input.value": f"{text}…"}):
        assert reason_of(lacking) == "cut"


@pytest.mark.parametrize(
    "text", ["{", TEXT[:-1], TEXT[: len(TEXT) // 2], "[1, 2.", '{"a": tru', '["x\\', "[-", "{}, ["]
)
def test_json_that_is_said_to_be_none_is_cut_all_the_same(text: str) -> None:
    """CrewAI's arguments are JSON and said to be plain text."""
    plain = {"openinference.span.kind": "TOOL", "input.value": text, "input.mime_type": "text/plain"}
    assert reason_of(plain) == required(seen({KEY: text}), KEY).unhashed


def test_a_text_as_long_as_another_that_is_the_longest_is_cut() -> None:
    """A limit on the length of attributes cuts all texts of a span at the same length."""
    plain = {"openinference.span.kind": "TOOL", "input.value": "[" + "x" * 31, "input.mime_type": "text/plain"}
    assert reason_of({**plain, "output.value": "y" * 32}) == "cut"
    assert reason_of({**plain, "output.value": "y" * 32, "other": "z" * 33}) is None


def reason_of(attributes: dict[str, Any]) -> str | None:
    """Return why the arguments of a call can't be hashed."""
    meaning = openinference.recognise(seen(attributes))
    assert meaning is not None
    assert meaning.arguments is not None
    return meaning.arguments.unhashed
