"""Cases 22 to 38 of the reader: the structure of requests, and attribute values."""

from __future__ import annotations

import copy
import json
from functools import partial
from typing import Any

import pytest

from otel_gate.otlp import wire
from tests.otlp.reader_cases import (
    HASH,
    ROOT_ID,
    SPAN_PATH,
    TRACE_ID,
    changed,
    request,
    said,
    spans,
    text,
    with_attribute,
)

TOOL = SPAN_PATH.format(1)
VALUE = f"{TOOL}.attributes[2].value"


def nested(levels: int, *, arrays: bool = False) -> dict[str, Any]:
    """Make an AnyValue of so many levels."""
    value: dict[str, Any] = {"intValue": 1}
    for _ in range(levels):
        value = (
            {"arrayValue": {"values": [value]}}
            if arrays
            else {"kvlistValue": {"values": [{"key": "k", "value": value}]}}
        )
    return value


def snake(value: Any) -> Any:
    """Write the names of OTLP's fields in snake case."""
    if isinstance(value, list):
        return [snake(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {"".join(f"_{c.lower()}" if c.isupper() else c for c in name): snake(one) for name, one in value.items()}


def put(name: str, value: Any, item: dict[str, Any]) -> dict[str, Any]:
    """Put a value into a field where it is there."""
    return item | ({name: value} if name in item else {})


def test_case_22_unknown_fields_are_accepted() -> None:
    """A field that is not known is ignored at every level."""
    form = changed(mood="fine")
    form["x"] = form["resourceSpans"][0]["y"] = {"deep": [1]}
    form["resourceSpans"][0]["scopeSpans"][0]["z"] = None
    assert said(form).silent


def test_case_23_snake_case_is_noted_and_camel_case_wins() -> None:
    """Names in snake case are read; where both stand, OTLP's own counts."""
    seen = said(snake(request()))
    assert (seen.rules, len(seen.spans), list(seen.notes)) == ([], 2, ["snake_case"])
    both = said(changed(start_time_unix_nano="5"))
    assert (both.rules, both.notes) == ([], {"snake_case": (1, TOOL)})


def test_case_24_the_older_instrumentation_library_is_noted() -> None:
    """Both older names are read."""
    form = request()
    (group,) = form["resourceSpans"]
    (inner,) = group.pop("scopeSpans")
    inner["instrumentationLibrary"] = inner.pop("scope")
    group["instrumentationLibrarySpans"] = [inner]
    seen = said(form)
    assert (seen.rules, seen.traces[0].scopes[0].name, list(seen.notes)) == ([], "n", ["instrumentation_library"])


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ({"Value": {"StringValue": "a"}}, "a"),
        ({"Value": {"IntValue": "5"}}, 5),
        ({"Value": {"BoolValue": True}}, True),
        ({"Value": {"DoubleValue": 1.5}}, 1.5),
        ({"Value": {"BytesValue": "AAEC"}}, {"$bytes": "AAEC"}),
        ({"Value": {"ArrayValue": {"Values": [{"Value": {"IntValue": 1}}]}}}, [1]),
        ({"Value": {"KvlistValue": {"Values": [{"Key": "a", "Value": {"Value": {"IntValue": 1}}}]}}}, {"a": 1}),
    ],
)
def test_case_24_go_structs_are_noted(given: Any, value: Any) -> None:
    """What a Go program prints of a value is read, with a note."""
    seen = said(with_attribute(given))
    assert (seen.rules, seen.spans[1].attributes["x"]) == ([], value)
    assert seen.notes["go_struct"][1] == VALUE
    pair = spans()
    pair[1]["attributes"].append({"Key": "x", "Value": given})
    assert said(request(*pair)).spans[1].attributes["x"] == value


@pytest.mark.parametrize("name", ["resourceSpans", "resource", "scopeSpans", "scope", "attributes", "events", "links"])
def test_case_25_missing_empty_and_null_are_defaults(name: str) -> None:
    """Everywhere but inside a list; there a null costs itself alone."""
    empty: Any = {} if name in ("resource", "scope") else []
    for given in (None, empty):
        form = json.loads(json.dumps(request()), object_hook=partial(put, name, given))
        assert not [rule for rule in said(form).rules if rule == "G000"]
    assert said(json.dumps(changed(events=[], links=[])).replace("[]", "null").encode()).silent


