"""Which tool spans are one call: instrumentations on top of each other, and transports, record it more than once.

Two nested tool spans (a span and its nearest tool ancestor) are one call when their scopes differ and their call ids
are equal, or their names are equal and their arguments are equal or recorded on one of the two at most. A transport
(MCP) below a tool span of the same name, or of that name as ``mcp__SERVER__NAME``, is the same call in any scope. That
is transitive: the outermost span is the call, and takes its name, arguments and call id from whichever has them. What
an agent calls is never the call that the agent itself is, when it is used as a tool: nothing is looked for above it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.conventions.known import is_same

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from otel_gate.conventions.recognise import Understood

TOOL, AGENT = "tool", "agent"
MCP, PART = "mcp__", "__"


def doubles(told: Sequence[Understood]) -> dict[int, int]:
    """Return the position of the outermost span of the same call, by the position of each span that doubles one."""
    above = _tools_above(told)
    direct = {
        number: outer for number, outer in enumerate(above) if outer is not None and _is_same(told[outer], told[number])
    }
    return {number: outer for number, outer in _outermost(direct).items() if outer is not None}


def _tools_above(told: Sequence[Understood]) -> list[int | None]:
    """Return the position of the nearest tool call above each, below any agent; what was walked isn't walked again."""
    at = {one.span.span_id: number for number, one in enumerate(told)}
    nearest: dict[int, int | None] = {number: number for number, one in enumerate(told) if one.operation == TOOL}
    calls, above = tuple(nearest), list[int | None]([None] * len(told))
    nearest |= {number: None for number, one in enumerate(told) if one.operation == AGENT}
    for number in calls:
        walked: dict[int, int | None] = {}
        here = at.get(told[number].span.parent_span_id)
        while here is not None and here not in nearest and here not in walked:
            walked[here] = None
            here = at.get(told[here].span.parent_span_id)
        found = None if here is None else nearest.get(here)
        nearest |= dict.fromkeys(walked, found)
        above[number] = None if found == number else found
    return above


def _outermost(direct: Mapping[int, int]) -> dict[int, int | None]:
    """Return where each chain of doubles ends; in a circle of parents it doesn't, and none doubles another."""
    ends: dict[int, int | None] = {}
    for number in direct:
        walked: dict[int, None] = {}
        here = number
        while here in direct and here not in ends and here not in walked:
            walked[here] = None
            here = direct[here]
        ends |= dict.fromkeys(walked, None if here in walked else ends.get(here, here))
    return ends


def _is_same(outer: Understood, inner: Understood) -> bool:
    names_are_equal = outer.name.value == inner.name.value
    if inner.transport and (names_are_equal or _is_of_a_server(outer.name.value, inner.name.value)):
        return True
    if outer.scope == inner.scope:
        return False
    if outer.call_id.value and is_same(outer.call_id.value, inner.call_id.value):
        return True
    return names_are_equal and _agree(outer, inner)


def _is_of_a_server(name: str, inner: str) -> bool:
    """Tell whether a name is that of a tool with its server before it (``mcp__shop__find``)."""
    server = name.removeprefix(MCP).removesuffix(PART + inner)
    return bool(inner and server) and name == f"{MCP}{server}{PART}{inner}"


def _agree(outer: Understood, inner: Understood) -> bool:
    """Tell whether the arguments are equal, or recorded on one of the two at most."""
    return not (outer.hashed.value and inner.hashed.value) or outer.hashed.value == inner.hashed.value
