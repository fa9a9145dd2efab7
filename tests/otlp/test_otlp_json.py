"""OTLP/JSON in the forms that senders write it."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from otel_gate.core.model import EntityRef, Event, Link, Problem, Resource, Scope
from otel_gate.otlp.otlp_json import read_request
from tests.otlp.otlp_requests import OTHER_ID, SPAN_ID, SPAN_PATH, TRACE_ID, WHOLE, read, request

TIME = "int from 0 to 18446744073709551615"
RAW_TRACE, RAW_SPAN = bytes.fromhex(TRACE_ID), bytes.fromhex(SPAN_ID)


def base64_text(raw: bytes) -> str:
    """Write base64."""
    return base64.b64encode(raw).decode()


@pytest.mark.parametrize(
    ("trace_id", "span_id", "codes"),
    [
        (TRACE_ID.upper(), SPAN_ID.upper(), []),
        (base64_text(RAW_TRACE), base64_text(RAW_SPAN), ["id_base64"]),
        (base64_text(TRACE_ID.encode()), base64_text(SPAN_ID.upper().encode()), ["id_base64"]),
    ],
)
def test_ids_in_hex_and_base64(trace_id: str, span_id: str, codes: list[str]) -> None:
    """Hex in any case, base64 of the bytes, base64 of the hex text: one id."""
    (trace,) = read_request(request({"traceId": trace_id, "spanId": span_id}))
    assert (trace.trace_id, trace.spans[0].span_id) == (TRACE_ID, SPAN_ID)
    assert [note.code for note in trace.source.notes] == codes


@pytest.mark.parametrize("text", ["", "xyz", "cd" * 7, "cd cd", "0xcd", "AAAA====", base64_text(b"x" * 16), "AAA="])
def test_other_ids_are_kept_for_the_rules(text: str) -> None:
    """What is neither hex nor base64 of the right length stays as it is."""
    assert read(spanId=text) == (read(spanId=text)[0], [])
    assert read(spanId=text)[0].span_id == text


@pytest.mark.parametrize("parent", [None, "", "0" * 16, base64_text(bytes(8))])
def test_a_parent_of_zeros_is_none(parent: str | None) -> None:
    """Missing, null, empty and zeros are no parent."""
    assert read(parentSpanId=parent)[0].parent_span_id == ""


@pytest.mark.parametrize(
    ("given_time", "time", "codes"),
    [
        ("5", 5, []),
        (5, 5, []),
        ("18446744073709551615", 2**64 - 1, []),
        (1e3, 1000, []),
        ("1e3", 1000, []),
        ("1.5e18", 15 * 10**17, []),
        ("5.0", 5, []),
        (1.7e18, 17 * 10**17, []),
        (1.7960425624602832e18, 1796042562460283100, ["time_precision"]),
        (1796042562460283100, 1796042562460283100, ["time_precision"]),
        (1796042562460283253, 1796042562460283253, []),
        (None, 0, []),
    ],
)
def test_integers_as_numbers_and_strings(given_time: Any, time: int, codes: list[str]) -> None:
    """A whole number is read from any way to write it, without going through a double where that can be helped."""
    span, noted = read(startTimeUnixNano=given_time)
    assert (span.start_ns, noted) == (time, codes)


@pytest.mark.parametrize(
    ("given_time", "expected", "got"),
    [
        ("12a", WHOLE, 'str "12a"'),
        ("1.5", WHOLE, 'str "1.5"'),
        (1.5, WHOLE, "float 1.5"),
        ("+5", WHOLE, 'str "+5"'),
        (" 5", WHOLE, 'str " 5"'),
        ("1_0", WHOLE, 'str "1_0"'),
        ("\u0665", WHOLE, 'str "\u0665"'),
        ("", WHOLE, 'str ""'),
        (True, WHOLE, "bool true"),
        ([], WHOLE, "array of 0 elements"),
        ("9" * 5000, WHOLE, 'str "' + "9" * 79 + '…"'),
        (-5, TIME, "int -5"),
        ("18446744073709551616", TIME, 'str "18446744073709551616"'),
        ("1e99", TIME, 'str "1e99"'),
    ],
)
def test_a_time_that_is_no_integer_spoils_its_span(given_time: Any, expected: str, got: str) -> None:
    """The span is left out, and its trace has the problem with the path."""
    (trace,) = read_request(request({"traceId": TRACE_ID, "startTimeUnixNano": given_time}))
    assert (trace.trace_id, trace.spans) == (TRACE_ID, ())
    assert trace.source.problems == (Problem(f"{SPAN_PATH}.startTimeUnixNano", expected, got),)


@pytest.mark.parametrize(
    ("field", "given_number", "read_as", "codes"),
    [
        ("kind", 3, "client", []),
        ("kind", 3.0, "client", []),
        ("kind", "SPAN_KIND_CLIENT", "client", ["enum_text"]),
        ("kind", "3", "client", ["enum_text"]),
        ("kind", 9, 9, []),
        ("kind", None, "unspecified", []),
        ("kind", "SPAN_KIND_ROBOT", "unspecified", ["enum_text", "unknown_kind"]),
        ("status", {"code": 2}, "error", []),
        ("status", {"code": "STATUS_CODE_ERROR"}, "error", ["enum_text"]),
        ("status", {"code": "1"}, "ok", ["enum_text"]),
        ("status", {"code": "FAILED"}, "unset", ["enum_text", "unknown_status"]),
        ("status", {"code": 7}, 7, []),
        ("status", {"code": None}, "unset", []),
        ("status", {"deprecatedCode": 2}, "unset", []),
        ("status", {}, "unset", []),
        ("status", None, "unset", []),
    ],
)
def test_enumerations(field: str, given_number: Any, read_as: str | int, codes: list[str]) -> None:
    """A number, its name or its digits; an unknown number is kept."""
    span, noted = read(**{field: given_number})
    assert (getattr(span, field), noted) == (read_as, codes)


FULL: dict[str, Any] = {
    "resourceSpans": [
        {
            "resource": {
                "attributes": [{"key": "service.name", "value": {"stringValue": "s"}}],
                "droppedAttributesCount": 1,
                "entityRefs": [{"type": "t", "schemaUrl": "u", "idKeys": ["service.name"], "descriptionKeys": ["d"]}],
            },
            "schemaUrl": "r",
            "scopeSpans": [
                {
                    "scope": {"name": "n", "version": "v", "attributes": [{"key": "a"}], "droppedAttributesCount": 2},
                    "schemaUrl": "u",
                    "spans": [
                        {
                            "traceId": TRACE_ID,
                            "spanId": SPAN_ID,
                            "parentSpanId": OTHER_ID,
                            "traceState": "k=v",
                            "flags": 0x301,
                            "startTimeUnixNano": "1",
                            "endTimeUnixNano": "2",
                            "droppedAttributesCount": 1,
                            "droppedEventsCount": "2",
                            "droppedLinksCount": 3,
                            "status": {"message": "why", "code": 2},
                            "events": [
                                {
                                    "timeUnixNano": "5",
                                    "name": "e",
                                    "attributes": [{"key": "a", "value": {"intValue": "1"}}],
                                    "droppedAttributesCount": 4,
                                }
                            ],
                            "links": [
                                {
                                    "traceId": TRACE_ID,
                                    "spanId": OTHER_ID,
                                    "traceState": "l",
                                    "flags": 1,
                                    "attributes": [],
                                    "droppedAttributesCount": 5,
                                }
                            ],
                            "unknownField": {"ignored": True},
                        }
                    ],
                }
            ],
        }
    ]
}


def snake(item: Any) -> Any:
    """Write every key of a request in snake_case."""
    if isinstance(item, list):
        return [snake(one) for one in item]
    if not isinstance(item, dict):
        return item
    return {"".join("_" + c.lower() if c.isupper() else c for c in key): snake(one) for key, one in item.items()}


@pytest.mark.parametrize("form", [FULL, snake(FULL)])
def test_everything_is_read(form: dict[str, Any]) -> None:
    """Every field of OTLP has its place in the model, in camelCase and in snake_case."""
    (trace,) = read_request(form)
    span = trace.spans[0]
    reference_to = EntityRef("t", "u", ("service.name",), ("d",))
    assert trace.resources == (Resource({"service.name": "s"}, 1, "r", (reference_to,)),)
    assert trace.scopes == (Scope("n", "v", {"a": None}, 2, "u"),)
    assert (span.parent_span_id, span.trace_state, span.flags, span.start_ns, span.end_ns) == (
        OTHER_ID,
        "k=v",
        769,
        1,
        2,
    )
    assert (span.dropped_attributes_count, span.dropped_events_count, span.dropped_links_count) == (1, 2, 3)
    assert (span.status, span.status_message, span.resource, span.scope) == ("error", "why", 0, 0)
    assert span.events == (Event("e", 5, {"a": 1}, 4),)
    assert span.links == (Link(TRACE_ID, OTHER_ID, "l", 1, {}, 5),)
    assert ("snake_case" in {note.code for note in trace.source.notes}) == (form is not FULL)


def test_of_both_forms_of_a_name_the_right_one_wins() -> None:
    """OTLP's own is camelCase, and that is what counts."""
    span, codes = read(start_time_unix_nano=5, startTimeUnixNano=6)
    assert (span.start_ns, codes) == (6, ["snake_case"])


