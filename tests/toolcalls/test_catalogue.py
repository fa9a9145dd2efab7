"""Catalogues are values, known by their hash, and read from any form; what is broken is said in one sentence."""

# ruff: noqa: RUF001 - names in other scripts
from __future__ import annotations

import copy
import hashlib
import json
import pickle
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
import rfc8785
from hypothesis import given, settings

from otel_gate.errors import CatalogueError
from otel_gate.toolcalls.catalogue import Catalogue, catalogue_bytes, catalogue_of, load
from otel_gate.toolcalls.forms import to_anthropic, to_gemini, to_mcp, to_openai
from otel_gate.toolcalls.forms.schema import MAX_DEPTH
from otel_gate.toolcalls.model import Tool
from tests.conftest import ROOT
from tests.toolcalls.interfaces import bfcl, catalogues

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}, "a": {"type": "integer"}}, "required": ["q"]}
SEARCH = Tool("search", "Searches.", SCHEMA)
BODY = {"name": "search", "description": "Searches."}
CHAT = {"type": "function", "function": {**BODY, "parameters": SCHEMA, "strict": True}}
FORMS: dict[str, Any] = {
    "chat": [CHAT],
    "chat request": {"model": "m", "messages": [], "tools": [CHAT]},
    "chat, one": CHAT,
    "former functions": {"functions": [{**BODY, "parameters": SCHEMA}]},
    "responses": [{"type": "function", **BODY, "parameters": SCHEMA}],
    "anthropic": {"tools": [{**BODY, "input_schema": SCHEMA}]},
    "mcp answer": {"jsonrpc": "2.0", "id": 1, "result": {"tools": [{**BODY, "inputSchema": SCHEMA, "title": "t"}]}},
    "mcp tools": {"tools": [{**BODY, "inputSchema": SCHEMA}], "nextCursor": "x"},
    "mcp title": [{"name": "search", "title": "Searches.", "inputSchema": SCHEMA}],
    "gemini": {
        "tools": [
            {
                "functionDeclarations": [
                    {
                        **BODY,
                        "parameters": {
                            "type": "OBJECT",
                            "properties": {"a": {"type": "INTEGER"}, "q": {"type": "STRING"}},
                            "required": ["q"],
                            "propertyOrdering": ["q", "a"],
                        },
                    }
                ]
            }
        ]
    },
    "gemini, whole": [{"function_declarations": [{**BODY, "parametersJsonSchema": SCHEMA}]}],
    "bfcl": {"id": "1", "question": [], "function": [{**BODY, "parameters": {**SCHEMA, "type": "dict"}}]},
    "bare": [{**BODY, "parameters": SCHEMA}],
}


def data(value: Any) -> bytes:
    return json.dumps(value).encode()


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(levels):
        schema = {"type": "array", "items": schema}
    return {"type": "object", "properties": {"a": schema}}


@pytest.mark.parametrize("form", FORMS)
def test_a_form_is_recognised_by_itself(form: str) -> None:
    """The same tool in each provider's form is the same catalogue."""
    assert load(data(FORMS[form])) == Catalogue([SEARCH])


def test_it_is_a_value() -> None:
    """Tools are found by name, in their order; nothing of it can be set; a copy and a pickle are equal."""
    made = Catalogue([SEARCH, Tool("b")])
    assert (made.names, len(made), made["b"], made.get("c"), "search" in made) == (
        ("search", "b"),
        2,
        Tool("b"),
        None,
        True,
    )
    with pytest.raises(AttributeError, match="is a value"):
        made.tools = ()
    with pytest.raises(AttributeError, match="is a value"):
        del made.hash
    assert copy.deepcopy(made) == pickle.loads(pickle.dumps(made)) == made  # noqa: S301 - our own bytes
    assert len({made, Catalogue(made.tools)}) == 1
    assert made != 1
    assert repr(made).startswith("Catalogue(2 tools, ")


def test_the_hash_is_of_canonical_bytes() -> None:
    """The stored bytes are what RFC 8785 makes of them, and the hash is theirs."""
    made = Catalogue([SEARCH, Tool("é.ё", "…", {"type": "object", "properties": {"б": {"default": 1.5}}})])
    content = catalogue_bytes(made)
    assert content == rfc8785.dumps(json.loads(content))
    assert made.hash == hashlib.sha256(content).hexdigest()


def test_the_hash_is_the_same_in_every_process() -> None:
    """A hash does not depend on the process, and is this one."""
    code = "from tests.toolcalls.test_catalogue import *; print(Catalogue([SEARCH]).hash)"
    ran = [
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": "."},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("1", "2")
    ]
    assert ran == [Catalogue([SEARCH]).hash] * 2