@pytest.mark.parametrize("place", ["spans", "scopeSpans", "resourceSpans", "attributes", "events"])
def test_case_25_a_null_in_a_list_is_skipped_and_counted(place: str) -> None:
    """The element is one problem with its path; what stands beside it is read."""
    form = changed(events=[])
    group = form["resourceSpans"][0]
    lists = {"resourceSpans": form["resourceSpans"], "scopeSpans": group["scopeSpans"]}
    lists["spans"] = group["scopeSpans"][0]["spans"]
    lists |= {name: lists["spans"][1][name] for name in ("attributes", "events")}
    lists[place].append(None)
    seen = said(form)
    assert (len(seen.problems), "G000" in seen.rules) == (1, True)
    assert seen.problems[0].endswith(f".{place}[{len(lists[place]) - 1}]")
    assert len(seen.spans) == (1 if place in ("attributes", "events") else 2)


@pytest.mark.parametrize(
    ("field", "given"), [("events", {}), ("links", 5), ("status", []), ("name", {}), ("flags", "x")]
)
def test_case_26_a_wrong_type_costs_the_smallest_span_around_it(field: str, given: Any) -> None:
    """The other spans are read."""
    seen = said(changed(**{field: given}))
    assert (seen.problems, [span.span_id for span in seen.spans]) == ([f"{TOOL}.{field}"], [ROOT_ID])
    assert (seen.lines.quarantined, seen.notes["quarantined"][0]) == (1, 1)
    assert "line 1, byte 0 + " in seen.notes["quarantined"][1]
    assert "sha256 " in seen.notes["quarantined"][1]


@pytest.mark.parametrize("form", ["otlp", "shape"])
def test_case_27_duplicate_json_keys_are_noted(form: str) -> None:
    """The last one counts, in OTLP and in the simplified shape."""
    data = json.dumps(request() if form == "otlp" else {"trace_id": TRACE_ID, "spans": [{"name": "a"}]})
    seen = said(data.replace('"name": ', '"name": "first", "name": ', 1).encode())
    assert seen.notes == {"duplicate_json_key": (1, "$ (line 1)")}
    assert "first" not in [span.name for span in seen.spans]


def test_case_28_duplicate_attribute_keys() -> None:
    """They are noted, the last one counts; two values of an attribute that a rule reads are a violation."""
    seen = said(with_attribute({"stringValue": HASH}, "input.sha256"))
    assert (seen.rules, seen.notes) == ([], {"duplicate_key": (1, f"{TOOL}.attributes[2].key")})
    seen = said(with_attribute({"stringValue": "other"}, "tool.name"))
    assert seen.rules == ["G302"]
    seen = said(changed(attributes=[*spans()[1]["attributes"], text("y", "1"), text("y", "2")]))
    assert (seen.rules, seen.spans[1].attributes["y"]) == ([], "2")


def test_case_29_attributes_as_an_object_are_noted() -> None:
    """A plain map of keys and values is read, of AnyValues too."""
    plain = {
        "tool.name": "search",
        "input.sha256": {"stringValue": HASH},
        "n": [1, {"a": None}],
        "m": {"intValue": "5"},
    }
    seen = said(changed(attributes=plain))
    assert (seen.rules, seen.notes) == ([], {"attributes_as_object": (1, f"{TOOL}.attributes")})
    assert seen.spans[1].attributes == {"tool.name": "search", "input.sha256": HASH, "n": [1, {"a": None}], "m": 5}


def test_case_30_what_a_span_carries_is_kept() -> None:
    """Schema URLs, counts of what was dropped, trace state, and flags with bits that nobody knows."""
    form = changed(
        droppedAttributesCount=1, droppedEventsCount=2, droppedLinksCount=3, traceState="a=b", flags=0xFFFF0301
    )
    form["resourceSpans"][0]["schemaUrl"] = form["resourceSpans"][0]["scopeSpans"][0]["schemaUrl"] = "https://x"
    seen = said(form)
    span = seen.spans[1]
    assert seen.silent
    assert (span.dropped_attributes_count, span.dropped_events_count, span.dropped_links_count) == (1, 2, 3)
    assert (span.trace_state, span.flags) == ("a=b", 0xFFFF0301)
    assert seen.traces[0].resources[0].schema_url == seen.traces[0].scopes[0].schema_url == "https://x"


@pytest.mark.parametrize(("levels", "arrays"), [(31, False), (47, True)])
def test_case_31_what_otlp_can_carry_is_kept_and_deeper_is_text(levels: int, arrays: bool) -> None:  # noqa: FBT001
    """31 objects or 47 arrays are read and parse as protobuf again; one more becomes JSON text, with a note."""
    from opentelemetry.proto.collector.trace.v1 import trace_service_pb2  # noqa: PLC0415

    seen = said(with_attribute(nested(levels, arrays=arrays)))
    assert seen.silent
    trace_service_pb2.ExportTraceServiceRequest.FromString(wire.encode(seen.traces[0]))
    seen = said(with_attribute(nested(levels + 1, arrays=arrays)))
    assert (seen.rules, list(seen.notes)) == ([], ["deep_value_as_text"])
    assert isinstance(seen.spans[1].attributes["x"], str)


