"""AnyValue and lists of key and value in OTLP/JSON."""

from __future__ import annotations

from typing import Any

import pytest

from otel_gate.core.model import Problem, encode
from otel_gate.otlp.otlp_json import read_request
from tests.otlp.otlp_requests import SPAN_PATH, TRACE_ID, WHOLE, read, request, value


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
