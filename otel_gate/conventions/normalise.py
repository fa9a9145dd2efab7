"""A whole trace through the conventions: what is derived is added to its spans, with its source; nothing else changes.

Deriving again gives the same, so records can be amended and judged anew. An attribute that a span already has is never
replaced; a hash that was derived when the arguments were still there (before ``redact``) is kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from msgspec.structs import replace

from otel_gate.conventions import errors, nested
from otel_gate.conventions.meaning import NOTHING, Found
from otel_gate.conventions.native import NATIVE
from otel_gate.conventions.parents import with_requested
from otel_gate.conventions.run_ids import Identity
from otel_gate.conventions.unknown import noted
from otel_gate.core.canonical import canonical_bytes, hash_of
from otel_gate.core.identity import AUTO, with_run_id
from otel_gate.core.model import Recognised

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from otel_gate.conventions.recognise import Table, Understood
    from otel_gate.core.model import Span, Trace

NOTHING_DRAWN: dict[str, str] = {}
TOOL, TOOL_NAME, HASH, ERROR_TYPE = "tool", "tool.name", "input.sha256", "error.type"


class Call(NamedTuple):
    """A recognised call whose arguments are at hand: its span, their hash, and the bytes that were hashed."""

    span_id: str
    hashed: str
    content: bytes


class Normalised(NamedTuple):
    """A trace with what was derived, its calls, and what each of its spans was understood as.

    ``outer`` is where the call stands that a span doubles, by the position of that span.
    """

    trace: Trace
    calls: tuple[Call, ...]
    told: tuple[Understood, ...]
    outer: Mapping[int, int]


def normalise(trace: Trace, table: Table, run_id: str = AUTO, drawn: Mapping[str, str] = NOTHING_DRAWN) -> Normalised:
    """Return a trace with what the conventions derive of it, and the run id by the setting (``identity.with_run_id``).

    ``drawn`` holds ids that were drawn in the agent's process, by span id of the local root.
    """
    again = any(span.recognised is not None for span in trace.spans)
    received = replace(trace, spans=tuple(map(underived, trace.spans))) if again else trace
    told = with_requested(table.understand(received))
    told = [_hashed(one) if one.operation == TOOL else one for one in told]
    outer = nested.doubles(told)
    told = _joined(told, outer)
    types = errors.derived(told)
    spans = tuple(_derived(one, types.get(number, NOTHING), double=number in outer) for number, one in enumerate(told))
    calls = tuple(
        Call(one.span.span_id, one.hashed.value, one.content)
        for number, one in enumerate(told) if one.content is not None and number not in outer
    )  # fmt: skip
    identity = Identity(told, received.resources)
    notes = noted(told, table, received.source.notes, identity.disagreement(received.roots))
    source = replace(received.source, notes=notes)
    normal = with_run_id(replace(received, spans=spans, source=source), run_id, drawn, identity)
    return Normalised(normal, calls, tuple(told), outer)


def underived(span: Span) -> Span:
    """Return a span without what can be derived of it again."""
    if span.recognised is None:
        return span
    known = span.recognised.known
    kept = {"run.id", HASH} if span.redacted and known is None else {"run.id"}
    sources = span.recognised.sources
    again = {name for name in sources if name not in kept}
    left = {name: where for name, where in sources.items() if name in kept}
    return replace(
        span,
        attributes={name: value for name, value in span.attributes.items() if name not in again},
        derived=tuple(name for name in span.derived if name not in again),
        recognised=Recognised(sources=left, known=known) if left or known else None,
    )


def _hashed(one: Understood) -> Understood:
    """Add the hash of a call: the one that it has, or that of its arguments."""
    own = one.span.attributes.get(HASH)
    name = one.span.attributes.get(TOOL_NAME)
    if isinstance(name, str) and name.strip():
        one = one._replace(name=Found(name, f"attributes.{TOOL_NAME}"))
    content, hashed = None, one.hashed  # known from before, when the arguments are not there any more
    if not hashed.value and one.arguments is not None and not one.arguments.unhashed:
        content = canonical_bytes(one.arguments.value)
        hashed = Found(hash_of(content), one.arguments.where)
    if isinstance(own, str) and own.strip():  # also when what it was derived of is redacted by now
        content, hashed = content if hashed.value == own else None, Found(own, f"attributes.{HASH}")
    return one._replace(hashed=hashed, content=content)


def _joined(told: list[Understood], outer: Mapping[int, int]) -> list[Understood]:
    """Give the outermost span of each call what only spans inside it hold."""
    inside: dict[int, list[Understood]] = {}
    for number in sorted(outer, key=lambda number: (told[number].span.start_ns, told[number].span.span_id)):
        inside.setdefault(outer[number], []).append(told[number])
    return [_filled(one, inside[number]) if number in inside else one for number, one in enumerate(told)]


def _filled(one: Understood, inside: Sequence[Understood]) -> Understood:
    for inner in inside:
        where = f"span {inner.span.span_id} "
        if not one.name.value and inner.name.value:
            one = one._replace(name=Found(inner.name.value, where + inner.name.where))
        if not one.hashed.value and inner.hashed.value:
            hashed = Found(inner.hashed.value, where + inner.hashed.where)
            one = one._replace(hashed=hashed, content=inner.content)
        if one.hashed.value:
            one = one._replace(arguments=None)
    return one


def _derived(one: Understood, type_: Found, *, double: bool) -> Span:
    """Return a span with what is derived of it, each attribute that it lacks."""
    span, attributes = one.span, one.span.attributes
    is_call = one.operation == TOOL and not double
    if not (is_call or double or type_.value):
        return span
    wanted = {TOOL_NAME: one.name, HASH: one.hashed} if is_call else {}
    added = {
        name: found for name, found in {**wanted, ERROR_TYPE: type_}.items() if found.value and name not in attributes
    }
    lacks = is_call and one.convention != NATIVE and HASH not in attributes and HASH not in added
    operation: Literal["", "tool", "double"] = (
        "tool" if is_call and one.convention != NATIVE else "double" if double else ""
    )
    if not (added or operation):  # native, and whole
        return span
    before = span.recognised.sources if span.recognised else {}
    kept = {name: attributes[name] for name in span.derived if name in attributes}  # a run id, which is derived last
    received = {name: value for name, value in attributes.items() if name not in kept} if kept else attributes
    recognised = Recognised(
        one.convention, operation, {**{name: found.where for name, found in added.items()}, **before},
        (one.arguments.unhashed if one.arguments else None) or "absent" if lacks else "", one.switch if lacks else "",
        span.recognised.known if span.recognised else None,
    )  # fmt: skip
    return replace(
        span, attributes={**received, **{name: found.value for name, found in added.items()}, **kept},
        derived=(*added, *span.derived), recognised=recognised,
    )  # fmt: skip
