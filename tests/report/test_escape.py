"""Untrusted text, made safe to print."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_gate.report.escape import printable, printable_json, shortened, word

PIECES = st.sampled_from(
    ["::", "##", "[", "##[", "vso[", "teamcity[", " ", "\x1b", "\n", "\r", "error", "#", "]", "\ud800"]
)
texts = st.text() | st.lists(PIECES | st.text(max_size=3), max_size=8).map("".join)
COMMAND = re.compile(r"^\s*::|##[a-zA-Z-]*\[")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain 文字 ✓ a::b #1 ## [x]", "plain 文字 ✓ a::b #1 ## [x]"),
        ("\x1b[31m", r"\x1b[31m"),
        ("a\r\nb\tc\x00\x7f\x9b", r"a\x0d\x0ab\x09c\x00\x7f\x9b"),
        ("\u2028\u2029\x85", r"\u2028\u2029\x85"),
        ("\u202e\u2066\u200f\u061c", r"\u202e\u2066\u200f\u061c"),
        ("a\u200b\u200d\ufeff\u2060\u00ad", r"a\u200b\u200d\ufeff\u2060\xad"),
        ("\u3164\u115f", r"\u3164\u115f"),
        ("\ud800", r"\ud800"),
        ("\U000e0041", r"\U000e0041"),
        ("::error::x", r"\x3a:error::x"),
        ("  ::error::x", r"  \x3a:error::x"),
        ("x ##[error]y", r"x \x23#[error]y"),
        ("###[group]", r"#\x23#[group]"),
        ("##vso[task.x]", r"\x23#vso[task.x]"),
        ("##teamcity[x]", r"\x23#teamcity[x]"),
    ],
)
def test_what_could_act_is_shown(text: str, shown: str) -> None:
    """Each kind of text that a terminal or a runner would act on stands as an escape, and nothing else changes."""
    assert printable(text) == shown


@given(texts)
def test_no_printed_line_can_act(text: str) -> None:
    """Whatever the text, one line comes out that is plain and no command, and printing it again changes nothing."""
    shown = printable(text)
    assert shown.isprintable()
    assert not COMMAND.search(shown)
    assert printable(shown) == shown


@given(st.recursive(texts, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3)))
def test_json_keeps_its_meaning(value: object) -> None:
    """JSON that was made safe reads as the same value, and can act no more than text can."""
    safe = printable_json(json.dumps(value, indent=1, ensure_ascii=False))
    assert json.loads(safe) == json.loads(json.dumps(value))
    assert all(line.isprintable() and not COMMAND.search(line) for line in safe.split("\n"))


@given(texts, st.integers(1, 20))
def test_a_shortened_text_is_short_and_printable(text: str, most: int) -> None:
    """A shortened text keeps to its length, and is a printable text when it is whole."""
    short = shortened(text, most)
    assert len(short) <= most
    assert short.isprintable()
    assert short == printable(text) or short.endswith("…")


@pytest.mark.parametrize(("text", "shown"), [("ab", "ab"), ("", '""'), ("a b", '"a b"')])
def test_a_word_stands_as_one_word(text: str, shown: str) -> None:
    """An empty text, or one with a blank, is quoted."""
    assert word(text) == shown
