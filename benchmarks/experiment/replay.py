"""Recorded calls, judged and scored without any model: one JSON object a line.

``id``; ``tool``: the schema of the gold tool, in any provider's form; ``visible``: the tools that were shown, as
schemas or names (the gold tool alone when absent); ``call``: what the model answered, as received; ``finish_reason``;
``gold``: the right call, or BFCL's accepted values; ``repair``: what a repair request was answered, if there was one;
``named``: whom bare arguments belong to.
"""

from __future__ import annotations

import json
import statistics
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from experiment.examples import Example, right
from otel_gate.errors import GateError, InputError
from otel_gate.toolcalls.forms import tool_of
from otel_gate.toolcalls.hearing import hear, hear_one
from otel_gate.toolcalls.model import Call, Tool
from otel_gate.toolcalls.received import read
from otel_gate.toolcalls.repair import first_request
from otel_gate.toolcalls.task import Task

EXPECTED = "a recorded call: an object with tool, call and gold"
FORM = "the form at the head of experiment/replay.py"


class Row(Struct, frozen=True):
    """One line: a recorded call."""

    tool: Any
    call: Any
    gold: dict[str, Any] | list[Any] | str
    id: Any = ""
    visible: list[dict[str, Any] | str] = []
    finish_reason: str | None = None
    repair: Any = None
    named: str = ""


class Replayed(NamedTuple):
    """One recorded call: its issues, whether it was repaired to something valid, and whether it was right."""

    codes: tuple[str, ...]
    accepted: bool | None
    right_first: bool
    right: bool


def replay(path: str) -> dict[str, Any]:
    """Return trigger, issues, acceptance and score of a file of recorded calls.

    Raises:
        InputError: there is no such file, or a line is no recorded call.
    """
    try:
        lines = Path(path).read_bytes().decode("utf-8-sig").split("\n")
    except (OSError, ValueError) as error:
        got = getattr(error, "strerror", None) or str(error)
        raise InputError(path, "a file of recorded calls, in UTF-8", got, "another path") from error
    found = [_line(line, f"{path}, line {number}") for number, line in enumerate(lines, 1) if line.strip()]
    repairs = [one.accepted for one in found if one.accepted is not None]
    share = statistics.fmean if found else sum  # of no calls, 0
    return {
        "calls": len(found),
        "triggered": sum(bool(one.codes) for one in found),
        "issues": dict(sorted(Counter(code for one in found for code in one.codes).items())),
        "repairs": len(repairs),
        "accepted": sum(repairs),
        "score_first": share([float(one.right_first) for one in found]),
        "score": share([float(one.right) for one in found]),
        "unseen": sum(not one.right_first and not one.codes for one in found),
        "harms": sum(one.right_first and not one.right for one in found),
    }


def _line(line: str, which: str) -> Replayed:
    try:
        return _one(msgspec.convert(json.loads(line), Row))
    except (ValueError, RecursionError) as error:
        raise InputError(which, EXPECTED, str(error), FORM) from error
    except GateError as error:
        which = f"{which}, {error.which}"
        raise InputError(which, error.expected, error.got, error.try_ or FORM) from error


def _one(row: Row) -> Replayed:
    tool = tool_of(row.tool)
    example = _example(row, tool)
    task = Task((), example.tools, call_required=True)
    answer = read(row.call, tool=row.named)
    answer = replace(answer, finish_reason=row.finish_reason or answer.finish_reason)
    heard = hear(answer, task)[0]
    first = heard.call if heard.turn == "valid" else None
    codes = tuple(issue.code for issue in heard.issues)
    if not codes or row.repair is None:
        return Replayed(codes, None, right(first, example), right(first, example))
    locked = heard.tool.name if heard.tool else ""
    request = replace(first_request(task), tool=locked, call_required=True)
    second = hear_one(read(row.repair, tool=locked), request, task)
    last = second.call if second.turn == "valid" else None
    return Replayed(codes, last is not None, right(first, example), right(last, example))


def _example(row: Row, tool: Tool) -> Example:
    shown = [tool_of(one) if isinstance(one, dict) else Tool(one, "", tool.parameters) for one in row.visible]
    others = [one for one in shown if one.name != tool.name]
    return Example(str(row.id), (), (tool, *others), Call(tool.name, {}), _accepted(row.gold, tool))


def _accepted(gold: Any, tool: Tool) -> dict[str, list[Any]]:
    """Return the values that are right for each argument.

    Raises:
        InputError: the gold is neither a call nor accepted values.
    """
    call = read(gold).calls[:1] if not isinstance(gold, dict) or gold.keys() & {"name", "function"} else ()
    if call and isinstance(call[0].arguments, dict):
        return {name: [one] for name, one in call[0].arguments.items()}
    accepted = gold.get(tool.name, gold) if isinstance(gold, dict) and not call else None
    if isinstance(accepted, dict) and all(isinstance(one, list) for one in accepted.values()):
        return accepted
    raise InputError("gold", "a call, or a list of accepted values for each argument", json.dumps(gold)[:80], FORM)
