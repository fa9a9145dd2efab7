"""The examples of ``../shared/bfcl``: their tools, and the call that the gold answer stands for."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any, NamedTuple

from otel_gate.toolcalls.checker import Checker
from otel_gate.toolcalls.forms.bfcl import tools_from_bfcl
from otel_gate.toolcalls.model import Call
from otel_gate.toolcalls.strictness import SETTINGS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from otel_gate.toolcalls.model import Tool

FILES = ("simple_python", "multiple", "live_simple")
CONTRADICTING = frozenset({"live_simple_71-35-0", "live_simple_106-63-0", "live_simple_112-68-0"})
MOST_WAYS = 64


class Example(NamedTuple):
    """One example: its id, the visible tools, and the gold call."""

    name: str
    tools: list[Tool]
    call: Call

    @property
    def tool(self) -> Tool:
        """Return the tool that the gold call names."""
        return next(tool for tool in self.tools if tool.name == self.call.tool)


def examples(shared: Path) -> Iterator[Example]:
    """Read every example."""
    for file in FILES:
        questions = _lines(shared / "bfcl" / f"BFCL_v4_{file}.json")
        answers = _lines(shared / "bfcl" / "possible_answer" / f"BFCL_v4_{file}.json")
        for question, answer in zip(questions, answers, strict=True):
            assert question["id"] == answer["id"]
            tools = tools_from_bfcl(question["function"])
            [(name, accepted)] = answer["ground_truth"][0].items()
            parameters = next(tool.parameters for tool in tools if tool.name == name)
            yield Example(question["id"], tools, Call(name, _object(accepted, parameters)))


def _lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _object(accepted: dict[str, list[Any]], schema: dict[str, Any]) -> dict[str, Any]:
    required = schema.get("required", [])
    fields = schema.get("properties", {})
    return {
        name: _first(values, fields.get(name, {}))
        for name, values in accepted.items()
        if values and (name in required or "" not in values)
    }


def _first(values: list[Any], schema: dict[str, Any]) -> Any:
    ways = list(itertools.chain.from_iterable(_ways(value, schema) for value in values))
    check = Checker(schema, SETTINGS["default"])
    return next((way for way in ways if not check.findings(way)), ways[0])


def _ways(value: Any, schema: dict[str, Any]) -> list[Any]:
    """Return what an accepted value may stand for: an object in it holds lists of accepted values again, or none."""
    if isinstance(value, dict):
        held = all(isinstance(one, list) for one in value.values())
        return [_object(value, schema), value] if held else [value]
    if isinstance(value, list):
        each = [_ways(one, schema.get("items", {})) for one in value]
        return [list(way) for way in itertools.islice(itertools.product(*each), MOST_WAYS)]
    return [value]