@pytest.mark.parametrize("levels", [600, 100_000])
def test_case_31_the_deepest_are_skipped(levels: int) -> None:
    """Beyond 500 levels nothing is read, and nothing raises."""
    data = json.dumps(with_attribute("DEEP")).replace('"DEEP"', '{"arrayValue":{"values":[' * levels + "]}}" * levels)
    assert said(data.encode()).rules == ["G000"]


@pytest.mark.parametrize("given", [{}, None])
def test_case_32_an_empty_value_is_a_value(given: Any) -> None:
    """It is kept as null, and counts as missing where a rule wants one."""
    seen = said(with_attribute(given))
    assert (seen.silent, seen.spans[1].attributes["x"]) == (True, None)
    made = copy.deepcopy(spans())
    made[1]["attributes"][0]["value"] = given
    assert said(request(*made)).rules == ["G302"]
    del made[1]["attributes"][0]["value"]
    assert said(request(*made)).rules == ["G302"]


def test_case_33_two_values_are_noted() -> None:
    """The first in the order of the schema is taken."""
    seen = said(with_attribute({"intValue": 5, "stringValue": "a"}))
    assert (seen.rules, seen.spans[1].attributes["x"], seen.notes) == ([], "a", {"two_values": (1, VALUE)})


@pytest.mark.parametrize("given", [{}, {"values": None}, {"values": []}])
def test_case_34_empty_arrays(given: Any) -> None:
    """They are empty, in silence; a key that stands twice in an object is noted."""
    seen = said(with_attribute({"arrayValue": given}))
    assert (seen.silent, seen.spans[1].attributes["x"]) == (True, [])
    pairs = [{"key": "a", "value": {"intValue": number}} for number in (1, 2)]
    seen = said(with_attribute({"kvlistValue": {"values": pairs}}))
    assert (seen.rules, seen.spans[1].attributes["x"], list(seen.notes)) == ([], {"a": 2}, ["duplicate_key"])


@pytest.mark.parametrize(
    ("given", "value", "codes"),
    [
        ("+/8=", {"$bytes": "+/8="}, []),
        ("-_8=", {"$bytes": "+/8="}, []),
        ("-_8", {"$bytes": "+/8="}, []),
        ("no base64!", "no base64!", ["bytes_as_text"]),
    ],
)
def test_case_35_bytes(given: str, value: Any, codes: list[str]) -> None:
    """Standard and URL-safe base64, padded or not; what is none stays as text, with a note."""
    seen = said(with_attribute({"bytesValue": given}))
    assert (seen.rules, seen.spans[1].attributes["x"], list(seen.notes)) == ([], value, codes)


def test_case_36_indexes_into_string_tables_are_noted() -> None:
    """Only profiles have such tables."""
    seen = said(with_attribute({"stringValueStrindex": 5}))
    assert (seen.rules, seen.spans[1].attributes["x"], list(seen.notes)) == ([], None, ["string_index"])


@pytest.mark.parametrize("pair", [{"value": {"intValue": 1}}, {"key": "", "value": {"intValue": 1}}])
def test_case_37_an_empty_key_is_noted(pair: Any) -> None:
    """The value is kept under it."""
    seen = said(changed(attributes=[*spans()[1]["attributes"], pair]))
    assert (seen.rules, seen.notes) == ([], {"empty_key": (1, f"{TOOL}.attributes[2]")})
    assert seen.spans[1].attributes[""] == 1


@pytest.mark.parametrize("given", [{"intValue": 5}, {"arrayValue": {}}, {"stringValue": ""}])
def test_case_38_a_tool_name_is_a_text(given: Any) -> None:
    """G302 refuses everything else."""
    made = copy.deepcopy(spans())
    made[1]["attributes"][0]["value"] = given
    assert said(request(*made)).rules == ["G302"]


@pytest.mark.parametrize("given", ["A" * 64, "sha256:" + HASH])
def test_case_38_the_form_of_a_hash_is_not_judged_here(given: str) -> None:
    """G303 asks for its presence; whether it is the right one is told by ``verify``."""
    made = copy.deepcopy(spans())
    made[1]["attributes"][1]["value"] = {"stringValue": given}
    assert said(request(*made)).silent
    made[1]["attributes"][1]["value"] = {"intValue": 5}
    assert said(request(*made)).rules == ["G303"]
