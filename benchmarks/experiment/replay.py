"""Recorded calls, judged and scored without any model: one JSON object a line.

``id``; ``tool``: the schema of the gold tool, in any provider's form; ``visible``: the tools that were shown, as
schemas or names (the gold tool alone when absent); ``call``: what the model answered, as received; ``finish_reason``;
``gold``: the right call, or BFCL's accepted values; ``repair``: what a repair request was answered, if there was one.
"""

from __future__ import annotations

import json
import statistics
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from experiment.examples import Example, right
from otel_gate.toolcalls.forms import tool_of
from otel_gate.toolcalls.hearing import hear, hear_one
from otel_gate.toolcalls.model import Call, Tool
from otel_gate.toolcalls.received import read
from otel_gate.toolcalls.repair import first_request
from otel_gate.toolcalls.task import Task


class Replayed(NamedTuple):
    """One recorded call: its issues, whether it was repaired to something valid, and whether it was right."""

    codes: tuple[str, ...]
    accepted: bool | None
    right_first: bool
    right: bool


def replay(path: str) -> dict[str, Any]:
    """Return trigger, issues, acceptance and score of a file of recorded calls."""
    lines = [line for line in Path(path).read_text(encoding="utf-8").splitlines() if line.strip()]
    found = [_one(json.loads(line)) for line in lines]
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


def _one(row: dict[str, Any]) -> Replayed:
    tool = tool_of(row["tool"])
    example = _example(row, tool)
    task = Task((), example.tools, call_required=True)
    answer = read(row["call"], tool=row.get("named", ""))
    answer = replace(answer, finish_reason=row.get("finish_reason") or answer.finish_reason)
    heard = hear(answer, task)[0]
    first = heard.call if heard.turn == "valid" else None
    codes = tuple(issue.code for issue in heard.issues)
    if not codes or row.get("repair") is None:
        return Replayed(codes, None, right(first, example), right(first, example))
    locked = heard.tool.name if heard.tool else ""
    request = replace(first_request(task), tool=locked, call_required=True)
    second = hear_one(read(row["repair"], tool=locked), request, task)
    last = second.call if second.turn == "valid" else None
    return Replayed(codes, last is not None, right(first, example), right(last, example))


def _example(row: dict[str, Any], tool: Tool) -> Example:
    shown = [tool_of(one) for one in row.get("visible", ()) if isinstance(one, dict)]
    named = [Tool(one, "", tool.parameters) for one in row.get("visible", ()) if isinstance(one, str)]
    others = [one for one in (*shown, *named) if one.name != tool.name]
    gold = row["gold"]
    call = read(gold).calls[:1] if not isinstance(gold, dict) or gold.keys() & {"name", "function"} else ()
    accepted = {name: [one] for name, one in call[0].arguments.items()} if call else gold.get(tool.name, gold)
    return Example(str(row.get("id", "")), (), (tool, *others), Call(tool.name, {}), accepted)
