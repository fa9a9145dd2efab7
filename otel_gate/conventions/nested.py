"""Which tool spans are one call: instrumentations on top of each other, and transports, record it more than once.

Two nested tool spans (a span and its nearest tool ancestor) are one call when their scopes differ and their call ids
are equal, or their names are equal and their arguments are equal or recorded on one of the two at most. A transport
(MCP) below a tool span of the same name is the same call in any scope. That is transitive: the outermost span is the
call, and takes its name, arguments and call id from whichever has them. An agent that is used as a tool has another
name than the tools it calls, and is a call of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.conventions.known import is_same

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from otel_gate.conventions.recognise import Understood

TOOL = "tool"


def doubles(told: Sequence[Understood]) -> dict[int, int]:
    """Return the position of the outermost span of the same call, by the position of each span that doubles one."""
    at = {one.span.span_id: number for number, one in enumerate(told)}
    above = [_tool_above(number, told, at) if one.operation == TOOL else None for number, one in enumerate(told)]
    direct = {
        number: outer for number, outer in enumerate(above) if outer is not None and _is_same(told[outer], told[number])
    }
    outermost = {number: _outermost(number, direct) for number in direct}
    return {number: outer for number, outer in outermost.items() if outer is not None}


def _tool_above(number: int, told: Sequence[Understood], at: Mapping[str, int]) -> int | None:
    met = {number}
    above = at.get(told[number].span.parent_span_id)
    while above is not None and above not in met:
        if told[above].operation == TOOL:
            return above
        met.add(above)
        above = at.get(told[above].span.parent_span_id)
    return None


def _outermost(number: int, direct: Mapping[int, int]) -> int | None:
    """Return where the chain of doubles ends; in a circle of parents it doesn't, and none doubles another."""
    met: set[int] = set()
    while number in direct:
        if number in met:
            return None
        met.add(number)
        number = direct[number]
    return number


def _is_same(outer: Understood, inner: Understood) -> bool:
    names_are_equal = outer.name.value == inner.name.value
    if inner.transport and names_are_equal:
        return True
    if outer.scope == inner.scope:
        return False
    if outer.call_id.value and is_same(outer.call_id.value, inner.call_id.value):
        return True
    return names_are_equal and _agree(outer, inner)


def _agree(outer: Understood, inner: Understood) -> bool:
    """Tell whether the arguments are equal, or recorded on one of the two at most."""
    return not (outer.hashed.value and inner.hashed.value) or outer.hashed.value == inner.hashed.value
