"""The compiled checker: under ``schema`` it says what ``jsonschema`` says, and nothing that it meets stops it."""

from __future__ import annotations

import http.server
import json
import subprocess
import sys
import threading
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from otel_gate.errors import CatalogueError
from otel_gate.toolcalls.checker import Checker
from otel_gate.toolcalls.checker.branches import IN_PLACE
from otel_gate.toolcalls.checker.compiler import LIBRARY
from otel_gate.toolcalls.checker.keywords import KEYWORDS
from otel_gate.toolcalls.model import Call, Tool
from otel_gate.toolcalls.strictness import SETTINGS, Strictness
from otel_gate.toolcalls.validate import validate
from tests.conftest import ROOT
from tests.toolcalls.schemas import OBJECTS, ROOTS, VALUES

referencing = pytest.importorskip("referencing", reason="the extra [tools] is not installed")
jsonschema = pytest.importorskip("jsonschema", reason="the extra [tools] is not installed")
EXACT = SETTINGS["schema"]


def expected(schema: object, value: object) -> bool:
    """Ask the library."""
    return bool(jsonschema.Draft202012Validator(schema, registry=referencing.Registry()).is_valid(value))


@settings(max_examples=250, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(ROOTS, st.lists(VALUES | OBJECTS, min_size=1, max_size=4))
def test_exactly_what_the_library_finds_valid_has_no_finding(schema: dict, values: list) -> None:
    """Under the strictness ``schema``, a value has no finding if and only if ``jsonschema`` calls it valid."""
    check = Checker(schema, EXACT)
    for value in values:
        assert (not check.findings(value)) == expected(schema, value), value


@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(ROOTS, OBJECTS)
def test_a_call_is_valid_exactly_when_the_library_says_so(schema: Any, arguments: dict) -> None:
    """The same holds for whole calls, whether their arguments come as an object or as its text."""
    tools = [Tool("it", "", schema)]
    for received in (arguments, json.dumps(arguments)):
        found = validate(Call("it", received), tools, strictness="schema")
        assert found.valid == expected(schema, arguments)


def many(count: int, word: str) -> dict:
    """Return a schema that nests ``count`` levels deep."""
    schema: dict = {}
    for _ in range(count):
        schema = {word: schema}
    return schema


def deep(count: int) -> dict:
    """Return a value that nests ``count`` levels deep."""
    value: dict = {}
    for _ in range(count):
        value = {"a": value}
    return value


DOUBLING = {
    "$ref": "#/$defs/d0",
    "$defs": {f"d{at}": {"allOf": [{"$ref": f"#/$defs/d{at + 1}"}] * 2} for at in range(40)} | {"d40": {}},
}
TREE = {"$ref": "#/$defs/t", "$defs": {"t": {"properties": {"a": {"$ref": "#/$defs/t"}, "b": {"type": "integer"}}}}}
HOSTILE_SCHEMAS = {
    "a reference to itself": {"$ref": "#"},
    "a loop of two": {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
    "a loop in branches": {"anyOf": [{"type": "string"}, {"$ref": "#"}]},
    "10,000 levels of not": many(10_000, "not"),
    "10,000 levels of items": many(10_000, "items"),
    "10,000 levels for the library": {"unevaluatedItems": many(10_000, "items")},
    "nowhere": {"$ref": "#/$defs/none"},
    "elsewhere": {"$ref": "http://127.0.0.1:9/schema.json"},
    "a file": {"$ref": "file:///etc/passwd"},
    "a type of another dialect": {"type": "dict"},
    "a text as properties": {"properties": "none"},
    "a text as required": {"required": "a"},
    "required of numbers": {"required": [1]},
    "no schema": {"properties": {"a": 5}},
    "no pattern": {"properties": {"a": {"pattern": "("}}},
    "a pattern of 5,000 groups": {"pattern": "(" * 5_000 + ")" * 5_000},
    "an empty anyOf": {"anyOf": []},
    "items of a draft before": {"items": [{}]},
    "a bound that is no number": {"minimum": "1"},
    "a negative length": {"minLength": -1},
    "a step of nothing": {"multipleOf": 0},
    "a text as enum": {"enum": "abc"},
    "no bool": {"uniqueItems": 1},
    "a slow pattern beside unevaluated": {"unevaluatedProperties": False, "patternProperties": {"^(a+)+$": {}}},
    "many references beside unevaluated": {
        "unevaluatedProperties": False, "allOf": [{"$ref": "#/$defs/x"}] * 30, "$defs": {"x": {}},
    },
    "a slow pattern beside unevaluated in a field's name": {
        "properties": {"default": {"unevaluatedProperties": False, "patternProperties": {"^(a+)+$": {}}}},
    },
    "many names that are none": {"not": {"required": [{"a": number} for number in range(20_000)]}},
    "ill-formed for the library": {"if": {"type": "dict"}},
    "no pattern for the library": {"patternProperties": {"(": {}}},
}  # fmt: skip


@pytest.mark.timeout(5)
@pytest.mark.parametrize("schema", HOSTILE_SCHEMAS.values(), ids=HOSTILE_SCHEMAS.keys())
def test_a_schema_that_has_no_end_or_no_sense_is_a_catalogue_error(schema: dict) -> None:
    """Loops, depth, references that lead out and ill-formed keywords are told when the schema is compiled."""
    with pytest.raises(CatalogueError, match=r"^tool x"):
        Checker(schema, EXACT, "tool x")


SLOW = "^(a+)+$"
BOUNDED = {
    "a slow pattern": ({"properties": {"a": {"pattern": SLOW}}}, {"a": "a" * 40 + "b"}, "pattern"),
    "a slow pattern that fits": ({"properties": {"a": {"pattern": SLOW}}}, {"a": "a" * 41}, None),
    "a slow pattern for the library": (
        {"dependentSchemas": {"a": {"properties": {"a": {"pattern": SLOW}}}}},
        {"a": "a" * 40 + "b"},
        "pattern",
    ),
    "a slow pattern of names": ({"patternProperties": {SLOW: False}}, {"a" * 40 + "b": 1}, None),
    "a slow pattern of names beside more": (
        {"patternProperties": {SLOW: {}}, "additionalProperties": False},
        {"a" * 40 + "b": 1},
        "additionalProperties",
    ),
    "a pattern with a look back": (
        {"properties": {"a": {"pattern": r"^(a+)+\1$"}}},
        {"a": "a" * 40 + "b"},
        "slow_pattern",
    ),
    "a look back for the library": ({"not": {"pattern": r"^(a+)+\1$"}, "items": {}}, "a" * 40 + "b", "limits"),
    "another dialect": (
        {"$schema": "http://json-schema.org/draft-07/schema#", "not": {"pattern": SLOW}},
        "a" * 40 + "b",
        None,
    ),
    "a dialect inside": (
        {"not": {"items": {"$schema": "http://json-schema.org/draft-07/schema#", "pattern": SLOW}}},
        ["a" * 40 + "b"],
        None,
    ),
    "a value of 10,000 levels": (TREE, deep(10_000), "limits"),
    "a value of 10,000 levels for the library": ({"not": {"required": ["b"]}}, deep(10_000), "limits"),
    "a value of 10,000 levels in an enum": ({"properties": {"a": {"enum": [{}]}}}, deep(10_000), "limits"),
    "references that double": (DOUBLING, {}, "limits"),
    "references that double for the library": ({**DOUBLING, "not": {"$ref": "#/$defs/d0"}}, {}, "limits"),
    "many objects for the library": (
        {"not": {"uniqueItems": True}},
        [{"a": number} for number in range(20_000)],
        "not",
    ),
    "many items beside unevaluated": ({"unevaluatedItems": {}, "contains": {}}, list(range(50_000)), "limits"),
    "many fields beside unevaluated": ({"unevaluatedProperties": {}}, dict.fromkeys(map(str, range(5_000))), "limits"),
    "a long name beside unevaluated": (
        {"unevaluatedProperties": {}, "patternProperties": {"a+": {}}},
        {"a" * 200: 1},
        "limits",
    ),
    "a dialect where data is": (
        {
            "not": {"$ref": "#/default"},
            "default": {"$schema": "http://json-schema.org/draft-07/schema#", "pattern": SLOW},
        },
        "a" * 40 + "b",
        None,
    ),
    "a recursive schema": (TREE, {"a": {"a": {"b": "1"}}}, "type"),
    "many items": ({"properties": {"a": {"uniqueItems": True}}}, {"a": [[number] for number in range(20_000)]}, None),
    "a number without end": ({"properties": {"a": {"multipleOf": 0.01}}}, {"a": 1e308}, "multipleOf"),
    "an integer too long to print": ({"properties": {"a": {"type": "string"}}}, {"a": 10**5_000}, "type"),
    "an integer too long for the library to print": ({"not": {"required": ["a"]}}, {"a": 10**5_000}, "limits"),
}


@pytest.mark.timeout(5)
@pytest.mark.parametrize(("schema", "value", "keyword"), BOUNDED.values(), ids=BOUNDED.keys())
def test_a_check_ends_within_a_second(schema: dict, value: object, keyword: str | None) -> None:
    """Slow patterns, depth and references that multiply end as a finding, or as the right answer."""
    start = time.thread_time()
    found = Checker(schema, EXACT).findings(value)
    assert time.thread_time() - start < 1
    assert [one.keyword for one in found] == ([keyword] if keyword else [])


def test_nothing_is_fetched() -> None:
    """A reference to a server that listens is never asked for, compiled or left to the library."""
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{server.server_port}/schema.json"
        for schema in (
            {"$ref": url},
            {"$id": url, "$ref": f"{url}x"},
            {"not": {"$ref": url}},
            {"not": {"$dynamicRef": url}},
        ):
            with pytest.raises(CatalogueError):
                Checker(schema, EXACT).findings({})
        assert not Checker({"$schema": url, "not": False}, EXACT).findings({})
        server.shutdown()
        thread.join()
    assert asked == []


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        (
            {"patternProperties": {"^x": {}}, "required": ["a", "b"]},
            {},
            [("missing_field", "a"), ("missing_field", "b")],
        ),
        ({"patternProperties": {"^x": {"type": "integer"}}}, {"x": "1"}, [("type_mismatch", "x")]),
        ({"patternProperties": {"^x": {"enum": [1]}}}, {"x": 2}, [("invalid_enum", "x")]),
        ({"patternProperties": {"^x": {"const": 1}}}, {"x": 2}, [("invalid_enum", "x")]),
        ({"patternProperties": {"^x": {}}, "additionalProperties": False}, {"y": 2}, [("unknown_field", "y")]),
        ({"dependentRequired": {"a": ["b", "c"]}}, {"a": 1, "c": 1}, [("missing_field", "b")]),
        ({"propertyNames": {"maxLength": 1}}, {"ab": 1}, [("constraint", ())]),
        (
            {"dependentSchemas": {"a": {"anyOf": [{"type": "array"}, {"required": ["b"]}]}}},
            {"a": 1},
            [("missing_field", "b")],
        ),
        ({"anyOf": [{"type": "string"}, {"type": ["null", "string"]}]}, {}, [("type_mismatch", ())]),
        ({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"a": 1, "b": 1}, [("constraint", ())]),
        ({"oneOf": [{"required": ["a"]}, {"type": "string"}]}, {}, [("missing_field", "a")]),
        ({"$ref": "#x", "$defs": {"y": {"$anchor": "x", "required": ["a"]}}}, {}, [("missing_field", "a")]),
    ],
)
def test_what_the_library_finds_has_our_codes(schema: dict, value: object, expected: list) -> None:
    """Findings are the same kind whoever made them, and of several branches the nearest speaks."""
    found = [(one.code, one.path[1] if one.path else ()) for one in Checker(schema, EXACT).findings(value)]
    assert found == expected


