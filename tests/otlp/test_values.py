"""Attribute values from documents and from the SDK: one JSON form, and codes of what was changed."""

from __future__ import annotations

import enum
import math
import sys
from collections import deque
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_gate.core.model import encode
from otel_gate.otlp.mismatch import MismatchError
from otel_gate.otlp.values import attributes_from_python, canonical, from_python
from tests.otlp.strategies import VALUES

NAN, INFINITY, MINUS_INFINITY = ({"$double": name} for name in ("NaN", "Infinity", "-Infinity"))
LOOKS_ESCAPED = [
    {"$x": 1},
    {"$": None},
    {"$bytes": "no base64!"},
    {"$bytes": "AAAAA"},
    {"$bytes": 1},
    {"$double": "nan"},
    {"$double": 1.5},
    {"$double": []},
    {"$object": 1},
    {"$object": {}},
    {"$object": {"a": 1}},
    {"$object": {"$a": 1, "b": 2}},
]


def read(value: Any) -> tuple[Any, list[str]]:
    """Bring a value of a document into the JSON form, with its codes."""
    codes: list[str] = []
    return canonical(value, "$", codes), codes


def nested(levels: int, kind: type = list) -> Any:
    """Nest a number in so many arrays or objects."""
    value: Any = 1
    for _ in range(levels):
        value = [value] if kind is list else {"k": value}
    return value


@given(VALUES)
def test_what_is_in_the_form_is_not_touched(value: Any) -> None:
    """A value of the JSON form is read as it stands, byte for byte."""
    out, codes = read(value)
    assert (encode(out), codes) == (encode(value), [])


@pytest.mark.parametrize("value", LOOKS_ESCAPED)
def test_what_only_looks_like_an_escape_is_wrapped(value: dict[str, Any]) -> None:
    """An object whose only key begins with ``$`` and that is no escape is an object like any other."""
    assert read(value) == ({"$object": value}, [])
    assert read({"$object": value}) == ({"$object": value}, [])


@pytest.mark.parametrize("value", [{}, {"a": 1}, {"$a": 1, "$b": 2}, {"$bytes": "AA==", "b": 1}])
def test_other_objects_are_not_wrapped(value: dict[str, Any]) -> None:
    """Only a single key can be taken for an escape."""
    assert read(value) == (value, [])


@pytest.mark.parametrize("text", ["-_8=", "-_8", "+/8=", "+/8"])
def test_base64_is_written_in_one_form(text: str) -> None:
    """URL-safe and unpadded base64 becomes padded standard base64."""
    assert read([{"$bytes": text}]) == ([{"$bytes": "+/8="}], [])


@pytest.mark.parametrize(
    ("value", "form"), [(math.nan, NAN), (math.inf, INFINITY), (-math.inf, MINUS_INFINITY), (1e300, 1e300)]
)
def test_doubles_that_json_has_no_number_for_are_escaped(value: float, form: Any) -> None:
    """NaN and the infinities have names, in documents and from the SDK."""
    assert read({"a": value}) == ({"a": form}, [])
    assert from_python(value) == (form, ())


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 10**400])
def test_an_integer_that_otlp_cannot_carry_is_its_text(number: int) -> None:
    """Beyond 64 bits an integer becomes its digits, with a code."""
    assert read([number]) == ([str(number)], ["int_as_text"])
    assert from_python(number) == (str(number), ("int_as_text",))


def test_an_integer_too_long_for_decimal_is_hex() -> None:
    """Python writes no more than 4,300 digits; such a number keeps its value in hex."""
    assert from_python(1 << 20_000)[0] == hex(1 << 20_000)


@pytest.mark.parametrize("number", [2**63 - 1, -(2**63), 0])
def test_an_integer_of_64_bits_is_kept(number: int) -> None:
    """The borders of int64 are integers."""
    assert read(number) == (number, [])
    assert from_python(number) == (number, ())


@pytest.mark.parametrize(("kind", "most"), [(list, 47), (dict, 31)])
def test_one_level_more_than_otlp_carries_is_text(kind: type, most: int) -> None:
    """47 arrays or 31 objects are a value, one more is compact JSON text with a code."""
    deep = nested(most + 1, kind)
    text = encode(deep).decode()
    assert read(nested(most, kind)) == (nested(most, kind), [])
    assert read(deep) == (text, ["deep_value_as_text"])
    assert from_python(deep) == (text, ("deep_value_as_text",))


