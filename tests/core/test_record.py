"""Records as bytes: reading and writing changes nothing, one span stands on one line, and each has its place."""

from __future__ import annotations

import hashlib
import json

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from otel_gate.core import record
from otel_gate.core.gate import judge
from otel_gate.core.model import (
    Completion,
    Link,
    Note,
    OpenSpan,
    Problem,
    Record,
    Source,
    Span,
    Trace,
    Verdict,
    id_hash,
)
from otel_gate.core.model import encode as encoded
from otel_gate.rules import RULES
from tests.strategies import traces

TRACE_ID = "5b8efff798038103d269b633813fc60c"
ROOT = Span("00000000000000a1", "", "agent.run", 1, 9, "ok", {"run.id": "run-1"}, ())
TRACE = Trace(TRACE_ID, (ROOT,))
SECOND = 10**9
GOOD = Verdict(True, 0, ())

sources = st.builds(
    Source,
    st.sampled_from(["sdk", "exporter", "otlp", "file"]),
    st.sampled_from(["root", "reject"]),
    st.lists(st.builds(Note, st.text(), st.integers(1, 9), st.text()), max_size=2).map(tuple),
    st.lists(st.builds(Problem, st.text(), st.text(), st.text()), max_size=2).map(tuple),
)
completions = st.builds(
    Completion,
    st.sampled_from(["root_ended", "timed_out", "capped", "interrupted", "shut_down"]),
    st.lists(st.builds(OpenSpan, st.text(), st.text(), st.integers(0, 2**64 - 1), st.text()), max_size=2).map(tuple),
    st.integers(0, 9),
)


def made(trace: Trace, before: Record | None = None) -> Record:
    """Make the record of a trace, judged by our rules."""
    return record.make(trace, judge(trace, RULES), before)