def test_the_older_names_of_scopes_are_read() -> None:
    """``instrumentationLibrarySpans`` is ``scopeSpans``."""
    spans = [{"traceId": TRACE_ID, "spanId": SPAN_ID}]
    group = {"instrumentationLibrary": {"name": "n"}, "spans": spans}
    (trace,) = read_request({"resourceSpans": [{"instrumentationLibrarySpans": [group]}]})
    assert (trace.scopes, len(trace.spans)) == ((Scope("n"),), 1)
    assert [note.code for note in trace.source.notes] == ["instrumentation_library"]


@pytest.mark.parametrize(
    "empty",
    [
        {"resourceSpans": None},
        {"resourceSpans": []},
        {"resourceSpans": [{}]},
        {"resourceSpans": [{"resource": None, "scopeSpans": None}]},
        {"resourceSpans": [{"scopeSpans": [{"scope": None, "spans": None}]}]},
        {"resourceSpans": [{"scopeSpans": [{"spans": []}]}]},
    ],
)
def test_a_request_without_spans_has_no_pieces(empty: dict[str, Any]) -> None:
    """Missing, null and empty lists are the same."""
    assert read_request(empty) == []


def test_spans_are_sorted_by_trace_id_in_their_order() -> None:
    """Each trace has the resources and scopes that its spans use, once each."""

    def group(name: str, *ids: str) -> dict[str, Any]:
        spans = [{"traceId": trace_id, "spanId": name * 16} for trace_id in ids]
        resource = {"attributes": [{"key": "k", "value": {"stringValue": name}}]}
        return {"resource": resource, "scopeSpans": [{"spans": spans}]}

    first, second = read_request(
        {"resourceSpans": [group("a", TRACE_ID, "1"), group("b", TRACE_ID), group("a", TRACE_ID)]}
    )
    assert [(span.span_id[0], span.resource) for span in first.spans] == [("a", 0), ("b", 1), ("a", 0)]
    assert [resource.attributes for resource in first.resources] == [{"k": "a"}, {"k": "b"}]
    assert ([span.resource for span in second.spans], len(second.resources)) == ([0], 1)
