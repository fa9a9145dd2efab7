"""What the readers of other tools' forms share: spans into pieces, values in plain JSON, times in other units.

Such a form has no wire contract, so a reader takes the fields that the tool writes and notes what it can't carry over.
A span that can't be read is a ``Problem`` of its trace, as with OTLP, and the others go on.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

from otel_gate.core.model import Attributes, Resource, Scope, Span, encode
from otel_gate.otlp.any_json import DUPLICATE_KEY
from otel_gate.otlp.fields import HEX, UINT64, Item, item_of
from otel_gate.otlp.mismatch import MismatchError, mismatch, quoted
from otel_gate.otlp.notes import Notes
from otel_gate.otlp.pieces import Piece, Pieces, described
from otel_gate.otlp.values import canonical

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from otel_gate.core.model import Trace

T = TypeVar("T", Resource, Scope)
Placed = tuple[object, str]
MICROSECONDS = "microsecond_times"

_ISO = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9})\d*)?(?:Z|([+-])(\d\d):?(\d\d))", re.ASCII
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def traces_of(
    spans: Iterable[Placed],
    trace_id: Callable[[Item, str], str],
    read: Callable[[Item, str, Piece], Span],
) -> list[Trace]:
    """Read spans, each with its path, into a piece for each trace. Nothing is raised."""
    pieces = Pieces()
    for value, path in spans:
        piece = None
        try:
            item = item_of(value, path)
            piece = pieces.of(trace_id(item, path))
            piece.spans.append(read(item, path, piece))
        except MismatchError as error:
            (piece or pieces.of("")).problems.append(error.problem)
    return pieces.traces()


def elements(value: object, path: str) -> Iterator[Placed]:
    """Walk a list, each element with its path; what is no list is its own only element, for a reader to refuse."""
    if type(value) is list:
        for index, one in enumerate(value):
            yield one, f"{path}[{index}]"
    elif value is not None:
        yield value, path


def inner(item: Item, path: str, name: str) -> Item:
    """Return the object in a field; an empty one when it is missing or null."""
    value = item.get(name)
    return {} if value is None else item_of(value, f"{path}.{name}")


def objects(item: Item, path: str, name: str) -> Iterator[tuple[Item, str]]:
    """Walk the objects in a list field, each with its path."""
    for value, at in elements(item.get(name), f"{path}.{name}"):
        yield item_of(value, at), at


def plain_attributes(item: Item, path: str, name: str, notes: Notes) -> Attributes:
    """Read an object of plain JSON values as attributes."""
    out: Attributes = {}
    codes: list[str] = []
    for key, value in inner(item, path, name).items():
        out[key] = canonical(value, f"{path}.{name}[{quoted(key)}]", codes)
    for code in codes:
        notes.add(code, f"{path}.{name}")
    return out


def gathered(pairs: Iterable[tuple[str, object, str]], notes: Notes) -> tuple[Attributes, tuple[str, ...]]:
    """Gather keys, values and paths as attributes; of a key that comes again the last value wins, with a note.

    The names of those that came again with another value are returned beside.
    """
    out: Attributes = {}
    conflicts: dict[str, None] = {}
    for key, value, path in pairs:
        if key in out:
            notes.add(DUPLICATE_KEY, path)
            if encode(out[key]) != encode(value):
                conflicts[key] = None
        out[key] = value
    return out, tuple(conflicts)


def on_shelves(piece: Piece, resource: Resource, scope: Scope) -> dict[str, Any]:
    """Put what a span stands under on the shelves of its piece; return the places as fields of the span."""
    return {
        "resource": piece.resources.place(described(resource, Notes())) if resource != Resource() else None,
        "scope": piece.scopes.place(described(scope, Notes())) if scope != Scope() else None,
    }


def hex_text(value: object, path: str, name: str) -> str:
    """Read an id in hex of any case, with or without ``0x``; other text stays for the rules to refuse."""
    if type(value) is not str:
        raise mismatch(value, "str of hex digits", path, name)
    bare = value.removeprefix("0x")
    return bare.lower() if HEX.fullmatch(bare) else value


def parent_text(value: object, path: str, name: str) -> str:
    """Read the id of a parent; all zeros is no parent."""
    given = hex_text(value, path, name)
    return given if given.strip("0") else ""


def nanoseconds(value: object, path: str, name: str) -> int:
    """Read a time or duration in nanoseconds: a whole JSON number that fits 64 bits."""
    return _whole(value, 1, path, name)


def microseconds(value: object, path: str, name: str) -> int:
    """Read a time or duration in microseconds, and return it in nanoseconds."""
    return _whole(value, 1000, path, name)


def iso_time(value: object, path: str, name: str) -> int:
    """Read a date and time of ISO 8601 with its zone, and return nanoseconds since the epoch."""
    found = _ISO.fullmatch(value) if type(value) is str else None
    try:
        if found:
            return _since_epoch(found)
    except ValueError:
        pass
    raise mismatch(value, "a time such as 2026-01-31T12:00:00.000000Z", path, name)


def _since_epoch(found: re.Match[str]) -> int:
    year, month, day, hour, minute, second = map(int, found.groups()[:6])
    moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC) - _EPOCH
    seconds = moment.days * 86_400 + moment.seconds
    if found[8]:
        seconds -= (1 if found[8] == "+" else -1) * (int(found[9]) * 3600 + int(found[10]) * 60)
    if seconds < 0:
        raise ValueError(seconds)
    return seconds * 10**9 + int((found[7] or "").ljust(9, "0"))


def _whole(value: object, unit: int, path: str, name: str) -> int:
    number = int(value) if type(value) is float and value.is_integer() else value
    if type(number) is not int:
        raise mismatch(value, "int", path, name)
    if 0 <= number <= UINT64 // unit:
        return number * unit
    raise mismatch(value, f"int from 0 to {UINT64 // unit}", path, name)
