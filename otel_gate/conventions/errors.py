"""Error types that are derived: for a failing tool call of a recognised convention, and for what failed with it.

Nothing else is: a bare error elsewhere stays without evidence, and the gate says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from otel_gate.conventions.meaning import Found
from otel_gate.conventions.native import NATIVE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from otel_gate.conventions.recognise import Understood
    from otel_gate.core.model import Span

ERROR, ERROR_TYPE, EXCEPTION, EXCEPTION_TYPE = "error", "error.type", "exception", "exception.type"
TOOL_ERROR = Found("tool_error", "a failing tool call")  # the GenAI conventions' own value


def derived(told: Sequence[Understood]) -> dict[int, Found]:
    """Return the error type of each span that fails without evidence, by its position, where one can be derived.

    A tool call gets ``tool_error``. Any other span of a recognised convention gets the type of the failing span below
    it that is nearest (then the first to start).
    """
    bare = [number for number, one in enumerate(told) if _is_recognised(one) and _is_bare(one.span)]
    found = {number: TOOL_ERROR for number in bare if told[number].operation == "tool"}
    if len(found) < len(bare):
        below = _below(told, found)
        found |= {number: below[number] for number in bare if number not in found and number in below}
    return found


def _is_recognised(one: Understood) -> bool:
    """Tell whether a convention recognised a span; one of our own (``tool.*``) has to say itself what went wrong."""
    return one.operation is not None and one.convention != NATIVE


def _below(told: Sequence[Understood], known: Mapping[int, Found]) -> dict[int, Found]:
    """Return, for each span above failing ones that say why, the type of the nearest; each span is passed once."""
    at: dict[str, list[int]] = {}
    for number, one in enumerate(told):
        at.setdefault(one.span.span_id, []).append(number)
    level = {number: kind for number, one in enumerate(told) if (kind := _failed(one.span, known.get(number)))}
    nearest, met = dict[int, _Failed](), set(level)
    while level:
        above: dict[int, _Failed] = {}
        for number, kind in level.items():
            parent = told[number].span.parent_span_id
            for higher in at.get(parent, ()) if parent else ():
                if higher not in met:
                    above[higher] = min(kind, above.get(higher, kind))
        nearest |= above
        met.update(above)
        level = above
    return {number: Found(kind.type_, f"span {kind.span_id}") for number, kind in nearest.items()}


class _Failed(NamedTuple):
    """A failing span that says why: the first to start comes first."""

    start_ns: int
    span_id: str
    type_: str


def _failed(span: Span, known: Found | None) -> _Failed | None:
    kind = type_of(span) or (known.value if known else "")
    return _Failed(span.start_ns, span.span_id, kind) if span.status == ERROR and kind else None


def type_of(span: Span) -> str:
    """Return what went wrong: ``error.type``, else the type of the last exception that was recorded."""
    types = [span.attributes.get(ERROR_TYPE)]
    types += [event.attributes.get(EXCEPTION_TYPE) for event in reversed(span.events) if event.name == EXCEPTION]
    return next((kind for kind in types if isinstance(kind, str) and kind.strip()), "")


def _is_bare(span: Span) -> bool:
    if span.status != ERROR or any(event.name == EXCEPTION for event in span.events):
        return False
    kind = span.attributes.get(ERROR_TYPE)
    return not (isinstance(kind, str) and kind.strip())
