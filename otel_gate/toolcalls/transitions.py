"""The repair of a call, drawn as one table: states, what an answer may turn out to be there, and what comes next.

    state   valid     text      truncated   no_tool     only_tool  no_tools    invalid     wrong_tool
    ------  --------  --------  ----------  ----------  ---------  ----------  ----------  ----------
    first   valid     answered  again       select      repair     unresolved  repair      -
    again   repaired  answered  unresolved  select      repair     unresolved  repair      -
    select  repaired  -         unresolved  unresolved  -          -           repair      -
    repair  repaired  -         unresolved  unresolved  -          -           unresolved  unresolved

Every way through it ends, with at most three requests: no state comes after itself or after a later one. The first
answer is the agent's own and is not counted. A forced choice that is refused is sent again without force and counts
too; where three requests have gone out, or the model fails, what comes next is ``unresolved``.
"""

from __future__ import annotations

from typing import Literal, TypeGuard, get_args

State = Literal["first", "again", "select", "repair"]
End = Literal["valid", "answered", "repaired", "unresolved"]
Turn = Literal["valid", "text", "truncated", "no_tool", "only_tool", "no_tools", "invalid", "wrong_tool"]

MOST_REQUESTS = 3
STATES: dict[State, str] = {
    "first": "the agent's own request",
    "again": "the same with a larger budget",
    "select": "choose one of the visible tools",
    "repair": "write the call of this tool again, by these issues",
}
TURNS: dict[Turn, str] = {
    "valid": "a call that fits",
    "text": "an answer without a call, and none is due",
    "truncated": "cut off",
    "no_tool": "no call, no name or no such tool, and several tools are visible",
    "only_tool": "the same, and one tool is visible: it is the one",
    "no_tools": "the same, and none is visible",
    "invalid": "a visible tool is named, and its arguments do not fit",
    "wrong_tool": "another tool than the one that is repaired",
}
NEXT: dict[tuple[State, Turn], State | End] = {
    ("first", "valid"): "valid",
    ("first", "text"): "answered",
    ("first", "truncated"): "again",
    ("first", "no_tool"): "select",
    ("first", "only_tool"): "repair",
    ("first", "no_tools"): "unresolved",
    ("first", "invalid"): "repair",
    ("again", "valid"): "repaired",
    ("again", "text"): "answered",
    ("again", "truncated"): "unresolved",
    ("again", "no_tool"): "select",
    ("again", "only_tool"): "repair",
    ("again", "no_tools"): "unresolved",
    ("again", "invalid"): "repair",
    ("select", "valid"): "repaired",
    ("select", "truncated"): "unresolved",
    ("select", "no_tool"): "unresolved",
    ("select", "invalid"): "repair",
    ("repair", "valid"): "repaired",
    ("repair", "truncated"): "unresolved",
    ("repair", "no_tool"): "unresolved",
    ("repair", "invalid"): "unresolved",
    ("repair", "wrong_tool"): "unresolved",
}


def is_end(step: State | End) -> TypeGuard[End]:
    """Say whether a call's way is over."""
    return step in get_args(End)


def drawn() -> str:
    """Return the table as the text that stands at the head of this module."""
    head = ["state", *TURNS]
    rows = [[state, *(NEXT.get((state, turn), "-") for turn in TURNS)] for state in STATES]
    wide = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    lines = [head, ["-" * width for width in wide], *rows]
    return "\n".join("  ".join(map(str.ljust, line, wide)).rstrip() for line in lines)