def test_the_order_of_tools_and_fields_counts() -> None:
    """A model sees an order, so another order is another hash, and the stored bytes keep it."""
    turned = Tool("search", "Searches.", {**SCHEMA, "properties": {"a": {"type": "integer"}, "q": {"type": "string"}}})
    assert Catalogue([turned]).hash != Catalogue([SEARCH]).hash
    assert Catalogue([SEARCH, Tool("b")]) != Catalogue([Tool("b"), SEARCH])
    for tool in (turned, SEARCH):
        assert list(load(Catalogue([tool]).content)["search"].parameters["properties"]) == list(
            tool.parameters["properties"]
        )


@settings(max_examples=50)
@given(catalogues)
def test_stored_bytes_give_the_catalogue_back(tools: list[Tool]) -> None:
    """Whatever tools there are, loading the bytes gives the same tools, to the order of their fields."""
    made = Catalogue(tools)
    again = load(made.content)
    assert again == made
    assert again.tools == made.tools


def test_all_bfcl_tools_can_be_read() -> None:
    """Each of the 858 examples is a catalogue, in its own words and in every form that is written."""
    counted = 0
    for example, tools in bfcl():
        made = Catalogue(tools)
        assert load(data(example)) == made
        for write in (to_openai, to_anthropic, to_gemini, to_mcp):
            assert len(load(data(write(made).tools))) == len(made)
        counted += 1
    assert counted == 858


def test_an_empty_list_is_an_empty_catalogue(tmp_path: Path) -> None:
    """A server without tools is no mistake; a file is read like bytes, with or without a byte order mark."""
    path = tmp_path / "tools.json"
    path.write_bytes(b"\xef\xbb\xbf[]")
    assert load(path) == load(str(path)) == load(b'{"result": {"tools": []}}') == Catalogue([])


