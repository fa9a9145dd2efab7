"""Bytes of a small file to the parts of traces in it, with the standard library's JSON and tables of tests.

It knows what ``otlp.plain`` knows, or less: it answers None to everything that is not canonical down to the last field,
and what it answers is what ``plain`` would (a property test holds that).
"""

from __future__ import annotations

import json
import re

from otel_gate.cli.at_sight.forms import STATUSES, document, request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

SPACE = " \t\r\n"
ESCAPE = r"(?s)\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|(u[dD][89a-fA-F])|.)"  # of half a character, when in a group


class Event:
    """An event, as far as a rule looks at it."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class Span:
    """A span, as far as the rules look at it."""

    __slots__ = ("derived", "end_ns", "events", "name", "parent_span_id", "said", "span_id", "start_ns", "status")

    def __init__(self, span_id: str, parent_span_id: str | None, name: str, start_ns: int, end_ns: int) -> None:
        self.span_id, self.parent_span_id, self.name = span_id, parent_span_id, name
        self.start_ns, self.end_ns = start_ns, end_ns
        self.status: str | None = None
        self.events: Sequence[Event] = ()
        self.derived: Sequence[str] = ()
        self.said: Mapping[str, Any] = {}

    @property
    def timed(self) -> bool:
        """Whether it starts, and doesn't end before."""
        return 0 < self.start_ns <= self.end_ns


class Part:
    """The spans of one trace in a document or request."""

    __slots__ = ("spans", "trace_id")

    def __init__(self, trace_id: str, spans: Sequence[Span]) -> None:
        self.trace_id, self.spans = trace_id, spans


def read(data: bytes) -> list[Part] | None:
    """Return the parts in a file of one document or request, or of one a line; None when it takes more to tell."""
    parts: list[Part] = []
    try:
        for found in map(_parts, _texts(data.decode())):
            if found is None:
                return None
            parts += found
    except (ValueError, RecursionError):
        return None
    return parts


def _texts(text: str) -> Iterator[Any]:
    """Read JSON texts that stand on one line each, or one that may be printed over many."""
    if ("\\ud" in text or "\\uD" in text) and any(escape[1] for escape in re.finditer(ESCAPE, text)):
        raise ValueError(text)
    lines = [line for line in text.split("\n") if line.strip(SPACE)]
    try:
        first = _decode(lines[0]) if lines else None
    except ValueError:
        yield _decode(text)
        return
    yield first
    yield from map(_decode, lines[1:])


def _no_constant(token: str) -> float:
    raise ValueError(token)


def _finite(digits: str) -> float:
    value = float(digits)
    if value - value:  # no number, when it is infinite
        raise ValueError(digits)
    return value


_decode = json.JSONDecoder(parse_constant=_no_constant, parse_float=_finite).decode


def _parts(given: Any) -> list[Part] | None:
    if document(given):
        own = all(_is_of(span, given) for span in given["spans"])
        return [Part(given["trace_id"], tuple(map(_of_shape, given["spans"])))] if own else None
    if not request(given):
        return None
    parts: dict[str, list[Span]] = {}
    for group in given["resourceSpans"]:
        for scope in group.get("scopeSpans", ()):
            for span in scope.get("spans", ()):
                parts.setdefault(span["traceId"], []).append(_of_otlp(span))
    return [Part(trace_id, tuple(spans)) for trace_id, spans in parts.items()]


def _is_of(span: dict[str, Any], given: dict[str, Any]) -> bool:
    """Tell whether a span names no other trace, and no resource and scope that its document does not have."""
    if span.get("trace_id", "") not in ("", given["trace_id"]):
        return False
    named = ((span.get("resource"), given.get("resources", ())), (span.get("scope"), given.get("scopes", ())))
    return all(index is None or index < len(there) for index, there in named)


def _of_shape(given: dict[str, Any]) -> Span:
    parent, start, end = given.get("parent_span_id"), given["start_ns"], given["end_ns"]
    span = Span(given["span_id"], parent, given["name"], start, end)
    span.status, span.said = given.get("status"), given.get("attributes") or {}
    span.events = [Event(event["name"]) for event in given.get("events") or ()]
    span.derived = given.get("derived", ())
    return span


def _of_otlp(given: dict[str, Any]) -> Span:
    parent, start, end = given.get("parentSpanId"), given["startTimeUnixNano"], given["endTimeUnixNano"]
    span = Span(given["spanId"], parent, given["name"], int(start), int(end))
    span.status = STATUSES[given.get("status", {}).get("code", 0)]
    span.said = {pair["key"]: pair["value"].get("stringValue") for pair in given.get("attributes", ())}
    span.events = [Event(event.get("name", "")) for event in given.get("events", ())]
    return span
