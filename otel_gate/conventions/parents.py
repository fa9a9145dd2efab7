"""What only a parent holds: the calls that it lists for its children (LangGraph's ``tools`` node).

A call is found by its id, else by its name when the parent lists no other of that name. What a span holds itself is
never replaced.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.conventions.known import is_same
from otel_gate.conventions.meaning import Found

if TYPE_CHECKING:
    from collections.abc import Sequence

    from otel_gate.conventions.meaning import Requested
    from otel_gate.conventions.recognise import Understood

TOOL = "tool"


def with_requested(told: Sequence[Understood]) -> list[Understood]:
    """Fill in missing arguments and call ids of tool spans from their parents' lists."""
    listed = {one.span.span_id: one for one in told if one.calls}
    if not listed:
        return list(told)
    return [_filled(one, listed.get(one.span.parent_span_id)) for one in told]


def _filled(one: Understood, parent: Understood | None) -> Understood:
    if parent is None or one.operation != TOOL:
        return one
    call = _requested(one, parent.calls)
    if call is None:
        return one
    where = f"span {parent.span.span_id}"
    if not one.call_id.value and call.call_id:
        one = one._replace(call_id=Found(call.call_id, where))
    if not one.hashed.value and (one.arguments is None or one.arguments.unhashed == "absent"):
        at = f"{where} {call.arguments.where}"
        one = one._replace(
            arguments=call.arguments._replace(where=at), hashed=Found(call.hashed, at * bool(call.hashed))
        )
    return one


def _requested(one: Understood, calls: Sequence[Requested]) -> Requested | None:
    by_id = [call for call in calls if one.call_id.value and is_same(call.call_id, one.call_id.value)]
    by_name = [call for call in calls if is_same(call.name, one.name.value)]
    if by_id:
        return by_id[0]
    return by_name[0] if len(by_name) == 1 else None