@settings(max_examples=40)
@given(trace=traces(), source=sources, completion=completions, amended=st.booleans())
def test_reading_and_writing_a_record_changes_no_byte(
    trace: Trace, source: Source, completion: Completion, *, amended: bool
) -> None:
    """A record that is read and written again has the same bytes, whatever its spans, verdict and history are."""
    one = made(replace(trace, source=source, completion=completion, spans=trace.spans[: len(trace.spans) // 2]))
    if amended:
        one = made(replace(trace, source=source, completion=completion), one)
    content = record.record_bytes(one)
    assert record.record_bytes(record.decode(content)) == content
    assert record.record_bytes(made(record.decode(content).trace, None)).count(b"\n") == content.count(b"\n")


@settings(max_examples=40)
@given(traces())
def test_one_span_stands_on_one_line(trace: Trace) -> None:
    """The header has a line a field, then each span has a line of its own, in order, whatever texts it holds."""
    for content in (record.record_bytes(made(trace)), record.document_bytes(trace)):
        document = json.loads(content)
        lines = content.split(b"\n")
        header = lines.index(b'"spans":[')
        assert header == len(document) - 1
        assert [*document] == [next(iter(json.loads(b"{" + line.strip(b"{,") + b"}"))) for line in lines[:header]] + [
            "spans"
        ]
        assert [json.loads(line.rstrip(b",")) for line in lines[header + 1 : -2]] == document["spans"]
        assert lines[-2:] == [b"]}", b""]


def test_a_record_says_what_the_trace_is() -> None:
    """A record holds its trace and verdict, the run id of the root, the id hash, and itself as its first revision."""
    one = made(TRACE)
    assert (one.schema, one.run_id, one.revision) == ("otel-gate/record/1", "run-1", 1)
    assert (one.trace, one.verdict, one.id_hash) == (TRACE, GOOD, id_hash(TRACE.spans))
    assert [(was.revision, was.spans, was.id_hash, was.verdict) for was in one.history] == [(1, 1, one.id_hash, GOOD)]


def test_an_amended_record_keeps_its_history() -> None:
    """An amendment counts on, and its history says what every revision held and how it was judged."""
    first = made(replace(TRACE, spans=()))
    second = made(TRACE, first)
    assert (second.revision, second.history[:1]) == (2, first.history)
    assert [(was.revision, was.spans, was.verdict.shape_ok) for was in second.history] == [(1, 0, False), (2, 1, True)]


def test_an_empty_trace_has_no_span_lines() -> None:
    """A document without spans ends in an empty list."""
    assert record.document_bytes(Trace("", ())) == b'{"trace_id":"",\n"spans":[]}\n'


def test_a_document_carries_what_is_known_of_its_capture() -> None:
    """Resources, scopes and completion stand in the document when they are there."""
    document = json.loads(record.document_bytes(replace(TRACE, completion=Completion("timed_out"))))
    assert [*document] == ["trace_id", "completion", "spans"]


DEEP = b'{"a":' * 9_000 + b"1" + b"}" * 9_000
DAMAGED = {
    "empty": b"",
    "torn": record.record_bytes(made(TRACE))[:-20],
    "no JSON": b"\xff\x00\xfe",
    "another shape": b"[1, 2]",
    "of another schema": record.record_bytes(made(TRACE)).replace(b"record/1", b"record/9"),
    "nested too deep": record.record_bytes(made(TRACE)).replace(b'{"run.id":"run-1"}', DEEP),
    "a resource that is not there": record.record_bytes(made(replace(TRACE, spans=(replace(ROOT, resource=0),)))),
    "a scope below zero": record.record_bytes(made(replace(TRACE, spans=(replace(ROOT, scope=-1),)))),
}


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED)
def test_what_is_not_a_record_is_told(content: bytes) -> None:
    """A damaged record is one kind of error, whatever the damage is."""
    with pytest.raises(msgspec.MsgspecError):
        record.decode(content)


@pytest.mark.parametrize(
    ("starts", "day"),
    [
        ((1,), "1970-01-01"),
        ((86_400 * SECOND - 1,), "1970-01-01"),
        ((86_400 * SECOND,), "1970-01-02"),
        ((1_700_000_000 * SECOND, 1_600_000_000 * SECOND), "2020-09-13"),
        ((0, 1_700_000_000 * SECOND), "2023-11-14"),
        ((253_402_300_799 * SECOND,), "9999-12-31"),
        ((253_402_300_800 * SECOND,), "2001-09-09"),
        ((2**64 - 1,), "2554-07-21"),
        ((2**64 - 1, 1_700_000_000 * SECOND), "2023-11-14"),
        ((0,), "2001-09-09"),
        ((), "2001-09-09"),
    ],
)
def test_a_record_lies_under_the_day_of_its_earliest_start(starts: tuple[int, ...], day: str) -> None:
    """The UTC date of the earliest usable start is the folder; without one, the time of writing is."""
    spans = tuple(replace(ROOT, start_ns=start) for start in starts)
    one = made(Trace(TRACE_ID, spans))
    assert record.place(one, b"", 1_000_000_000 * SECOND) == f"{day}/{TRACE_ID}.json"


def test_a_trace_without_a_usable_id_lies_under_its_hash() -> None:
    """Without a valid trace id, the name of a record is the hash of its bytes."""
    one = made(Trace("../../etc", (ROOT,)))
    content = record.record_bytes(one)
    name = hashlib.sha256(content).hexdigest()[:32]
    assert record.place(one, content, 0) == f"unidentified/{name}.json"


@pytest.mark.parametrize(
    ("trace_id", "expected"),
    [
        (TRACE_ID, True),
        ("0" * 31 + "1", True),
        ("0" * 32, False),
        ("", False),
        (TRACE_ID[1:], False),
        (TRACE_ID + "0", False),
        (TRACE_ID.upper(), False),
        ("../" + TRACE_ID[3:], False),
        (TRACE_ID[:-1] + "\n", False),
        (TRACE_ID[:-1] + "\u0661", False),
    ],
)
def test_only_32_lower_hex_digits_identify_a_trace(trace_id: str, *, expected: bool) -> None:
    """No other text becomes a file name."""
    assert record.identified(trace_id) is expected


def test_a_link_is_written_like_every_value() -> None:
    """Absent is not written: a record of a span with a bare link says its two ids and no more."""
    assert encoded(Link("ab" * 16, "cd" * 8)) == b'{"trace_id":"%b","span_id":"%b"}' % (b"ab" * 16, b"cd" * 8)


@settings(max_examples=40)
@given(trace=traces(), source=sources, completion=completions)
def test_a_line_has_the_values_of_the_file_in_their_order(
    trace: Trace, source: Source, completion: Completion
) -> None:  # fmt: skip
    """A record on one line is the same document: the same keys in the same order, and reading it gives the record."""
    one = made(replace(trace, source=source, completion=completion))
    line = record.line_bytes(one)
    assert (line.count(b"\n"), line[-1:]) == (1, b"\n")
    assert record.line_bytes(record.decode(line)) == line
    assert record.record_bytes(record.decode(line)) == record.record_bytes(one)
    pairs = [json.loads(content, object_pairs_hook=list) for content in (line, record.record_bytes(one))]
    assert pairs[0] == pairs[1]


def test_a_line_has_one_place_in_every_segment() -> None:
    """It is made of the trace id, or of the hash of the line: a hostile id never is a part of it."""
    one = made(TRACE)
    assert record.line_place(TRACE_ID, record.line_bytes(one)) == f"segments/{TRACE_ID}"
    content = record.line_bytes(replace(one, trace_id="../../etc"))
    assert record.line_place("../../etc", content) == f"segments/{hashlib.sha256(content).hexdigest()[:32]}"
    assert record.is_line(f"segments/{TRACE_ID}")
    assert not record.is_line(f"2026-11-30/{TRACE_ID}.json")


def test_days_end_with_the_year_9999() -> None:
    """A time of the far future has the last day that there is."""
    assert (record.day(0), record.day(10**30)) == ("1970-01-01", "9999-12-31")
