"""The mismatch of every form that the simplified shape does not have."""

from __future__ import annotations

from typing import Any

import pytest

from otel_gate.core.model import Problem
from otel_gate.otlp.shape import read_document

TRACE_ID, SPAN_ID = "ab" * 16, "cd" * 8
MISMATCHES = [
    ({"schema": "otel-gate/record/2"}, "$.schema", "otel-gate/record/1", 'str "otel-gate/record/2"'),
    ({"trace_id": 5}, "$.trace_id", "str", "int 5"),
    ({"trace_id": TRACE_ID, "traceId": "01"}, "$.traceId", f'what trace_id says (str "{TRACE_ID}")', 'str "01"'),
    ({"spans": {}}, "$.spans", "array", "object of 0 keys"),
    ({"spans": "x"}, "$.spans", "array", 'str "x"'),
    ({"spans": [None]}, "$.spans[0]", "object", "null"),
    ({"spans": [[1, 2]]}, "$.spans[0]", "object", "array of 2 elements"),
    ({"resources": [1]}, "$.resources[0]", "object", "int 1"),
    ({"resources": [{"entity_refs": [{"id_keys": [1]}]}]}, "$.resources[0].entity_refs[0].id_keys[0]", "str", "int 1"),
    ({"scopes": [{"version": 1.5}]}, "$.scopes[0].version", "str", "float 1.5"),
    ({"completion": "done"}, "$.completion", "object", 'str "done"'),
    ({"completion": {"reason": "root_ended", "open": [{"span_id": 5}]}}, "$.completion.open[0].span_id", "str", "int"),
    ({"source": {"notes": 5}}, "$.source.notes", "array", "int"),
]
SPAN_MISMATCHES = [
    ({"span_id": 5}, "span_id", "str", "int 5"),
    ({"spanId": True}, "spanId", "str", "bool true"),
    ({"parent_id": []}, "parent_id", "str", "array of 0 elements"),
    ({"trace_id": {}}, "trace_id", "str", "object of 0 keys"),
    ({"name": 5}, "name", "str", "int 5"),
    ({"start_ns": "12a"}, "start_ns", "int", 'str "12a"'),
    ({"start_ns": "5"}, "start_ns", "int", 'str "5"'),
    ({"startTimeUnixNano": "5"}, "startTimeUnixNano", "int", 'str "5"'),
    ({"start_ns": 1.0}, "start_ns", "int", "float 1.0"),
    ({"end_ns": True}, "end_ns", "int", "bool true"),
    ({"end_ns": float("nan")}, "end_ns", "int", "float nan"),
    ({"end_ns": -1}, "end_ns", "int from 0 to 18446744073709551615", "int -1"),
    ({"end_ns": 2**64}, "end_ns", "int from 0 to 18446744073709551615", "int 18446744073709551616"),
    ({"end_ns": 10**80}, "end_ns", "int from 0 to 18446744073709551615", "int of more than 80 digits"),
    ({"start_ns": 5, "startTimeUnixNano": 6}, "startTimeUnixNano", "what start_ns says (int 5)", "int 6"),
    ({"parent_id": "a", "parent_span_id": "b"}, "parent_id", 'what parent_span_id says (str "b")', 'str "a"'),
    ({"parent_id": "a", "parent_span_id": ""}, "parent_id", 'what parent_span_id says (str "")', 'str "a"'),
    ({"status": "failed"}, "status", "unset, ok, error, or an int of 32 bits", 'str "failed"'),
    ({"status": ""}, "status", "unset, ok, error, or an int of 32 bits", 'str ""'),
    ({"status": True}, "status", "unset, ok, error, or an int of 32 bits", "bool true"),
    ({"status": 1.0}, "status", "unset, ok, error, or an int of 32 bits", "float 1.0"),
    ({"status": 2**31}, "status", "unset, ok, error, or an int of 32 bits", "int 2147483648"),
    ({"status": {"code": {}}}, "status.code", "unset, ok, error, or an int of 32 bits", "object of 0 keys"),
    ({"status": {"message": 5}}, "status.message", "str", "int 5"),
    ({"status_message": 5}, "status_message", "str", "int 5"),
    (
        {"status": {"message": "a"}, "status_message": "b"},
        "status.message",
        'what status_message says (str "b")',
        'str "a"',
    ),
    ({"attributes": []}, "attributes", "object", "array of 0 elements"),
    ({"events": {}}, "events", "array", "object of 0 keys"),
    ({"events": [5]}, "events[0]", "object", "int 5"),
    ({"events": [{}, {"name": 5}]}, "events[1].name", "str", "int 5"),
    ({"events": [{"time_ns": "5"}]}, "events[0].time_ns", "int", 'str "5"'),
    ({"events": [{"attributes": 5}]}, "events[0].attributes", "object", "int 5"),
    ({"links": [{"span_id": 5}]}, "links[0].span_id", "str", "int 5"),
    ({"links": [{"flags": -1}]}, "links[0].flags", "int from 0 to 4294967295", "int -1"),
    ({"flags": 2**32}, "flags", "int from 0 to 4294967295", "int 4294967296"),
    ({"dropped_links_count": "1"}, "dropped_links_count", "int", 'str "1"'),
    ({"derived": "a"}, "derived", "array", 'str "a"'),
    ({"redacted": [5]}, "redacted[0]", "str", "int 5"),
    ({"resource": 0}, "resource", "index of one of 0 resources", "int 0"),
    ({"scope": -1}, "scope", "int from 0 to 4294967295", "int -1"),
    ({"name": {"é" * 100: 1}}, "name", "str", "object of 1 key"),
    ({"end_ns": "x" * 100}, "end_ns", "int", 'str "' + "x" * 79 + '…"'),
    ({"end_ns": "\x1b[31m\n"}, "end_ns", "int", r'str "\u001b[31m\n"'),
]


@pytest.mark.parametrize(("fields", "path", "expected", "got"), MISMATCHES)
def test_a_document_that_does_not_fit(fields: dict[str, Any], path: str, expected: str, got: str) -> None:
    """The first mismatch is the one problem of a trace without spans."""
    trace = read_document({"spans": [{"span_id": SPAN_ID}]} | fields)
    assert (trace.spans, trace.source.problems) == ((), (Problem(path, expected, got),))


@pytest.mark.parametrize(("span", "path", "expected", "got"), SPAN_MISMATCHES)
def test_a_span_that_does_not_fit(span: dict[str, Any], path: str, expected: str, got: str) -> None:
    """The path leads to the span and its field; the trace id is kept."""
    trace = read_document({"traceId": TRACE_ID.upper(), "spans": [{}, span]})
    assert (trace.trace_id, trace.spans) == (TRACE_ID, ())
    assert trace.source.problems == (Problem(f"$.spans[1].{path}", expected, got),)


def test_a_mismatch_of_a_form_of_ours_says_which() -> None:
    """What only records hold is explained by its form."""
    trace = read_document({"completion": {"reason": "bored"}})
    (problem,) = trace.source.problems
    assert (problem.path, problem.expected) == ("$.completion", "the completion of a record")
    assert "bored" in problem.got