def test_every_keyword_is_ours_or_the_library_s() -> None:
    """No keyword of the library is left out: each is compiled here, or makes its schema go there."""
    ours = {*KEYWORDS, *IN_PLACE, "type", "properties", "required", "additionalProperties", "items"}
    everything = set(jsonschema.Draft202012Validator.VALIDATORS)
    assert everything - ours - LIBRARY == {"$dynamicRef"}  # makes the whole schema go to the library
    assert {*LIBRARY} - everything == {"then", "else", "maxContains", "minContains"}  # read by their neighbours


def test_the_library_is_loaded_only_when_needed() -> None:
    """A schema of common keywords, with references and branches, loads no jsonschema."""
    program = (
        "import sys\nfrom otel_gate.toolcalls.checker import Checker\n"
        "from otel_gate.toolcalls.strictness import SETTINGS\n"
        "schema = {'$ref': '#/$defs/a', '$defs': {'a': {'anyOf': [{'properties': {'b': {'pattern': '^a'}}}]}}}\n"
        "Checker(schema, SETTINGS['default']).findings({'b': 'x'})\nsys.exit('jsonschema' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=False).returncode == 0


def test_without_the_library_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """A schema that needs the library, where it is missing, names the extra."""
    monkeypatch.setitem(sys.modules, "jsonschema", None)
    with pytest.raises(CatalogueError, match=r"otel-gate\[tools\]"):
        Checker({"not": {}}, EXACT)
    assert not Checker({"type": "object"}, EXACT).findings({})


def test_switches_can_be_combined() -> None:
    """A strictness of one's own is a value like the named ones."""
    mine = Strictness(number_texts=True, known_fields=True)
    check = Checker({"properties": {"a": {"type": ["integer", "boolean"]}}}, mine)
    assert [one.code for one in check.findings({"a": "-12", "b": 1})] == ["unknown_field"]
    assert check.findings({"a": "true"}) == []
    assert [one.code for one in check.findings({"a": "1.5"})] == ["type_mismatch"]


@pytest.mark.parametrize(
    ("schema", "value", "is_valid"),
    [
        ({"uniqueItems": True}, [1, True, 0, False, "1", None, [], {}], True),
        ({"uniqueItems": True}, [1, 1.0], False),
        ({"uniqueItems": True}, [[1], [True]], True),
        ({"uniqueItems": True}, [{"a": 1, "b": [0]}, {"b": [0.0], "a": 1}], False),
        ({"enum": [0, [1], {"a": True}]}, False, False),
        ({"enum": [0, [1], {"a": True}]}, [True], False),
        ({"enum": [0, [1], {"a": True}]}, {"a": 1}, False),
        ({"enum": [0, [1], {"a": True}]}, [1.0], True),
        ({"const": {"a": 1}}, {"a": 1, "b": 1}, False),
        ({"type": "integer"}, True, False),
        ({"type": "number"}, False, False),
        ({"type": ["integer", "boolean"]}, True, True),
        ({"type": "integer"}, 1e300, True),
    ],
)
def test_a_bool_is_no_number_at_any_depth(schema: dict, value: object, is_valid: bool) -> None:  # noqa: FBT001
    """Values are equal as JSON Schema has it: true is not 1, and 1.0 is 1."""
    assert (not Checker(schema, EXACT).findings(value)) is is_valid
    assert expected(schema, value) is is_valid


def test_of_several_schemas_the_nearest_is_reported() -> None:
    """A branch of the right type says what it lacks, although another has fewer findings."""
    branches = [{"type": "string"}, {"type": "object", "required": ["a", "b"]}]
    for keyword in ("anyOf", "oneOf"):
        found = Checker({keyword: branches}, EXACT).findings({})
        assert [(one.code, one.path[1]) for one in found] == [("missing_field", "a"), ("missing_field", "b")]
