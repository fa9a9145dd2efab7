"""Examples of BFCL's: a dialogue, its tools, the gold call, and whether a call is right before or after a drift."""

from __future__ import annotations

import json
import random
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from otel_gate.errors import InputError
from otel_gate.toolcalls.checker import Checker
from otel_gate.toolcalls.forms import tools_from_bfcl
from otel_gate.toolcalls.model import Call, Tool
from otel_gate.toolcalls.strictness import SETTINGS
from otel_gate.toolcalls.validate import validate

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from otel_gate.toolcalls.drifts import Drift
    from otel_gate.toolcalls.drifts import Path as Keys

DATA = "--data with the folder of BFCL's files"
FILES = ("simple_python", "multiple", "live_simple")
ABSENT = ""  # in a list of accepted values: the argument may be left out
ITEM = "[]"


class Example(NamedTuple):
    """One example; ``accepted`` has the values that are right for each argument of the gold call's tool."""

    name: str
    messages: tuple[Any, ...]
    tools: tuple[Tool, ...]
    gold: Call
    accepted: dict[str, list[Any]]


def load(folder: Path, count: int, seed: int) -> list[Example]:
    """Return ``count`` examples in a seeded order; those whose gold call does not fit its own schema are left out.

    Raises:
        InputError: a file is not there, or has a line that is no example.
    """
    found = [one for file in FILES for one in _file(folder, file)]
    random.Random(seed).shuffle(found)  # noqa: S311 - an experiment's seed
    return found[:count]


def _file(folder: Path, name: str) -> Iterator[Example]:
    file = f"BFCL_v4_{name}.json"
    answers = folder / "possible_answer" / file
    try:
        gold = {one["id"]: one["ground_truth"][0] for one in _lines(answers)}
    except (LookupError, TypeError) as error:
        raise InputError(str(answers), "id and ground_truth on each line", str(error), DATA) from error
    for number, row in enumerate(_lines(folder / file), 1):
        try:
            made = _example(row, gold)
        except (LookupError, TypeError, ValueError, AttributeError, StopIteration) as error:
            which, got = f"{folder / file}, line {number}", f"{type(error).__name__}: {error}"
            raise InputError(which, "an example of BFCL's with its gold call", got, DATA) from error
        if validate(made.gold, made.tools).valid and right(made.gold, made):
            yield made


def _example(row: dict[str, Any], gold: dict[str, Any]) -> Example:
    tools = tuple(tools_from_bfcl(row["function"]))
    [(tool, accepted)] = gold[row["id"]].items()
    call = Call(tool, _gold(accepted, next(one.parameters for one in tools if one.name == tool)))
    return Example(row["id"], tuple(row["question"][0]), tools, call, accepted)


def _lines(path: Path) -> list[Any]:
    try:
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError, RecursionError) as error:
        got = getattr(error, "strerror", None) or str(error)
        raise InputError(str(path), "a file of BFCL's, one JSON object a line", got, DATA) from error


def _gold(accepted: dict[str, list[Any]], schema: dict[str, Any]) -> dict[str, Any]:
    required, fields = schema.get("required", ()), schema.get("properties", {})
    named = {name: values for name, values in accepted.items() if name in required or ABSENT not in values}
    return {name: _fitting(values, fields.get(name, {})) for name, values in named.items() if values}


def _fitting(values: list[Any], schema: dict[str, Any]) -> Any:
    ways = [_gold(one, schema) if _holds_lists(one) else one for one in values]
    check = Checker(schema, SETTINGS["default"])
    return next((way for way in ways if not check.findings(way)), ways[0])


def _holds_lists(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(one, list) for one in value.values())


def right(call: Call | None, example: Example, drift: Drift | None = None) -> bool:
    """Say whether a call names the gold tool and has accepted values only, in the names after the drift."""
    if call is None or call.tool != example.gold.tool or not isinstance(call.arguments, dict):
        return False
    names, values = (drift.fields.get(call.tool, {}), drift.values.get(call.tool, {})) if drift else ({}, {})
    return _object(_undone(call.arguments, (), names, values), example.accepted)


def _undone(value: Any, path: Keys, names: dict[Keys, str], values: dict[Keys, dict[str, Any]]) -> Any:
    """Return a value in the names and enum values from before the drift; a name from before is now an unknown one."""
    if isinstance(value, dict):
        old = {new: at[-1] for at, new in names.items() if at[:-1] == path}
        gone = {at[-1] for at in names if at[:-1] == path} - old.keys()
        named = {key: old.get(key, f"{key} (gone)" if key in gone else key) for key in value}
        return {now: _undone(value[key], (*path, now), names, values) for key, now in named.items()}
    if isinstance(value, list):
        return [_undone(one, (*path, ITEM), names, values) for one in value]
    back = {json.dumps(new): old for old, new in values.get(path, {}).items()}
    return back.get(json.dumps(value), value)


def _object(value: dict[str, Any], accepted: dict[str, list[Any]]) -> bool:
    left_out = [name for name in accepted if name not in value]
    known = value.keys() <= accepted.keys() and all(ABSENT in accepted[name] for name in left_out)
    return known and all(any(_same(one, way) for way in accepted[name]) for name, one in value.items())


def _same(value: Any, way: Any) -> bool:
    if _holds_lists(way):
        return isinstance(value, dict) and _object(value, way)
    if isinstance(way, list):
        return isinstance(value, list) and len(value) == len(way) and all(map(_same, value, way))
    if isinstance(way, str):
        return isinstance(value, str) and _plain(value) == _plain(way)
    return isinstance(value, bool) == isinstance(way, bool) and bool(value == way)


def _plain(text: str) -> str:
    """Return a text as BFCL compares it: without case, spaces and most punctuation."""
    return re.sub(r"[ ,./\-_*^()]", "", text).lower().replace("'", '"')
