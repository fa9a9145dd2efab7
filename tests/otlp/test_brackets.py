"""On which line of a document each span begins."""

from __future__ import annotations

import json
from typing import Any

import pytest

from otel_gate.otlp import lines
from otel_gate.otlp.brackets import element_lines

SPAN: dict[str, Any] = {"span_id": "ab", "links": [{"span_id": "cd"}], "events": [{"attributes": {"spans": [{}]}}]}


def test_a_document_with_a_span_a_line() -> None:
    """A record has its header first, then one span on each line."""
    text = '{"trace_id":"ab",\n"source":{},\n"spans":[\n{"span_id":"a"},\n{"span_id":"b"}\n]}\n'
    assert lines(text.encode()) == (4, 5)


def test_a_printed_document() -> None:
    """Objects inside of spans are not taken for spans."""
    text = json.dumps({"schema": {"spans": []}, "spans": [SPAN, SPAN]}, indent=1)
    beginnings = [number for number, line in enumerate(text.splitlines(), 1) if line == "  {"]
    assert lines(text.encode()) == tuple(beginnings)
    assert len(beginnings) == 2


def test_a_document_on_one_line() -> None:
    """All spans begin there."""
    assert lines(json.dumps({"spans": [SPAN, SPAN]}).encode()) == (1, 1)


@pytest.mark.parametrize(
    "text",
    ['{"a": "\\"spans\\": [{", "spans": [\n{"name": "}]\\\\"}\n,{}]}', '{"spans": [{}],\n "spans": [\n{}\n,{}]}'],
)
def test_strings_and_earlier_keys_do_not_mislead(text: str) -> None:
    """Brackets in strings are no brackets, and of two equal keys the last counts."""
    assert lines(text.encode()) == ((2, 3) if text.startswith('{"a"') else (3, 4))


@pytest.mark.parametrize("text", ["", "[]", "hello", '{"spans": 5}', '{"resourceSpans": [{}]}', '"', "}}}"])
def test_what_is_no_document_has_no_lines(text: str) -> None:
    """Nothing is found in other text, and nothing is raised."""
    assert lines(text.encode()) == ()


def test_elements_of_an_array() -> None:
    """The objects at the top of an array have their lines too."""
    assert element_lines(b'[{"a": [{}]},\n\n{}, {}]') == (1, 3, 3)
