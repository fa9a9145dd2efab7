"""The simplified shape and records, in every form that is read."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_gate.core.model import (
    RECORD_SCHEMA,
    Completion,
    Event,
    Note,
    OpenSpan,
    Problem,
    Record,
    Revision,
    Source,
    Trace,
    Verdict,
    Violation,
    encode,
    id_hash,
)
from otel_gate.otlp.shape import read_document
from tests.otlp.strategies import traces

TRACE_ID, SPAN_ID, OTHER_ID = "ab" * 16, "cd" * 8, "ef" * 8
VERDICT = Verdict(
    shape_ok=False, tools=1, violations=(Violation("G303", "tool-input-hash", SPAN_ID, "m", "e", "g", "t"),)
)
TEXTS = st.lists(st.text(max_size=3), max_size=2).map(tuple)
SOURCES = st.builds(
    Source,
    st.sampled_from(["sdk", "exporter", "otlp", "file"]),
    st.sampled_from(["root", "reject"]),
    st.lists(st.builds(Note, st.text(max_size=3), st.integers(0, 9), st.text(max_size=3)), max_size=2).map(tuple),
    st.just(()) | st.just((Problem("$", "expected", "got"),)),
    st.text(max_size=3),
)
COMPLETIONS = st.none() | st.builds(
    Completion,
    st.sampled_from(["root_ended", "timed_out", "capped", "interrupted", "shut_down"]),
    st.lists(st.builds(OpenSpan, st.text(max_size=3), st.text(max_size=3), st.integers(0, 9)), max_size=2).map(tuple),
    st.integers(0, 9),
)


def document(span: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    """Make a document of one span."""
    return {"trace_id": TRACE_ID, "spans": [{"span_id": SPAN_ID} | (span or {})]} | fields


def read(span: dict[str, Any]) -> Any:
    """Read a span that has no problem."""
    trace = read_document(document(span))
    assert trace.source.problems == ()
    return trace.spans[0]


@st.composite
def records(draw: Any) -> Record:
    """Draw a record as the store writes it."""
    trace = draw(traces())
    spans = tuple(
        msgspec.structs.replace(span, derived=draw(TEXTS), redacted=draw(TEXTS), conflicts=draw(TEXTS))
        for span in trace.spans
    )
    return Record(
        "otel-gate/record/1",
        trace.trace_id,
        draw(st.text(max_size=3)),
        2,
        draw(COMPLETIONS),
        VERDICT,
        id_hash(spans),
        draw(SOURCES),
        trace.resources,
        trace.scopes,
        (Revision(1, 1, "h", VERDICT),),
        spans,
    )


@given(records())
def test_reading_a_record_changes_no_byte(record: Record) -> None:
    """A record that is read and encoded again is the same bytes."""
    trace = read_document(json.loads(encode(record)))
    again = msgspec.structs.replace(
        record,
        trace_id=trace.trace_id,
        spans=trace.spans,
        resources=trace.resources,
        scopes=trace.scopes,
        completion=trace.completion,
        source=trace.source,
    )
    assert encode(again) == encode(record)


@given(traces())
def test_reading_a_document_is_the_identity(trace: Trace) -> None:
    """What the model encodes is read as the same model."""
    assert encode(read_document(json.loads(encode(trace)))) == encode(trace)


def test_absent_is_not_malformed() -> None:
    """Missing and null fields are defaults everywhere."""
    nothing = encode(read_document({"spans": [{}]}))
    nulls = dict.fromkeys([name for name in json.loads(encode(read(EVERYTHING))) if name != "trace_id"])
    assert encode(read_document({"trace_id": None, "resources": None, "scopes": None, "spans": [nulls]})) == nothing
    assert read_document({"spans": None}) == read_document({"trace_id": ""}) == Trace("", ())
    span = read_document({"spans": [{}]}).spans[0]
    assert (span.span_id, span.parent_span_id, span.start_ns, span.end_ns, span.status) == ("", "", 0, 0, "unset")
    assert (span.attributes, span.events, span.kind, span.resource) == ({}, (), "unspecified", None)


EVERYTHING = {
    "span_id": SPAN_ID.upper(),
    "parent_span_id": OTHER_ID.upper(),
    "trace_id": "01" * 16,
    "name": "n",
    "start_ns": 0,
    "end_ns": 2**64 - 1,
    "status": "Error",
    "status_message": "why",
    "attributes": {"a": [1, 1.0, True, None, {"b": "c"}]},
    "events": [{"name": "e", "time_ns": 5, "attributes": {"x": 1}, "dropped_attributes_count": 1}],
    "kind": "client",
    "links": [
        {"trace_id": "02" * 16, "span_id": OTHER_ID, "trace_state": "s", "flags": 1, "dropped_attributes_count": 2}
    ],
    "trace_state": "k=v",
    "flags": 0x300,
    "dropped_attributes_count": 1,
    "dropped_events_count": 2,
    "dropped_links_count": 3,
    "derived": ["a"],
    "redacted": ["b"],
    "conflicts": ["c"],
    "unknown": {"ignored": True},
}
OTLP_NAMES = {
    "span_id": "spanId",
    "parent_span_id": "parentSpanId",
    "trace_id": "traceId",
    "start_ns": "startTimeUnixNano",
    "end_ns": "endTimeUnixNano",
    "trace_state": "traceState",
    "dropped_attributes_count": "droppedAttributesCount",
    "dropped_events_count": "droppedEventsCount",
    "dropped_links_count": "droppedLinksCount",
    "time_ns": "timeUnixNano",
}


def renamed(value: Any) -> Any:
    """Write the same under OTLP's names, as far as it has other ones."""
    if isinstance(value, list):
        return [renamed(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {OTLP_NAMES.get(key, key): renamed(one) for key, one in value.items()}


def test_otlp_names_are_read_too() -> None:
    """A document under OTLP's field names is the same document."""
    assert encode(read(renamed(EVERYTHING))) == encode(read(EVERYTHING))
    given_document = {"traceId": TRACE_ID.upper(), "spans": [EVERYTHING]}
    assert encode(read_document(given_document)) == encode(read_document(document(EVERYTHING)))


def test_every_field_is_read() -> None:
    """Ids are lower-cased, everything else stands as it came."""
    span = read(EVERYTHING)
    assert (span.span_id, span.parent_span_id, span.trace_id) == (SPAN_ID, OTHER_ID, "01" * 16)
    assert (span.start_ns, span.end_ns, span.status, span.status_message) == (0, 2**64 - 1, "error", "why")
    assert encode(span.attributes) == b'{"a":[1,1.0,true,null,{"b":"c"}]}'
    assert span.events == (Event("e", 5, {"x": 1}, 1),)
    assert (span.kind, span.flags) == ("client", 0x300)
    assert (span.derived, span.redacted, span.conflicts) == (("a",), ("b",), ("c",))
    assert (span.links[0].trace_id, span.links[0].trace_state, span.links[0].flags) == ("02" * 16, "s", 1)
    assert (span.dropped_attributes_count, span.dropped_events_count, span.dropped_links_count) == (1, 2, 3)


@pytest.mark.parametrize("name", ["parent_span_id", "parent_id", "parentSpanId"])
@pytest.mark.parametrize(("value", "parent"), [(None, ""), ("", ""), ("0" * 16, ""), (OTHER_ID.upper(), OTHER_ID)])
def test_a_parent_under_any_name(name: str, value: str | None, parent: str) -> None:
    """Missing, null, empty and zeros are no parent."""
    assert read({name: value}).parent_span_id == parent


@pytest.mark.parametrize(
    "span",
    [
        {"parent_span_id": OTHER_ID, "parentSpanId": OTHER_ID.upper(), "parent_id": None},
        {"parent_span_id": "", "parent_id": "0" * 16},
        {"start_ns": 5, "startTimeUnixNano": 5},
        {"status": {"code": 2, "message": "why"}, "status_message": "why"},
    ],
)
def test_two_names_may_say_the_same(span: dict[str, Any]) -> None:
    """Only a difference is a problem."""
    assert read(span)


@pytest.mark.parametrize(
    ("given_status", "status"),
    [
        ("ok", "ok"),
        ("ERROR", "error"),
        ("Unset", "unset"),
        ("STATUS_CODE_ERROR", "error"),
        ("status_code_ok", "ok"),
        (0, "unset"),
        (1, "ok"),
        (2, "error"),
        (3, 3),
        (-1, -1),
        (None, "unset"),
        ({}, "unset"),
        ({"code": None}, "unset"),
        ({"code": "STATUS_CODE_OK"}, "ok"),
        ({"code": 2}, "error"),
    ],
)
def test_forms_of_status(given_status: Any, status: str | int) -> None:
    """A status is a word in any case, a number, OTLP's name, or an object with a code."""
    assert read({"status": given_status}).status == status


def test_a_message_inside_the_status_is_read() -> None:
    """``status.message`` is ``status_message``."""
    assert read({"status": {"code": 2, "message": "why"}}).status_message == "why"


@pytest.mark.parametrize(
    ("given_kind", "kind"),
    [
        ("Server", "server"),
        ("SPAN_KIND_CLIENT", "client"),
        (1, "internal"),
        (5, "consumer"),
        (6, 6),
        (0, "unspecified"),
    ],
)
def test_forms_of_kind(given_kind: Any, kind: str | int) -> None:
    """A kind is a name in any case, or a number; an unknown number is kept."""
    assert read({"kind": given_kind}).kind == kind


def test_an_unknown_kind_is_noted() -> None:
    """A name that is none is unspecified."""
    trace = read_document(document({"kind": "robot"}))
    assert trace.spans[0].kind == "unspecified"
    assert trace.source.notes == (Note("unknown_kind", 1, "$.spans[0].kind"),)


def test_a_span_with_the_trace_id_of_its_document_has_none_of_its_own() -> None:
    """Only another trace id is kept, whatever its case."""
    assert read({"trace_id": TRACE_ID.upper()}).trace_id == ""
    assert read({"traceId": "01" * 16}).trace_id == "01" * 16


@pytest.mark.parametrize("text", ["", "xyz", "AB CD", "\uff21\uff22", "ab-CD", "0x0A"])
def test_an_id_that_is_no_hex_is_kept_for_the_rules(text: str) -> None:
    """Only hex is lower-cased."""
    assert read({"span_id": text}).span_id == text


def test_oddities_of_values_are_noted_with_their_place() -> None:
    """A note has the path of the attribute that it was met at first."""
    trace = read_document(document({"attributes": {"a.b": [2**63], "c": 2**64}}))
    assert trace.spans[0].attributes == {"a.b": [str(2**63)], "c": str(2**64)}
    assert trace.source.notes == (Note("int_as_text", 2, '$.spans[0].attributes["a.b"]'),)


def test_notes_are_added_to_those_of_a_record() -> None:
    """What an earlier reader noted stays."""
    source = {"notes": [{"code": "int_as_text", "count": 2, "first": "there"}], "door": "sdk"}
    trace = read_document(document({"attributes": {"c": 2**64}}, source=source))
    assert trace.source == Source("sdk", notes=(Note("int_as_text", 3, "there"),))


def test_a_record_of_an_unreadable_document_stays_one() -> None:
    """The problem of a record is read back."""
    problem = {"path": "$.spans", "expected": "array", "got": "int 1"}
    trace = read_document({"trace_id": TRACE_ID, "spans": [], "source": {"problems": [problem]}})
    assert trace.source.problems == (Problem("$.spans", "array", "int 1"),)


@pytest.mark.parametrize("schema", [RECORD_SCHEMA, "something/else", 5, None])
def test_a_schema_that_is_not_a_later_record_is_ignored(schema: Any) -> None:
    """Unknown fields and foreign schemas do not matter."""
    assert read_document(document(schema=schema)).source.problems == ()
