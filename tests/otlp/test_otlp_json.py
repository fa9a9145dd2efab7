"""OTLP/JSON in the forms that senders write it."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given

from otel_gate.core.model import EntityRef, Event, Link, Note, Problem, Resource, Scope, Trace, encode
from otel_gate.otlp import otlp_json_out
from otel_gate.otlp.otlp_json import read_request
from otel_gate.otlp.proto import read_message
from tests.otlp import reference
from tests.otlp.strategies import traces

TRACE_ID, SPAN_ID, OTHER_ID = "ab" * 16, "cd" * 8, "ef" * 8
SPAN_PATH = "$.resourceSpans[0].scopeSpans[0].spans[0]"


def request(*spans: Any) -> dict[str, Any]:
    """Make a request of spans."""
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}


def read(**fields: Any) -> tuple[Any, list[str]]:
    """Read one span that has no problem, and the codes of the notes about it."""
    (trace,) = read_request(request({"traceId": TRACE_ID, "spanId": SPAN_ID} | fields))
    assert trace.source.problems == ()
    return trace.spans[0], [note.code for note in trace.source.notes]


def value(any_value: Any) -> tuple[Any, list[str]]:
    """Read one AnyValue, and the codes of the notes about it."""
    span, codes = read(attributes=[{"key": "k", "value": any_value}])
    return span.attributes["k"], codes


@given(traces())
def test_writing_and_reading_is_the_identity(trace: Trace) -> None:
    """A trace that is written to OTLP/JSON and read again encodes to the same record bytes."""
    (again,) = read_request(json.loads(otlp_json_out.encode(trace)))
    assert encode(again) == encode(trace)


@given(traces())
def test_json_and_protobuf_say_the_same(trace: Trace) -> None:
    """The OTLP/JSON that is written means what the protobuf request means."""
    (from_json,) = read_request(json.loads(otlp_json_out.encode(trace)))
    (from_protobuf,) = read_message(reference.request(trace))
    assert encode(from_json) == encode(from_protobuf)


def test_what_is_written_follows_the_specification() -> None:
    """Hex ids, numbers for enumerations, strings for 64-bit integers and for doubles that JSON lacks, on one line."""
    attributes = {"i": 1, "d": {"$double": "NaN"}, "b": {"$bytes": "AA=="}, "e": None, "o": {"$object": {"$k": []}}}
    span, _ = read(kind=2, startTimeUnixNano="5", status={"code": 2})
    span.attributes.update(attributes)
    line = otlp_json_out.encode(Trace(TRACE_ID, (span,)))
    written = json.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    assert b"\n" not in line
    assert (written["traceId"], written["kind"], written["status"]) == (TRACE_ID, 2, {"code": 2})
    assert (written["startTimeUnixNano"], written["endTimeUnixNano"]) == ("5", "0")
    assert [pair["value"] for pair in written["attributes"]] == [
        {"intValue": "1"},
        {"doubleValue": "NaN"},
        {"bytesValue": "AA=="},
        {},
        {"kvlistValue": {"values": [{"key": "$k", "value": {"arrayValue": {"values": []}}}]}},
    ]


def test_only_the_spans_from_first_on_are_written() -> None:
    """``first`` leaves out the spans before it."""
    (trace,) = read_request(request(*({"traceId": TRACE_ID, "spanId": f"{number:016x}"} for number in (1, 2, 3))))
    (again,) = read_request(json.loads(otlp_json_out.encode(trace, 2)))
    assert [span.span_id for span in again.spans] == [f"{3:016x}"]


@pytest.mark.parametrize(("odd", "written"), [(2**63, str(2**63)), ((1,), "(1,)")])
def test_what_no_reader_lets_through_is_written_as_text(odd: object, written: str) -> None:
    """The writer raises for no value of an attribute, and writes none that OTLP cannot carry."""
    span, _ = read()
    span.attributes["k"] = odd
    (group,) = json.loads(otlp_json_out.encode(Trace(TRACE_ID, (span,))))["resourceSpans"]
    assert group["scopeSpans"][0]["spans"][0]["attributes"] == [{"key": "k", "value": {"stringValue": written}}]


def test_a_value_too_deep_is_written_as_text() -> None:
    """One level more than OTLP carries is JSON text."""
    span, _ = read()
    deep: Any = 1
    for _ in range(48):
        deep = [deep]
    span.attributes["k"] = deep
    (again,) = read_request(json.loads(otlp_json_out.encode(Trace(TRACE_ID, (span,)))))
    assert again.spans[0].attributes == {"k": "[" * 48 + "1" + "]" * 48}


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
        (1.7e18, 17 * 10**17, ["number_precision"]),
        (None, 0, []),
    ],
)
def test_integers_as_numbers_and_strings(given_time: Any, time: int, codes: list[str]) -> None:
    """A whole number is read from any way to write it, without going through a double where that can be helped."""
    span, noted = read(startTimeUnixNano=given_time)
    assert (span.start_ns, noted) == (time, codes)


TIME = "int from 0 to 18446744073709551615"
WHOLE = "int, as a number or a string"


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


def test_a_name_in_an_attribute_stays_a_string() -> None:
    """Only fields that are enumerations are read as such."""
    assert value({"stringValue": "SPAN_KIND_SERVER"}) == ("SPAN_KIND_SERVER", [])


@pytest.mark.parametrize(
    ("any_value", "read_as", "codes"),
    [
        ({"stringValue": "s"}, "s", []),
        ({"stringValue": ""}, "", []),
        ({"boolValue": False}, False, []),
        ({"boolValue": "true"}, True, ["bool_as_text"]),
        ({"boolValue": 0}, False, ["bool_as_text"]),
        ({"intValue": "-5"}, -5, []),
        ({"intValue": 5}, 5, []),
        ({"intValue": 5.0}, 5, []),
        ({"intValue": str(2**63)}, str(2**63), ["int_as_text"]),
        ({"doubleValue": 1}, 1.0, []),
        ({"doubleValue": -0.0}, -0.0, []),
        ({"doubleValue": "1.5"}, 1.5, []),
        ({"doubleValue": "NaN"}, {"$double": "NaN"}, []),
        ({"doubleValue": float("-inf")}, {"$double": "-Infinity"}, []),
        ({"doubleValue": 10**400}, {"$double": "Infinity"}, ["number_out_of_range"]),
        ({"doubleValue": "-1e400"}, {"$double": "-Infinity"}, ["number_out_of_range"]),
        ({"arrayValue": {}}, [], []),
        ({"arrayValue": {"values": None}}, [], []),
        ({"arrayValue": {"values": [{}, {"intValue": "1"}]}}, [None, 1], []),
        ({"kvlistValue": {}}, {}, []),
        ({"kvlistValue": {"values": [{"key": "$k"}]}}, {"$object": {"$k": None}}, []),
        ({"kvlistValue": {"values": [{"value": {"intValue": 1}}, {"key": ""}]}}, {"": None}, ["duplicate_key"]),
        ({"bytesValue": "-_8"}, {"$bytes": "+/8="}, []),
        ({"bytesValue": "?"}, "?", ["bytes_as_text"]),
        ({"string_value": "s"}, "s", ["snake_case"]),
        ({"stringValueStrindex": 1}, None, ["string_index"]),
        ({"stringValue": "s", "intValue": 1}, "s", ["two_values"]),
        ({"stringValue": None, "intValue": 1}, 1, []),
        ({}, None, []),
        (None, None, []),
        ({"other": 1}, None, []),
    ],
)
def test_any_values(any_value: Any, read_as: Any, codes: list[str]) -> None:
    """Each member in its forms; of two the first of the schema counts; none is null."""
    found, noted = value(any_value)
    assert (encode(found), noted) == (encode(read_as), codes)


@pytest.mark.parametrize(
    ("any_value", "path", "expected", "got"),
    [
        ("s", "", "object", 'str "s"'),
        ({"stringValue": 5}, ".stringValue", "str", "int 5"),
        ({"boolValue": "yes"}, ".boolValue", "bool", 'str "yes"'),
        ({"boolValue": 2}, ".boolValue", "bool", "int 2"),
        ({"boolValue": []}, ".boolValue", "bool", "array of 0 elements"),
        ({"intValue": "12a"}, ".intValue", WHOLE, 'str "12a"'),
        ({"intValue": 1.5}, ".intValue", WHOLE, "float 1.5"),
        ({"doubleValue": "1_0"}, ".doubleValue", "double", 'str "1_0"'),
        ({"doubleValue": True}, ".doubleValue", "double", "bool true"),
        ({"arrayValue": []}, ".arrayValue", "object", "array of 0 elements"),
        ({"arrayValue": {"values": [None]}}, ".arrayValue.values[0]", "object", "null"),
        ({"kvlistValue": {"values": [{"key": 5}]}}, ".kvlistValue.values[0].key", "str", "int 5"),
        ({"bytesValue": 5}, ".bytesValue", "str", "int 5"),
    ],
)
def test_an_any_value_that_is_none_spoils_its_span(any_value: Any, path: str, expected: str, got: str) -> None:
    """The path leads into the value."""
    span = {"traceId": TRACE_ID, "attributes": [{"key": "a"}, {"key": "k", "value": any_value}]}
    (trace,) = read_request(request(span))
    assert trace.source.problems == (Problem(f"{SPAN_PATH}.attributes[1].value{path}", expected, got),)


@pytest.mark.parametrize(("levels", "codes"), [(47, []), (48, ["deep_value_as_text"])])
def test_a_deep_value(levels: int, codes: list[str]) -> None:
    """47 arrays are a value, 48 are JSON text."""
    any_value: Any = {"intValue": "1"}
    for _ in range(levels):
        any_value = {"arrayValue": {"values": [any_value]}}
    found, noted = value(any_value)
    assert (type(found) is str, noted) == (bool(codes), codes)


def test_a_value_deeper_than_the_stack_is_a_problem() -> None:
    """Nesting costs the span, not the reader."""
    any_value: Any = {}
    for _ in range(2000):
        any_value = {"arrayValue": {"values": [any_value]}}
    (trace,) = read_request(request({"traceId": TRACE_ID, "attributes": [{"key": "k", "value": any_value}]}))
    (problem,) = trace.source.problems
    assert problem.expected == "nesting of at most 500"


def test_of_duplicate_keys_the_last_wins_and_differences_are_conflicts() -> None:
    """Equal values are only noted; ``1`` and ``1.0`` are different ones."""
    pairs = [
        ("a", {"intValue": 1}),
        ("b", {"stringValue": "x"}),
        ("a", {"doubleValue": 1}),
        ("b", {"stringValue": "x"}),
    ]
    span, codes = read(attributes=[{"key": key, "value": one} for key, one in pairs])
    assert (encode(span.attributes), span.conflicts, codes) == (b'{"a":1.0,"b":"x"}', ("a",), ["duplicate_key"])


def test_an_empty_key_is_noted() -> None:
    """Missing and empty keys are the empty string."""
    assert read(attributes=[{"value": {"stringValue": "x"}}])[1] == ["empty_key"]


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


def test_a_bad_span_spoils_its_own_trace_only() -> None:
    """The other spans of its trace are kept, other traces have no problem, and every bad span counts."""
    bad = {"traceId": TRACE_ID, "name": 5}
    good, other = {"traceId": TRACE_ID, "spanId": SPAN_ID}, {"traceId": "01" * 16, "spanId": SPAN_ID}
    spoiled, whole = read_request(request(bad, good, other, bad))
    assert (len(spoiled.spans), len(spoiled.source.problems)) == (1, 2)
    assert spoiled.source.problems[0] == Problem(f"{SPAN_PATH}.name", "str", "int 5")
    assert (len(whole.spans), whole.source.problems) == (1, ())


@pytest.mark.parametrize(
    ("form", "path", "expected", "got"),
    [
        ({"resourceSpans": {}}, "$.resourceSpans", "array", "object of 0 keys"),
        ({"resourceSpans": [None]}, "$.resourceSpans[0]", "object", "null"),
        ({"resourceSpans": [{"scopeSpans": 5}]}, "$.resourceSpans[0].scopeSpans", "array", "int 5"),
        (request(None), SPAN_PATH, "object", "null"),
        (request({"traceId": 5}), f"{SPAN_PATH}.traceId", "str", "int 5"),
        (request({"name": 5}), f"{SPAN_PATH}.name", "str", "int 5"),
    ],
)
def test_a_problem_without_a_trace_id(form: dict[str, Any], path: str, expected: str, got: str) -> None:
    """What cannot be given to a trace is a piece of its own."""
    (trace,) = read_request(form)
    assert (trace.trace_id, trace.spans) == ("", ())
    assert trace.source.problems == (Problem(path, expected, got),)


@pytest.mark.parametrize(
    ("place", "path"),
    [("resource", "$.resourceSpans[0].resource"), ("scope", "$.resourceSpans[0].scopeSpans[0].scope")],
)
def test_a_bad_resource_or_scope_spoils_the_spans_under_it(place: str, path: str) -> None:
    """Each span under it counts as lost, with the path of what could not be read."""
    form = request({"traceId": TRACE_ID}, {"traceId": TRACE_ID})
    holder = form["resourceSpans"][0] if place == "resource" else form["resourceSpans"][0]["scopeSpans"][0]
    holder[place] = 5
    (trace,) = read_request(form)
    assert (trace.trace_id, trace.spans) == (TRACE_ID, ())
    assert trace.source.problems == (Problem(path, "object", "int 5"),) * 2


@pytest.mark.parametrize(
    ("field", "given_value", "path"),
    [
        ("attributes", {}, "attributes"),
        ("attributes", [None], "attributes[0]"),
        ("attributes", [{"key": 5}], "attributes[0].key"),
        ("events", 5, "events"),
        ("events", [{"name": 5}], "events[0].name"),
        ("events", [{"timeUnixNano": "x"}], "events[0].timeUnixNano"),
        ("links", [{"spanId": 5}], "links[0].spanId"),
        ("links", [{"flags": 2**32}], "links[0].flags"),
        ("status", 2, "status"),
        ("status", {"code": "FAILED"}, "status.code"),
        ("status", {"code": True}, "status.code"),
        ("status", {"message": 5}, "status.message"),
        ("kind", [], "kind"),
        ("kind", 2**31, "kind"),
        ("spanId", 5, "spanId"),
        ("parentSpanId", 5, "parentSpanId"),
        ("traceState", 5, "traceState"),
        ("flags", "x", "flags"),
        ("droppedAttributesCount", -1, "droppedAttributesCount"),
    ],
)
def test_every_field_of_a_span_is_checked(field: str, given_value: Any, path: str) -> None:
    """A wrong type anywhere in a span is a problem with its path."""
    (trace,) = read_request(request({"traceId": TRACE_ID, field: given_value}))
    (problem,) = trace.source.problems
    assert (problem.path, trace.spans) == (f"{SPAN_PATH}.{path}", ())


def test_notes_of_a_resource_go_with_each_trace_that_uses_it() -> None:
    """A resource is read once, and what was odd about it belongs to every trace under it."""
    form = request({"traceId": TRACE_ID}, {"traceId": TRACE_ID}, {"traceId": "01" * 16})
    big = {"key": "k", "value": {"intValue": str(2**63)}}
    form["resourceSpans"][0]["resource"] = {"attributes": [big]}
    note = Note("int_as_text", 1, "$.resourceSpans[0].resource.attributes[0].value")
    assert [trace.source.notes for trace in read_request(form)] == [(note,), (note,)]
