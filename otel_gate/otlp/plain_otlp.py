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


class OtlpSpan(Struct, gc=False, forbid_unknown_fields=True, rename="camel"):
    """A span as OTLP/JSON has it."""

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

    @property
    def timed(self) -> bool:
        """Whether it ends and doesn't end before it starts; false when its times are not as OTLP writes them."""
        start, end = self.start_time_unix_nano, self.end_time_unix_nano
        if type(start) is type(end) is str and len(start) == len(end) == DIGITS:
            return start[0] != "0" and start <= end and (start + end).isdigit() and (start + end).isascii()
        return 0 < _time(start) <= _time(end)

    @property
    def start_ns(self) -> int:
        """When it starts."""
        return _time(self.start_time_unix_nano)

    @property
    def end_ns(self) -> int:
        """When it ends."""
        return _time(self.end_time_unix_nano)

    @property
    def status(self) -> str:
        """Its status by name."""
        return STATUSES[self.given.code]

    @property
    def derived(self) -> tuple[str, ...]:
        """What was added to it: nothing."""
        return ()

    @property
    def said(self) -> dict[str, object]:
        """Its attributes; the value of one that is no string is None."""
        return {pair.key: pair.value.get("stringValue") for pair in self.attributes}


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
    spans: tuple[OtlpSpan, ...] = ()
    schema_url: str = ""


class _ResourceSpans(Struct, forbid_unknown_fields=True, rename="camel"):
    resource: _Resource | None = None
    scope_spans: tuple[_ScopeSpans, ...] = ()
    schema_url: str = ""


class Request(Struct, forbid_unknown_fields=True, rename="camel"):
    """An ``ExportTraceServiceRequest``."""

    resource_spans: tuple[_ResourceSpans, ...]


decode = Decoder(Request).decode


def parts_of(request: Request) -> dict[str, list[OtlpSpan]] | None:
    """Return the spans by trace id, or None when a value or a time is not as OTLP writes it."""
    parts: dict[str, list[OtlpSpan]] = {}
    for group in request.resource_spans:
        if group.resource and not _are_plain(group.resource.attributes):
            return None
        for inner in group.scope_spans:
            if inner.scope and not _are_plain(inner.scope.attributes):
                return None
            for span in inner.spans:
                if not _is_plain(span):
                    return None
                parts.setdefault(span.trace_id, []).append(span)
    return parts


def _is_plain(span: OtlpSpan) -> bool:
    return (
        _are_plain(span.attributes)
        and all(_time(one.time_unix_nano) and _are_plain(one.attributes) for one in span.events)
        and (not span.links or all(_is_hex(one) and _are_plain(one.attributes) for one in span.links))
    )


def _are_plain(pairs: tuple[Pair, ...]) -> bool:
    for pair in pairs:
        if type(pair.value.get("stringValue")) is not str and not _is_value(pair.value, MOST_LEVELS):
            return False
    keys = {pair.key for pair in pairs}
    return len(keys) == len(pairs) and "" not in keys


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
