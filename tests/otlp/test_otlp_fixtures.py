"""The small files of ``fixtures/otlp``: one way to write a trace each."""

from __future__ import annotations

from pathlib import Path

import pytest

from otel_gate.otlp import read

FOLDER = Path(__file__).parents[2] / "fixtures" / "otlp"
TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736"
CASES = {
    "base64-ids.json": (2, ["id_base64"], []),
    "bad-time.json": (1, ["quarantined"], ["$.resourceSpans[0].scopeSpans[0].spans[0].startTimeUnixNano"]),
    "console-exporter.json": (1, ["microsecond_times", "no_scope"], []),
    "cut-off.jsonl": (1, ["truncated_tail"], []),
    "one-a-line.jsonl": (2, ["other_signal"], []),
    "printed.json": (2, [], []),
    "snake-case.json": (2, ["snake_case"], []),
}


@pytest.mark.parametrize("name", CASES)
def test_a_fixture(name: str) -> None:
    """Each file gives so many spans of the one trace, these notes and these problems."""
    spans, codes, paths = CASES[name]
    pieces = list(read((FOLDER / name).read_bytes()))
    assert {piece.trace.trace_id for piece in pieces if piece.trace.spans} <= {TRACE_ID}
    assert sum(len(piece.trace.spans) for piece in pieces) == spans
    assert [note.code for piece in pieces for note in piece.trace.source.notes] == codes
    assert [problem.path for piece in pieces for problem in piece.trace.source.problems] == paths


def test_every_fixture_is_in_the_table() -> None:
    """A new file is one more line of the table."""
    assert {path.name for path in FOLDER.iterdir()} == set(CASES)
