"""What an answer turns out to be, in the table's words: a turn for each of its calls, with what is wrong with it.

Where a call is due, one that is written as text is taken; where none is due, a text is a text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from otel_gate.toolcalls.model import Answer, Call, Issue, Tool
from otel_gate.toolcalls.received import read
from otel_gate.toolcalls.validate import Judged, Validation, validate

if TYPE_CHECKING:
    from otel_gate.toolcalls.request import Request
    from otel_gate.toolcalls.task import Task
    from otel_gate.toolcalls.transitions import Turn

AROUND_A_NAME = " \t\r\n\"'`*.:!()[]"
NAMELESS = frozenset({"missing_tool_name", "unknown_tool"})


class Heard(Struct, frozen=True):
    """One call of an answer (or the want of one): its turn, its tool where that is settled, and its issues.

    ``received`` is the call as it came, ``call`` the same with its arguments read.
    """

    turn: Turn
    received: Call
    call: Call
    tool: Tool | None = None
    issues: tuple[Issue, ...] = ()


def hear(answer: Answer, task: Task) -> list[Heard]:
    """Return what the agent's answer turns out to be: one entry for each call, one for an answer without any."""
    return _heard(answer, task, task.call_required, task.max_tokens)


def hear_again(answer: Answer, request: Request, task: Task) -> list[Heard]:
    """Return the same of an answer to the first request with a larger budget."""
    return _heard(answer, task, task.call_required, request.max_tokens)


def hear_one(answer: Answer, request: Request, task: Task) -> Heard:
    """Return what the one call turns out to be that a selection or a repair was asked for.

    Of several calls the first of the asked-for tool counts. A selection may be answered by a tool's bare name, whose
    call is then empty.
    """
    answer = _spoken(answer, request.tool)
    calls = sorted(answer.calls, key=lambda call: call.tool != request.tool)[:1] if request.tool else answer.calls[:1]
    one = replace(answer, calls=tuple(calls))
    [heard] = _heard(one, task, True, request.max_tokens, request.tool)  # noqa: FBT003
    if heard.turn not in ("no_tool", "only_tool", "no_tools"):
        return heard
    chosen = None if request.tool or one.calls else task.named(answer.text.strip(AROUND_A_NAME))
    return Heard("invalid" if chosen else "no_tool", heard.received, heard.call, chosen, heard.issues)


def with_tool(heard: Heard, tool: Tool, task: Task) -> Heard:
    """Return the same call with its tool settled, and what is wrong with its arguments as that tool's."""
    if heard.call.tool == tool.name and not any(one.code in NAMELESS for one in heard.issues):
        rest: tuple[Issue, ...] = ()
    else:
        rest = _judged(Answer((Call(tool.name, heard.received.arguments),)), task).issues
    there = {(one.code, one.path) for one in heard.issues}
    issues = (*heard.issues, *(one for one in rest if (one.code, one.path) not in there))
    return Heard(heard.turn, heard.received, heard.call, tool, issues)


def _spoken(answer: Answer, tool: str) -> Answer:
    """Return an answer whose text is read as the call that is due, where it holds no other."""
    return answer if answer.calls or not answer.text else replace(answer, calls=read(answer.text, tool=tool).calls)


def _heard(answer: Answer, task: Task, due: bool, max_tokens: int | None, only: str = "") -> list[Heard]:  # noqa: FBT001
    answer = _spoken(answer, only) if due else answer
    found = _judged(answer, task, due=due, max_tokens=max_tokens, only=only)
    first = answer.calls[0] if answer.calls else Call("")
    codes = {one.code for one in found.whole}
    if "truncated" in codes:
        return [Heard("truncated", first, first, None, found.issues)]
    if not answer.calls:
        return [Heard(_nameless(task), first, first, None, found.issues) if codes else Heard("text", first, first)]
    return [_of(call, one, task) for call, one in zip(answer.calls, found.calls, strict=True)]


def _judged(
    answer: Answer, task: Task, *, due: bool = False, max_tokens: int | None = None, only: str = ""
) -> Validation:
    return validate(
        answer,
        task.tools,
        strictness=task.policy.strictness,
        language=task.policy.language,
        call_required=due,
        max_tokens=max_tokens,
        only=only,
    )


def _of(received: Call, judged: Judged, task: Task) -> Heard:
    codes = {one.code for one in judged.issues}
    turn: Turn
    if not codes:
        turn = "valid"
    elif "wrong_tool" in codes:
        turn = "wrong_tool"
    else:
        turn = _nameless(task) if codes & NAMELESS else "invalid"
    return Heard(turn, received, judged.call, judged.tool, judged.issues)


def _nameless(task: Task) -> Turn:
    return "no_tool" if len(task.tools) > 1 else "only_tool" if task.tools else "no_tools"
