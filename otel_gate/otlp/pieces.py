"""Spans of one request, sorted into a ``Trace`` for each trace id: what both readers of OTLP fill.

Spans keep the order in which they stand. Resources and scopes are kept once a trace, in the order of their first use.
A span that cannot be read is left out, and its trace gets a ``Problem`` for it: so many problems, so many spans lost.
"""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

from otel_gate.core.model import Problem, Resource, Scope, Source, Span, Trace, encode
from otel_gate.otlp.mismatch import quoted
from otel_gate.otlp.notes import Notes, noted

T = TypeVar("T", Resource, Scope)


class Described(NamedTuple, Generic[T]):
    """A resource or scope with its encoded bytes, by which equal ones are told, and what its reader noted."""

    value: T
    key: bytes
    notes: Notes


class Shelf(Generic[T]):
    """The different resources (or scopes) of one trace."""

    def __init__(self, notes: Notes) -> None:
        """Take the notes of the piece, which get those of its resources and scopes too."""
        self._notes = notes
        self._places: dict[bytes, int] = {}
        self.values: list[T] = []

    def place(self, described: Described[T] | None) -> int | None:
        """Give the index of a resource or scope, putting it on the shelf when it is new."""
        if described is None:
            return None
        index = self._places.setdefault(described.key, len(self.values))
        if index == len(self.values):
            self.values.append(described.value)
            self._notes.extend(described.notes)
        return index


class Piece:
    """What a request holds of one trace."""

    def __init__(self, trace_id: str) -> None:
        """Begin without spans."""
        self.trace_id = trace_id
        self.notes = Notes()
        self.spans: list[Span] = []
        self.resources: Shelf[Resource] = Shelf(self.notes)
        self.scopes: Shelf[Scope] = Shelf(self.notes)
        self.problems: list[Problem] = []

    def trace(self) -> Trace:
        """Give the piece as a trace."""
        source = Source(notes=self.notes.values(), problems=tuple(self.problems))
        return Trace(
            self.trace_id, tuple(self.spans), tuple(self.resources.values), tuple(self.scopes.values), source=source
        )


class Pieces:
    """The pieces of a request by trace id; ``notes`` are about the request and go with its first piece."""

    def __init__(self) -> None:
        """Begin without pieces."""
        self._pieces: dict[str, Piece] = {}
        self.notes = Notes()

    def of(self, trace_id: str) -> Piece:
        """Give the piece of a trace."""
        piece = self._pieces.get(trace_id)
        if piece is None:
            piece = self._pieces[trace_id] = Piece(trace_id)
        return piece

    def traces(self, *, compared: bool = True) -> list[Trace]:
        """Give every piece as a trace, in the order of first mention.

        ``compared`` notes a span id that stands in two of them. For a file only: what else is in a request is no part
        of a trace that comes over the wire.
        """
        if compared:
            self._compare()
        traces = [piece.trace() for piece in self._pieces.values()]
        return [noted(traces[0], self.notes), *traces[1:]] if traces else []

    def _compare(self) -> None:
        """Note span ids that stand in two traces, which is allowed."""
        seen: dict[str, str] = {}
        for piece in self._pieces.values() if len(self._pieces) > 1 else ():
            for span in piece.spans:
                if span.span_id and seen.setdefault(span.span_id, piece.trace_id) != piece.trace_id:
                    self.notes.add("span_id_in_two_traces", quoted(span.span_id))


def described(value: T, notes: Notes) -> Described[T]:
    """Make a resource or scope ready for the shelf."""
    return Described(value, encode(value), notes)