def test_arrays_and_objects_share_the_room() -> None:
    """An object costs three and an array two of 94."""
    inside = nested(30, dict)
    assert read([[inside]])[1] == []
    assert read([[[inside]]])[1] == ["deep_value_as_text"]
    assert read([nested(31, dict)])[1] == ["deep_value_as_text"]


def test_a_deep_value_counts_its_oddities_once() -> None:
    """What the text holds is noted as it stands in the text."""
    value = [2**63, nested(48)]
    assert read(value)[1] == ["deep_value_as_text", "int_as_text"]


def test_a_wrapper_takes_no_room() -> None:
    """``$object`` is a way of writing, not a level of the value."""
    inner: Any = 1
    for _ in range(31):
        inner = {"$object": {"$k": inner}}
    assert read(inner) == (inner, [])


def test_deeper_than_500_is_a_mismatch() -> None:
    """500 levels are kept as text, 501 are refused with the path."""
    assert read(nested(500))[1] == ["deep_value_as_text"]
    with pytest.raises(MismatchError) as caught:
        canonical(nested(501), "$.spans[0]", [])
    assert caught.value.problem.path == "$.spans[0]"
    assert (caught.value.problem.expected, caught.value.problem.got) == ("nesting of at most 500", "nesting of 501")


def test_a_stack_too_small_for_a_value_is_a_mismatch() -> None:
    """Nesting that the caller's own depth leaves no room for is refused, not raised as an error of Python."""

    def call(depth: int) -> Any:
        return call(depth - 1) if depth else canonical(nested(400), "$", [])

    with pytest.raises(MismatchError, match="stack"):
        call(sys.getrecursionlimit() - 300)


class Colour(enum.IntEnum):
    """A number with a name."""

    RED = 3


class Word(enum.StrEnum):
    """A text with a name."""

    YES = "yes"


class Mute:
    """Something that cannot say what it is."""

    def __str__(self) -> str:
        """Refuse."""
        raise ValueError


@pytest.mark.parametrize(
    ("value", "form", "codes"),
    [
        (None, None, ()),
        (True, True, ()),
        ("é", "é", ()),
        (-0.0, -0.0, ()),
        (b"\xfb\xff", {"$bytes": "+/8="}, ()),
        (bytearray(b"a"), {"$bytes": "YQ=="}, ()),
        (memoryview(b"a"), {"$bytes": "YQ=="}, ()),
        ((1, "a", None), [1, "a", None], ()),
        (deque([1]), [1], ()),
        (MappingProxyType({"a": (b"",)}), {"a": [{"$bytes": ""}]}, ()),
        ({"$bytes": "AA=="}, {"$object": {"$bytes": "AA=="}}, ()),
        ({1: 2}, {"1": 2}, ()),
        (Colour.RED, 3, ()),
        (Word.YES, "yes", ()),
        (1 + 2j, "(1+2j)", ("value_as_text",)),
        ({"a"}, "{'a'}", ("value_as_text",)),
        (Mute(), "<Mute>", ("value_as_text",)),
        ("a\ud800b", "a\ufffdb", ("lone_surrogate",)),
        ("\ud83d\ude00", "\U0001f600", ("lone_surrogate",)),
        ({"\udc00": ["\udc00"]}, {"\ufffd": ["\ufffd"]}, ("lone_surrogate", "lone_surrogate")),
    ],
)
def test_values_of_the_sdk(value: object, form: Any, codes: tuple[str, ...]) -> None:
    """Each Python value has one form; what OTLP has no value for is text."""
    assert encode(from_python(value)[0]) == encode(form)
    assert type(from_python(value)[0]) is type(form)
    assert from_python(value)[1] == codes
    assert attributes_from_python({"k": value}) == ({"k": form}, codes)


def test_an_array_that_holds_itself_ends() -> None:
    """A value without end becomes a text that names its type."""
    endless: list[Any] = []
    endless.append(endless)
    assert from_python(endless) == ("<list>", ("deep_value_as_text", "value_as_text"))


def test_keys_of_the_sdk_become_text() -> None:
    """Keys are strings that UTF-8 can hold."""
    assert attributes_from_python({"\ud800": 1, 2: 3}) == ({"\ufffd": 1, "2": 3}, ("lone_surrogate",))


@given(st.recursive(st.none() | st.floats() | st.integers() | st.text(), st.lists, max_leaves=6))
def test_what_comes_from_the_sdk_is_in_the_form(value: Any) -> None:
    """The form of an SDK value is read as it stands."""
    form, _ = from_python(value)
    assert read(form) == (form, [])
