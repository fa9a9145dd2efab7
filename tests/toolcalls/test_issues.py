"""Issues hold little of a call, and nothing in them acts: the call is a model's, its schema a server's."""

from __future__ import annotations

import copy
import pickle
from dataclasses import astuple
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_gate.toolcalls import shown
from otel_gate.toolcalls.model import Call, Issue, Tool
from otel_gate.toolcalls.texts import LANGUAGES, table
from otel_gate.toolcalls.validate import validate
from tests.toolcalls.schemas import VALUES
from tests.toolcalls.test_validate import TOOLS

if TYPE_CHECKING:
    from collections.abc import Callable

LONG = "ж" * 1_000
ONE_OF_EACH = [
    Call("", {}), Call("radar", {}), Call("forecast", "{"), Call("forecast", {}), Call("forecast", {"city": 5}),
    Call("forecast", {"city": "a", "town": 1}), Call("forecast", {"city": "a", "units": "K"}),
    Call("forecast", {"city": ""}), Call("forecast", {"city": "a", "at": [1, 2, 3]}),
]  # fmt: skip


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    "call",
    [
        Call(LONG, {}),
        Call("forecast", LONG),
        Call("forecast", {LONG: LONG}),
        Call("forecast", {"city": "a", "days": LONG}),
        Call("forecast", {"city": "a", "units": LONG}),
        Call("forecast", {"city": "a", "at": [LONG] * 9}),
        Call("forecast", {"city": "a", "at": [{LONG: LONG}]}),
        Call("forecast", {"city": {LONG: {LONG: LONG}}}),
        Call("forecast", {"city": "a", "at": [LONG, LONG]}),
    ],
)
def test_a_message_holds_little_of_a_value(call: Call, language: str) -> None:
    """No message, path or text of an issue has more than 200 characters of what the call held."""
    issues = validate(call, TOOLS, language=language).issues
    assert issues
    for one in issues:
        assert one.message.count("ж") <= 200
        assert max(text.count("ж") for text in (one.path, one.expected, one.got)) <= 200


@given(st.text(max_size=60), VALUES)
def test_a_message_is_one_line_in_which_nothing_acts(name: str, value: Any) -> None:
    """Whatever stands in a name or a value, messages are printable, and so no line of a prompt can be forged."""
    hostile = name + "\x1b[31m\n\u2028\u202e"
    for call in (Call(hostile, {}), Call("forecast", {hostile: value}), Call("forecast", {"city": [hostile, value]})):
        for one in validate(call, TOOLS).issues:
            assert (one.message + one.path + one.got + one.expected).isprintable()


def test_values_are_shown_short() -> None:
    """Deep, wide and huge values are cut, and what is no JSON is named by its type."""
    assert shown.shown({"a": [1, {"b": {"c": 1}}]}) == '{"a": [1, {"b": {…}}]}'
    assert shown.shown(10**5_000).endswith("bits)")
    assert shown.shown({1, 2}) == "<set>"
    assert shown.shown([None, True, 1.5, "\n"]) == r'[null, true, 1.5, "\n"]'


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_unknown_field_is_told_what_is_left(language: str) -> None:
    """Where some fields were given, the text doesn't say that the others are all there are."""
    texts = table("issues", language)
    for fields, key in (({}, "unknown_field"), ({"city": "a"}, "unknown_field.absent")):
        issue = validate(Call("forecast", fields | {"zzzzz": 1}), TOOLS, language=language).issues[-1]
        field = texts["field"].format(path="zzzzz")
        assert issue.message == texts[key].format(field=field, expected=issue.expected)
        assert ("city" in issue.expected.split(", ")) == (not fields)


def test_an_escape_is_no_word_of_a_name() -> None:
    """What a name hides is not taken for the letters that it is shown by."""
    tool = Tool("it", "", {"type": "object", "properties": {"u": {}}})
    [issue] = validate(Call("it", {"\u202eabc": 1}), [tool]).issues
    assert "probably" not in issue.message
    assert "\u202e" not in issue.message


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("value", [None, True, False])
def test_a_value_that_says_its_type_is_not_explained(value: Any, language: str) -> None:
    """Null is null and true is true: the sentence ends there, where a text is said to be one."""
    texts = table("issues", language)
    [issue] = validate(Call("forecast", {"city": value}), TOOLS, language=language).issues
    field = texts["field"].format(path="city")
    assert issue.message == texts["type_mismatch.plain"].format(
        field=field, expected=texts["type.string"], got=issue.got
    )
    [issue] = validate(Call("forecast", {"city": 5}), TOOLS, language=language).issues
    assert texts["type.integer"] in issue.message


