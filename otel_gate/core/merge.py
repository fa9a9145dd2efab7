"""Pieces of one trace into one trace: re-numbered resources and scopes, exact copies dropped, completions combined.

A piece is a ``Trace``: a line of a file, a batch, what a record already holds. Order is kept: the spans of the first
piece come first, so an amended record only grows at its end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from otel_gate.core.model import Completion, Note, OpenSpan, Recognised, Resource, Scope, Source, Span, Trace, encode

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

in_order = msgspec.json.Encoder(order="sorted").encode
NOT_WAITING = ("interrupted", "capped")  # without an open span named, nothing that arrives can tell that all is here
Value = TypeVar("Value", Resource, Scope)


class Joined(NamedTuple):
    """One trace, and how many exact copies of spans were dropped while it was joined."""

    trace: Trace
    duplicates: int


class Table:
    """Equal values once each, numbered in the order of their first appearance."""

    def __init__(self) -> None:
        """Start empty."""
        self._numbers: dict[bytes, int] = {}
        self.values: list[Resource | Scope] = []

    def number(self, value: Resource | Scope) -> int:
        """Return the number of a value, adding it when it is new."""
        key = encode(value)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.values)
            self.values.append(value)
        return number


def join(pieces: Iterable[Trace]) -> Joined:
    """Join the pieces of one trace, in order."""
    pieces = list(pieces)
    if not pieces:
        message = "a trace has at least one piece"
        raise ValueError(message)
    if len(pieces) == 1 and _is_joined(pieces[0]):
        return Joined(pieces[0], 0)
    trace_id = pieces[0].trace_id
    resources, scopes = Table(), Table()
    kept = _Kept()
    for piece in pieces:
        resource_numbers = _used(resources, piece.resources)
        scope_numbers = _used(scopes, piece.scopes)
        for span in piece.spans:
            kept.add(_renumbered(span, trace_id, resource_numbers, scope_numbers))
    trace = Trace(
        trace_id,
        tuple(kept.spans),
        tuple(resources.values),  # type: ignore[arg-type]  # a table of resources holds only resources
        tuple(scopes.values),  # type: ignore[arg-type]
        completion([piece.completion for piece in pieces], kept.ids, rooted=False),
        source([piece.source for piece in pieces]),
    )
    if trace.completion and trace.roots:
        rooted = completion([piece.completion for piece in pieces], kept.ids, rooted=True)
        trace = replace(trace, completion=rooted)
    return Joined(trace, kept.duplicates)


class _Kept:
    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.ids: dict[str, Span] = {}
        self.forms: dict[str, set[bytes]] = {}
        self.duplicates = 0

    def add(self, span: Span) -> None:
        if span.span_id in self.ids and self._seen(span):
            self.duplicates += 1
            return
        self.ids.setdefault(span.span_id, span)
        self.spans.append(span)

    def _seen(self, span: Span) -> bool:
        """Tell whether an equal span was added: each span is encoded once at most, also when all have the same id."""
        forms = self.forms.get(span.span_id)
        if forms is None:
            forms = self.forms[span.span_id] = {as_received(self.ids[span.span_id])}
        form, before = as_received(span), len(forms)
        forms.add(form)
        return len(forms) == before


def _is_joined(piece: Trace) -> bool:
    alone = len(piece.ids) == len(piece.spans) and not any(span.trace_id == piece.trace_id for span in piece.spans)
    return alone and _is_distinct(piece.resources) and _is_distinct(piece.scopes)


def _is_distinct(values: Sequence[Resource | Scope]) -> bool:
    return len(values) < 2 or len(set(map(encode, values))) == len(values)  # noqa: PLR2004 - one is like no other


def as_received(span: Span) -> bytes:
    """Return the bytes of a span, its keys in order, without what was derived: deliveries of it are equal in these.

    What is known of content that went stays: two spans that differed in it are not the same.
    """
    recognised = span.recognised
    if not span.derived and recognised is None:
        return in_order(span)
    attributes = {name: value for name, value in span.attributes.items() if name not in span.derived}
    known = Recognised(known=recognised.known) if recognised is not None and recognised.known is not None else None
    return in_order(replace(span, attributes=attributes, derived=(), recognised=known))


def _used(table: Table, values: Sequence[Resource | Scope]) -> list[int]:
    return [table.number(value) for value in values]


def _renumbered(span: Span, trace_id: str, resources: list[int], scopes: list[int]) -> Span:
    resource = None if span.resource is None else resources[span.resource]
    scope = None if span.scope is None else scopes[span.scope]
    own = "" if span.trace_id == trace_id else span.trace_id
    if resource == span.resource and scope == span.scope and own == span.trace_id:
        return span
    return replace(span, resource=resource, scope=scope, trace_id=own)


def completion(pieces: Iterable[Completion | None], ids: Iterable[str], *, rooted: bool) -> Completion | None:
    """Combine completions: a span that has arrived since is open no longer, and a root heals what was only waiting."""
    known = [piece for piece in pieces if piece is not None]
    if not known:
        return None
    arrived = set(ids)
    still: dict[str, OpenSpan] = {
        span.span_id: span for piece in known for span in piece.open if span.span_id not in arrived
    }
    capped = sum(piece.capped for piece in known)
    reason = known[-1].reason
    waited = reason not in NOT_WAITING or any(piece.open for piece in known)
    if capped:
        reason = "capped"
    elif still:
        reason = next((piece.reason for piece in reversed(known) if piece.reason != "root_ended"), reason)
    elif rooted and waited:
        reason = "root_ended"
    return Completion(reason, tuple(still.values()), capped)


def source(pieces: Sequence[Source]) -> Source:
    """Combine sources: the first one names the door; notes add up, problems follow each other, each once."""
    first = pieces[0]
    notes: dict[str, Note] = {}
    for note in (note for piece in pieces for note in piece.notes):
        seen = notes.get(note.code)
        notes[note.code] = Note(note.code, seen.count + note.count, seen.first) if seen else note
    problems = tuple(dict.fromkeys(problem for piece in pieces for problem in piece.problems))
    raw = next((piece.raw for piece in pieces if piece.raw), "")
    return replace(first, notes=tuple(notes.values()), problems=problems, raw=raw)
