"""The typed form of a canonical OTLP/JSON request, for ``plain``."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct, field
from msgspec.json import Decoder

from otel_gate.otlp.enums import STATUSES
from otel_gate.otlp.json_form import INT64
from otel_gate.otlp.tolerant import UNITS, is_rounded

Uint32 = Annotated[int, Meta(ge=0, le=2**32 - 1)]
MOST_DIGITS = 18
DIGITS = 19  # of a time in nanoseconds, from 2001 to 2286
MOST_LEVELS = 8


One = Annotated[dict[str, Any], Meta(min_length=1, max_length=1)]


class Pair(Struct, gc=False, forbid_unknown_fields=True):
    """A key and an AnyValue."""

    key: str
    value: One


class _Status(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    code: Annotated[int, Meta(ge=0, le=2)] = 0
    message: str = ""


class _Event(Struct, gc=False, forbid_unknown_fields=True, rename="camel"):
    name: str = ""
    time_unix_nano: str | int = 0
    attributes: tuple[Pair, ...] = ()
    dropped_attributes_count: Uint32 = 0


class _Link(Struct, gc=False, forbid_unknown_fields=True, rename="camel"):
    trace_id: str
    span_id: str
    trace_state: str = ""
    flags: Uint32 = 0
    attributes: tuple[Pair, ...] = ()
    dropped_attributes_count: Uint32 = 0


class _OtlpSpan(Struct, gc=False, forbid_unknown_fields=True, rename="camel"):
    trace_id: str
    span_id: str
    name: str
    start_time_unix_nano: str | int
    end_time_unix_nano: str | int
    parent_span_id: str = ""
    trace_state: str = ""
    flags: Uint32 = 0
    kind: Annotated[int, Meta(ge=0, le=5)] = 0
    attributes: tuple[Pair, ...] = ()
    dropped_attributes_count: Uint32 = 0
    events: tuple[_Event, ...] = ()
    dropped_events_count: Uint32 = 0
    links: tuple[_Link, ...] = ()
    dropped_links_count: Uint32 = 0
    given: _Status = field(name="status", default=_Status())


class Span(Struct, frozen=True, gc=False):
    """A span of a request, as far as the rules look at it; ``said`` has None for an attribute that is no string."""

    span_id: str
    parent_span_id: str
    name: str
    status: str
    events: tuple[_Event, ...]
    said: dict[str, str | None]
    start: str | int
    end: str | int
    derived: tuple[str, ...] = ()

    @property
    def timed(self) -> bool:
        """Whether it ends and doesn't end before it starts; false when its times are not as OTLP writes them."""
        start, end = self.start, self.end
        if type(start) is type(end) is str and len(start) == len(end) == DIGITS:
            return start[0] != "0" and start <= end and (start + end).isdigit() and (start + end).isascii()
        return 0 < _time(start) <= _time(end)

    @property
    def start_ns(self) -> int:
        """When it starts."""
        return _time(self.start)

    @property
    def end_ns(self) -> int:
        """When it ends."""
        return _time(self.end)


class _Resource(Struct, forbid_unknown_fields=True, rename="camel"):
    attributes: tuple[Pair, ...] = ()
    dropped_attributes_count: Uint32 = 0


class _Scope(Struct, forbid_unknown_fields=True, rename="camel"):
    name: str = ""
    version: str = ""
    attributes: tuple[Pair, ...] = ()
    dropped_attributes_count: Uint32 = 0


class _ScopeSpans(Struct, forbid_unknown_fields=True, rename="camel"):
    scope: _Scope | None = None
    spans: tuple[_OtlpSpan, ...] = ()
    schema_url: str = ""


class _ResourceSpans(Struct, forbid_unknown_fields=True, rename="camel"):
    resource: _Resource | None = None
    scope_spans: tuple[_ScopeSpans, ...] = ()
    schema_url: str = ""


class Request(Struct, forbid_unknown_fields=True, rename="camel"):
    """An ``ExportTraceServiceRequest``."""

    resource_spans: tuple[_ResourceSpans, ...]


decode = Decoder(Request).decode


def parts_of(request: Request) -> dict[str, list[Span]] | None:
    """Return the spans by trace id, or None when a value or a time is not as OTLP writes it."""
    parts: dict[str, list[Span]] = {}
    for group in request.resource_spans:
        if group.resource and _said(group.resource.attributes) is None:
            return None
        for inner in group.scope_spans:
            if inner.scope and _said(inner.scope.attributes) is None:
                return None
            for span in inner.spans:
                found = _plain(span)
                if found is None:
                    return None
                parts.setdefault(span.trace_id, []).append(found)
    return parts


def _plain(span: _OtlpSpan) -> Span | None:
    said = _said(span.attributes)
    for one in span.events:
        if not _time(one.time_unix_nano) or _said(one.attributes) is None:
            return None
    for link in span.links:
        if not _is_hex(link) or _said(link.attributes) is None:
            return None
    if said is None:
        return None
    return Span(
        span.span_id, span.parent_span_id, span.name, STATUSES[span.given.code], span.events, said,
        span.start_time_unix_nano, span.end_time_unix_nano,
    )  # fmt: skip


def _said(pairs: tuple[Pair, ...]) -> dict[str, str | None] | None:
    """Return attributes, those that are no strings as None; None when a key or a value is not as OTLP writes it."""
    said: dict[str, str | None] = {}
    for pair in pairs:
        text = pair.value.get("stringValue")
        if type(text) is not str:
            if not _is_value(pair.value, MOST_LEVELS):
                return None
            text = None
        said[pair.key] = text
    return said if len(said) == len(pairs) and "" not in said else None


def _is_value(given: Any, levels: int) -> bool:
    if type(given) is not dict or len(given) != 1 or not levels:
        return False
    ((name, value),) = given.items()
    if name == "intValue":
        return value in INT64 if type(value) is int else _is_number(value)
    if name == "arrayValue":
        return _are_all(value, levels - 1)
    if name == "doubleValue":
        return type(value) is float
    return type(value) is _TYPES.get(name)


def _are_all(value: Any, levels: int) -> bool:
    if type(value) is not dict or list(value) != ["values"] or type(value["values"]) is not list:
        return False
    return all(_is_value(one, levels) for one in value["values"])


def _is_number(text: Any) -> bool:
    digits = text.removeprefix("-") if type(text) is str else ""
    return digits.isascii() and digits.isdigit() and len(digits) <= MOST_DIGITS


def _time(given: str | int) -> int:
    """Read a time; 0 for one about which the readers have something to say."""
    time_ns = _nanoseconds(given)
    is_odd = (type(given) is int and is_rounded(time_ns)) or any(time_ns in unit for unit, _ in UNITS)
    return 0 if is_odd else time_ns


def _nanoseconds(given: str | int) -> int:
    if isinstance(given, int):
        return given if given > 0 and given in INT64 else 0
    return int(given) if len(given) <= DIGITS and given.isascii() and given.isdigit() else 0


def _is_hex(link: _Link) -> bool:
    return all(text and not text.strip("0123456789abcdef") for text in (link.trace_id, link.span_id))


_TYPES = {"stringValue": str, "boolValue": bool}