def test_numbers_that_json_has_not_are_shown_by_their_names() -> None:
    """They stand as JSON's dialects write them."""
    assert shown.shown([float("nan"), float("-inf"), 1e22, 1.5]) == "[NaN, -Infinity, 1e+22, 1.5]"


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("call", ONE_OF_EACH)
@pytest.mark.parametrize(
    "looked_at",
    [
        lambda one: pickle.loads(pickle.dumps(one)),  # noqa: S301 - our own
        copy.copy,
        copy.deepcopy,
        lambda one: msgspec.convert(msgspec.to_builtins(one), Issue),
        lambda one: msgspec.json.decode(msgspec.json.encode(one), type=Issue),
        lambda one: one if repr(one) else None,
        lambda one: one if hash(one) else None,
    ],
)
def test_an_issue_is_the_same_read_or_not(looked_at: Callable[[Issue], Any], call: Call, language: str) -> None:
    """Whatever first looks at an issue finds the texts that a reader finds, and so does everybody after."""

    def found() -> Issue:
        [one] = validate(call, TOOLS, language=language).issues
        return one

    read = found()
    whole = Issue(read.code, read.path, read.expected, read.got, read.message)
    seen = looked_at(found())
    assert astuple(seen) == astuple(whole)
    assert {seen, whole, found()} == {read}
    assert repr(found()) == repr(whole)


def test_the_texts_wait_for_a_reader() -> None:
    """An issue that is only counted by its code has no texts yet; the first one that is read makes them all."""
    [issue] = validate(Call("forecast", {"city": 5}), TOOLS).issues
    slots = [vars(Issue)[name] for name in ("path", "expected", "got", "message")]
    assert issue.code == "type_mismatch"
    for slot in slots:
        with pytest.raises(AttributeError):
            slot.__get__(issue)
    assert issue.path == "$.city"
    assert [slot.__get__(issue) for slot in slots] == [issue.path, issue.expected, issue.got, issue.message]


@pytest.mark.parametrize("field", ["path", "expected", "got", "message"])
def test_each_text_may_be_read_first(field: str) -> None:
    """Which text of an issue is read first makes no difference."""
    for call in ONE_OF_EACH:
        [one], [other] = (validate(call, TOOLS).issues for _ in range(2))
        assert getattr(one, field) == getattr(other, field)
        assert astuple(one) == astuple(other)


def test_an_issue_does_not_follow_its_call() -> None:
    """An array or object that changes after it was judged stands in its issue as it was."""
    for field, value in (("city", [1, 2]), ("city", {"a": 1}), ("at", [1, 2, 3])):
        arguments: dict[str, Any] = {"city": "a", field: copy.copy(value)}
        [issue] = validate(Call("forecast", arguments), TOOLS).issues
        arguments[field].clear()
        [fresh] = validate(Call("forecast", {"city": "a", field: value}), TOOLS).issues
        assert issue == fresh
        assert issue.got == shown.shown(value)


def test_an_issue_can_not_be_changed() -> None:
    """No field of an issue can be set, read or not, and it has no other names."""
    [issue] = validate(Call("forecast", {"city": 5}), TOOLS).issues
    for name in ("code", "path", "expected", "got", "message", "more"):
        with pytest.raises(AttributeError):
            setattr(issue, name, "")
    assert not hasattr(issue, "more")
    assert issue.got == "5"


def test_a_pickle_holds_what_the_texts_hold() -> None:
    """What leaves the process of a long value is what a reader would see of it."""
    [issue] = validate(Call("forecast", {"city": "a", "units": LONG}), TOOLS).issues
    assert pickle.dumps(issue).decode("utf-8", "ignore").count("ж") <= 200