BROKEN: dict[str, tuple[Any, str]] = {
    "twins": ([{"name": "a"}, {"name": "a"}], "tool 'a': expected a name of its own, got two tools of it; try"),
    "no name": ([{"parameters": {}}], "tool 0: expected a tool as OpenAI"),
    "empty name": ([{"name": "", "parameters": {}}], "tool 0, name: expected a text, got ''"),
    "name of another type": ([{"name": 5, "inputSchema": {}}], "tool 0, name: expected a text, got 5"),
    "chat without an object": ([{"type": "function", "function": 5}], "tool 0, function: expected an object, got 5"),
    "long name": ([{"name": "n" * 300}], "tool 0: expected a name of 1 to 256 characters"),
    "description": ([{"name": "a", "description": 5}], "tool 'a', description: expected a text, got 5"),
    "no object": (
        [{"name": "a", "inputSchema": []}],
        "tool 'a', inputSchema: expected the schema of an object, got an array",
    ),
    "not an object's": ([{"name": "a", "inputSchema": {"type": "array"}}], "tool 'a', $.type: expected \"object\""),
    "a number": (5, "catalogue: expected a tool as OpenAI"),
    "another document": ({"spans": []}, "tool 0: expected a tool as OpenAI"),
    "a text in the list": (
        ["a"],
        "catalogue: expected a tool as OpenAI, Anthropic, Gemini, MCP or BFCL writes it, got 'a'",
    ),
    "lists in lists": (
        [[[[[[[[[[]]]]]]]]]],
        "catalogue: expected a list of tools, got more than 8 lists in each other",
    ),
    "lists of nothing": ([[]], "catalogue: expected a list of tools, got none in it"),
    "hosted": (
        [{"type": "web_search"}],
        "tool 0: expected a tool as OpenAI, Anthropic, Gemini, MCP or BFCL writes it, got a hosted",
    ),
    "deep": (
        [{"name": "a", "inputSchema": nested(MAX_DEPTH)}],
        f"tool 'a', inputSchema: expected at most {MAX_DEPTH} levels",
    ),
    "large": (
        [{"name": "a", "inputSchema": {"enum": [0] * 100_001}}],
        "tool 'a', inputSchema: expected at most 100000 values",
    ),
    "surrogate": ([{"name": "a\ud800"}], "tool 'a\\ud800': expected text that UTF-8 can carry"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_catalogue_is_an_error_that_says_where(case: str) -> None:
    """Which, expected and got stand in one line, and the exit code is that of no input."""
    value, message = BROKEN[case]
    with pytest.raises(CatalogueError) as caught:
        load(data(value))
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 66


KEYWORDS: dict[str, list[Any]] = {
    "type": ["dict", 5, [], ["string", "text"], [["string"]], None],
    "properties": [[], {"a": 5}, {"a": None}],
    "required": [True, "a", [1]],
    "enum": ["a", {}],
    "items": [5, "x", [5]],
    "anyOf": [{}, [], [1]],
    "$defs": [[], {"a": 1}],
    "minimum": ["1", True],
    "exclusiveMinimum": [True],
    "multipleOf": [0, -1, "2"],
    "minLength": [-1, 1.5, "3"],
    "uniqueItems": [1],
    "pattern": [5],
    "format": [None],
    "$ref": [{}],
    "description": [[]],
    "dependentRequired": [[], {"a": "b"}],
    "not": [[]],
}


@pytest.mark.parametrize(
    ("keyword", "value"), [(keyword, value) for keyword, some in KEYWORDS.items() for value in some]
)
def test_a_keyword_of_the_wrong_type_is_named(keyword: str, value: Any) -> None:
    """Schemas of servers are not trusted: the path of the first wrong keyword is said."""
    schema = {"type": "object", "properties": {"x y": {"properties": {"z": {keyword: value}}}}}
    with pytest.raises(CatalogueError) as caught:
        load(data([{"name": "a", "inputSchema": schema}]))
    assert caught.value.which.startswith("tool 'a', $.properties['x y'].properties.z")
    assert keyword in caught.value.which
    assert caught.value.expected
    assert caught.value.got


BYTES = {
    "empty": b"",
    "not UTF-8": b"\xff\xfe[",
    "cut off": b'[{"name": "a"',
    "a key twice": b'[{"name": "a", "name": "b"}]',
    "NaN": b'[{"name": "a", "parameters": {"minimum": NaN}}]',
    "deep": b"[" * 100_000,
    "deep objects": b'{"a":' * 100_000,
    "long number": b'[{"name": "a", "parameters": {"minimum": ' + b"9" * 5000 + b"}}]",
}


@pytest.mark.timeout(30)
@pytest.mark.parametrize("case", BYTES)
def test_bytes_that_are_no_json_are_an_error(case: str) -> None:
    """They end in a sentence, soon."""
    with pytest.raises(CatalogueError) as caught:
        load(BYTES[case], which="tools.json")
    assert caught.value.which == "tools.json"
    assert caught.value.expected == "JSON"


@pytest.mark.timeout(30)
def test_many_keys_with_one_twice_are_refused_soon() -> None:
    """Finding the key that is there twice takes no square of the keys."""
    content = b"{" + b",".join(b'"%d":0' % number for number in range(200_000)) + b',"7":0}'
    with pytest.raises(CatalogueError, match="the key '7' twice"):
        load(content)


@pytest.mark.parametrize(
    ("reference", "where"),
    [
        ("#/required", "expected a schema (an object or a boolean), got an array"),
        ("#/default", "expected an array of names, got 5"),
    ],
)
def test_a_reference_to_what_is_no_schema_is_an_error(reference: str, where: str) -> None:
    """What a reference leads to is looked at like a schema that stands in its place."""
    schema = {"properties": {"a": {"$ref": reference}}, "required": ["a"], "default": {"required": 5}}
    with pytest.raises(CatalogueError) as caught:
        Catalogue([Tool("t", "", schema)])
    assert str(caught.value).startswith(f"tool 't', '{reference}'")
    assert where in str(caught.value)


def test_no_file_is_an_error(tmp_path: Path) -> None:
    """A path that leads to no file is named."""
    for path in (tmp_path / "none.json", tmp_path, "a\0b"):
        with pytest.raises(CatalogueError) as caught:
            load(path)
        assert caught.value.which == str(path)


def test_what_is_no_tool_is_an_error() -> None:
    """A Python object that no tool can be made of is named by its type."""
    with pytest.raises(CatalogueError, match=r"tool 1: expected a tool, .*, got a int"):
        catalogue_of(SEARCH, 5)


def test_a_schema_that_holds_itself_is_an_error() -> None:
    """A Python object without an end is too deep."""
    schema: dict[str, Any] = {"type": "object", "properties": {}}
    schema["properties"]["a"] = schema
    with pytest.raises(CatalogueError, match="levels"):
        Catalogue([Tool("a", "", schema)])
    with pytest.raises(CatalogueError, match="a text, got 5"):
        Catalogue([Tool("a", 5, {})])  # type: ignore[arg-type]


def test_a_list_of_tools_is_told_how_to_be_given() -> None:
    """One argument is one tool."""
    with pytest.raises(CatalogueError, match=r"catalogue_of\(\*tools\)"):
        catalogue_of([{"name": "x"}])


def test_what_does_not_belong_in_an_array_is_named() -> None:
    """An array that is refused for one of its items is not said to be refused for being an array."""
    with pytest.raises(CatalogueError, match=r"expected an array of names, got an array with null in it"):
        Catalogue([Tool("t", "", {"required": ["a", None]})])


@pytest.mark.parametrize("tool", [Tool("\ud800"), Tool("it", "\ud800"), Tool("it", "", {"properties": {"\ud800": {}}})])
def test_half_a_surrogate_pair_is_named(tool: Tool) -> None:
    """A catalogue has bytes, so its texts are whole characters; the error shows which one is not."""
    with pytest.raises(CatalogueError) as caught:
        Catalogue([tool])
    assert caught.value.got == r"half a surrogate pair, '\ud800'"
    assert str(caught.value).isprintable()
