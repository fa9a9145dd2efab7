"""Printed spans among other output: what is a span is read, what is none is passed over and counted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from otel_gate.otlp import read
from otel_gate.otlp.tally import Lines

TRACE_ID = "0123456789abcdef0123456789abcdef"


def span(number: int) -> dict[str, Any]:
    """Return a span as the exporter prints it."""
    return {
        "name": f"span {number}",
        "context": {"trace_id": f"0x{TRACE_ID}", "span_id": f"0x{number:016x}", "trace_state": "[]"},
        "kind": "SpanKind.INTERNAL",
        "parent_id": None,
        "start_time": "2026-01-31T12:00:00.000000Z",
        "end_time": "2026-01-31T12:00:01.000000Z",
        "status": {"status_code": "UNSET"},
        "attributes": {},
        "events": [{"name": "e", "timestamp": "2026-01-31T12:00:00.000000Z", "attributes": {}}],
        "links": [],
        "resource": {"attributes": {}, "schema_url": ""},
    }


def text(number: int, indent: int | None = 4) -> str:
    return json.dumps(span(number), indent=indent) + "\n"


def told(data: str) -> tuple[list[str], list[str], dict[str, int], Lines]:
    """Return the names of spans, what could not be read, the notes and the count of lines."""
    lines = Lines()
    pieces = list(read(data.encode(), "console", lines))
    names = [one.name for piece in pieces for one in piece.trace.spans]
    problems = [one.got for piece in pieces for one in piece.trace.source.problems]
    notes = {note.code: note.count for piece in pieces for note in piece.trace.source.notes}
    return names, problems, notes, lines


@pytest.mark.parametrize("indent", [4, 2, None])
@pytest.mark.parametrize(
    "noise",
    ["Starting agent\n", "{oops\n", "[1,2\n", "{\n", "}\n", '{"also": "json"}\n', '[{"a": 1}]\n', "[INFO] x\n",
     '"text"\n', "42\n", "\n  \nTwo\nlines {not json\n"],
)  # fmt: skip
def test_other_output_is_passed_over_and_counted(noise: str, indent: int | None) -> None:
    """Before, between and after spans; no line of it is a violation."""
    filled = sum(1 for line in noise.splitlines() if line.strip())
    whole = noise + text(1, indent) + noise + text(2, indent) + noise
    names, problems, notes, lines = told(whole)
    assert (names, problems) == (["span 1", "span 2"], [])
    assert (notes["other_output"], lines.skipped, lines.quarantined) == (3 * filled, 3 * filled, 0)
    assert lines.total == sum(1 for line in whole.splitlines() if line.strip())


def test_what_begins_as_a_span_and_is_cut_is_bad() -> None:
    """Other output is no excuse for a span that can't be read: it is one problem, or a note at the end of the file."""
    names, problems, _, lines = told(text(1)[:-40] + "\n" + text(2))
    assert (names, len(problems), lines.quarantined > 0) == (["span 2"], 1, True)
    names, problems, notes, _ = told("Hello\n" + text(1) + text(2)[:-40])
    assert (names, problems, notes["truncated_tail"]) == (["span 1"], [], 1)


def test_another_form_is_refused() -> None:
    """A form that is known by its looks is no other output."""
    _, problems, _, _ = told('{"resourceSpans": []}\n')
    assert problems == ["an OTLP/JSON request"]
