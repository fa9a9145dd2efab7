"""JSON text in the forms that real files have it, and what is said about text that is none."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_gate.otlp.text import parse, parse_all, scrubbed

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(JSON, st.booleans())
def test_json_is_read_as_the_standard_library_reads_it(value: Any, ascii_only: bool) -> None:  # noqa: FBT001
    """Plain JSON has one meaning, on the fast path and on the tolerant one."""
    data = json.dumps(value, ensure_ascii=ascii_only, allow_nan=True).encode("utf-8")
    assert parse(data).problem is None
    assert repr(parse(data).value) == repr(json.loads(data)) == repr(parse_all(data)[0].value)


@pytest.mark.parametrize(
    ("data", "value", "notes"),
    [
        (b'\xef\xbb\xbf{"a": 1}', {"a": 1}, ()),
        (b"\0\0\0[1]", [1], ("nul_head",)),
        (b"\x1e[1]", [1], ("record_separator",)),
        (b'{"a": 1, "a": 2, "b": NaN}', {"a": 2, "b": math.nan}, ("bare_nan", "duplicate_json_key")),
        (b"[NaN, -Infinity, Infinity]", [math.nan, -math.inf, math.inf], ("bare_nan",) * 3),
        (b"[1e400]", [math.inf], ("number_out_of_range",)),
        (b"[" + b"9" * 5000 + b"]", ["9" * 5000], ("int_as_text",)),
        (b'"\\ud800"', "\ufffd", ("lone_surrogate",)),
        (b'"\\ud800x\\udc00"', "\ufffdx\ufffd", ("lone_surrogate",)),
        (b'"\\ud83d\\ude00 \\udead"', "\U0001f600 \ufffd", ("lone_surrogate",)),
        (b'"\\\\ud800 \\udc00"', "\\ud800 \ufffd", ("lone_surrogate",)),
        (b'["\\\\ud800", NaN]', ["\\ud800", math.nan], ("bare_nan",)),
        (b'"a\xffb"', "a\ufffdb", ("invalid_utf8",)),
        (b'"\xed\xa0\x80"', "\ufffd\ufffd\ufffd", ("invalid_utf8",)),
    ],
)
def test_odd_text_is_read_with_notes(data: bytes, value: Any, notes: tuple[str, ...]) -> None:
    """What can be read is read, and says what was odd."""
    found = parse(data)
    assert (repr(found.value), found.notes, found.problem) == (repr(value), notes, None)


@pytest.mark.parametrize(
    ("data", "expected", "got"),
    [
        (b"", "JSON text", "nothing"),
        (b"hello", "JSON text", 'text that is not JSON from byte 0 on: "hello"'),
        (b'{"a": 1 "b"}', "JSON text", 'text that is not JSON from byte 8 on: "\\"b\\"}"'),
        (b'"\xc3\xa9" x', "JSON text", 'text that is not JSON from byte 0 on: "x"'),
        (b"[1] [2]", "one JSON text", "another one after it"),
        (b'{"a": [1,', "JSON text", "text that looks cut off after 9 bytes"),
        (b'{"a": "b', "JSON text", "text that looks cut off after 8 bytes"),
        (b'{"a": "\\u12', "JSON text", "text that looks cut off after 11 bytes"),
        (b'{"a": tru', "JSON text", "text that looks cut off after 9 bytes"),
        (b'{"a": "\\u12xx"}', "JSON text", 'text that is not JSON from byte 8 on: "u12xx\\"}"'),
        (b"[" * 1_000_000, "nesting of at most 500", "more"),
        ('{"a": 1}'.encode("utf-16"), "JSON text in UTF-8", "text that looks like UTF-16"),
        ('{"a": 1}'.encode("utf-16-le"), "JSON text in UTF-8", "text that looks like UTF-16"),
        ('{"a": 1}'.encode("utf-16-be"), "JSON text in UTF-8", "text that looks like UTF-16"),
    ],
)
def test_text_that_cannot_be_read_says_why(data: bytes, expected: str, got: str) -> None:
    """The problem names what was expected and what stands there."""
    problem = parse(data).problem
    assert problem is not None
    assert (problem.path, problem.expected, problem.got) == ("$", expected, got)


def test_texts_that_follow_each_other_are_read_up_to_the_first_bad_one() -> None:
    """Each has its line, counted from 0, and its own notes."""
    found = parse_all(b'[NaN]{"a":\n1}\n\n 3 \n?')
    assert [(one.line, one.notes, one.problem is None) for one in found] == [
        (0, ("bare_nan",), True),
        (0, ("concatenated_json",), True),
        (3, (), True),
        (4, (), False),
    ]


def test_what_is_odd_about_a_file_is_noted_once() -> None:
    """What stands before the first text belongs to it."""
    assert [one.notes for one in parse_all(b"\x1e[1]\n[2]")] == [("record_separator",), ()]


@given(st.text(st.characters(exclude_categories=[])))
def test_a_scrubbed_text_can_be_encoded(text: str) -> None:
    """Whatever it held, it is UTF-8 afterwards, and text that was is not changed."""
    assert scrubbed(text).encode().decode() == scrubbed(text)
    if text.isascii():
        assert scrubbed(text) == text


def test_a_pair_of_surrogates_is_one_character() -> None:
    """Only lone surrogates are replaced."""
    assert scrubbed("\ud83d\ude00\ud83d") == "\U0001f600\ufffd"
