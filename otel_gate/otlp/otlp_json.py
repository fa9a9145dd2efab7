"""OTLP/JSON to the model: one ``ExportTraceServiceRequest`` (or ``TracesData``) object.

Exact about meaning, tolerant about form: ids in hex or base64, 64-bit numbers as strings or numbers, enumerations by
number, name or digits, snake_case keys, the older ``instrumentationLibrarySpans``. What is odd is noted, what is
missing or null is the default; what cannot be read spoils the smallest thing around it that has a trace id: the span. A
resource or scope that cannot be read spoils the spans that stand under it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from otel_gate.core.model import Resource, Scope, Trace
from otel_gate.otlp.fields import Item, array, field, item_of
from otel_gate.otlp.ids import TRACE_ID_BYTES, Coded, json_id, noting
from otel_gate.otlp.mismatch import MismatchError
from otel_gate.otlp.notes import Notes
from otel_gate.otlp.otlp_json_parts import PartReader
from otel_gate.otlp.pieces import Described, Piece, Pieces, described

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T", Resource, Scope)
Above = Described[T] | MismatchError | None


def read_request(request: Item, path: str = "$") -> list[Trace]:
    """Read a request: a piece for each trace in it, spans in the order of the text. Nothing is raised."""
    reader = _Request()
    reader.read(request, path)
    return reader.pieces.traces()


class _Request:
    """Walks resources, scopes and spans; what is wrong above the spans belongs to a piece without trace id."""

    def __init__(self) -> None:
        self.pieces = Pieces()
        self._top = PartReader(self.pieces.notes)
        self._parts: dict[str, PartReader] = {}

    def read(self, request: Item, path: str) -> None:
        for item, at in self._walk(self._camel(request, path), path, "resourceSpans"):
            resource = _above(PartReader.resource, item, at)
            for name in ("scopeSpans", "instrumentationLibrarySpans"):
                for group, place in self._walk(item, at, name):
                    scope = _above(PartReader.scope, group, place)
                    for span, where in self._walk(group, place, "spans"):
                        self._span(span, where, resource, scope)

    def _span(self, item: Item, path: str, resource: Above[Resource], scope: Above[Scope]) -> None:
        piece = None
        try:
            coded = field(item, path, "traceId", _trace_id, ("", ""))
            piece = self.pieces.of(coded[0])
            noting(coded, piece.notes, f"{path}.traceId")
            span = self._reader(piece).span(item, path, piece, _usable(resource), _usable(scope))
            piece.spans.append(span)
        except MismatchError as error:
            (piece or self.pieces.of("")).problems.append(error.problem)

    def _reader(self, piece: Piece) -> PartReader:
        reader = self._parts.get(piece.trace_id)
        if reader is None:
            reader = self._parts[piece.trace_id] = PartReader(piece.notes)
        return reader

    def _walk(self, item: Item, path: str, name: str) -> Iterator[tuple[Item, str]]:
        for index, one in enumerate(self._array(item, path, name)):
            at = f"{path}.{name}[{index}]"
            try:
                given = item_of(one, at)
            except MismatchError as error:
                self.pieces.of("").problems.append(error.problem)
            else:
                yield self._camel(given, at), at

    def _array(self, item: Item, path: str, name: str) -> list[Any]:
        try:
            return field(item, path, name, array, [])
        except MismatchError as error:
            self.pieces.of("").problems.append(error.problem)
            return []

    def _camel(self, item: Item, path: str) -> Item:
        if "instrumentationLibrary" in item or "instrumentationLibrarySpans" in item:
            self.pieces.notes.add("instrumentation_library", path)
        return self._top.fields.camel(item, path)


def _trace_id(value: object, path: str, name: str) -> Coded:
    return json_id(value, path, name, TRACE_ID_BYTES)


def _above(read: Callable[[PartReader, Item, str], T | None], item: Item, path: str) -> Above[T]:
    notes = Notes()
    try:
        value = read(PartReader(notes), item, path)
    except MismatchError as error:
        return error
    return None if value is None else described(value, notes)


def _usable(above: Above[T]) -> Described[T] | None:
    if isinstance(above, MismatchError):
        raise MismatchError(*above.args)
    return above
