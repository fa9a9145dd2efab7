"""Error types that are derived: for a failing tool call of a recognised convention, and for what failed with it.

Nothing else is: a bare error elsewhere stays without evidence, and the gate says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.conventions.meaning import Found

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from otel_gate.conventions.recognise import Understood
    from otel_gate.core.model import Span

ERROR, ERROR_TYPE, EXCEPTION, EXCEPTION_TYPE = "error", "error.type", "exception", "exception.type"
TOOL_ERROR = Found("tool_error", "a failing tool call")  # the GenAI conventions' own value


def derived(told: Sequence[Understood]) -> dict[int, Found]:
    """Return the error type of each span that fails without evidence, by its position, where one can be derived.

    A tool call gets ``tool_error``. Any other span of a recognised convention gets the type of the failing span below
    it that is nearest (then the first to start).
    """
    bare = [number for number, one in enumerate(told) if one.operation and _is_bare(one.span)]
    found = {number: TOOL_ERROR for number in bare if told[number].operation == "tool"}
    if len(found) < len(bare):
        below = _Below(told, found)
        given = {number: below.nearest(number) for number in bare if number not in found}
        found |= {number: type_ for number, type_ in given.items() if type_}
    return found


class _Below:
    """The failing spans below a span."""

    def __init__(self, told: Sequence[Understood], known: Mapping[int, Found]) -> None:
        self._told, self._known = told, known
        self._children: dict[str, list[int]] = {}
        for number, one in enumerate(told):
            self._children.setdefault(one.span.parent_span_id, []).append(number)

    def nearest(self, number: int) -> Found | None:
        """Return the type of the nearest failing span that has one."""
        level, met = [number], {number}
        while level:
            level = [child for one in level for child in self._children.get(self._told[one].span.span_id, ())]
            level = [child for child in level if child not in met]
            met.update(level)
            types = [(span.start_ns, span.span_id, kind) for child in level for span, kind in self._failed(child)]
            if types:
                _, span_id, kind = min(types)
                return Found(kind, f"span {span_id}")
        return None

    def _failed(self, number: int) -> Iterator[tuple[Span, str]]:
        span = self._told[number].span
        kind = type_of(span) or (self._known[number].value if number in self._known else "")
        if span.status == ERROR and kind:
            yield span, kind


def type_of(span: Span) -> str:
    """Return what went wrong: ``error.type``, else the type of the last exception that was recorded."""
    types = [span.attributes.get(ERROR_TYPE)]
    types += [event.attributes.get(EXCEPTION_TYPE) for event in reversed(span.events) if event.name == EXCEPTION]
    return next((kind for kind in types if isinstance(kind, str) and kind.strip()), "")


def _is_bare(span: Span) -> bool:
    if span.status != ERROR or any(event.name == EXCEPTION for event in span.events):
        return False
    kind = span.attributes.get(ERROR_TYPE)
    return not (isinstance(kind, str) and kind)
