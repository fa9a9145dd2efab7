"""Jaeger's JSON: what its API answers and its UI saves (``{"data": [...]}``), a trace of it, or single spans.

Tags that OpenTelemetry's exporters write for what Jaeger has no field for (status, scope, kind, tracestate) go back to
where they came from. Times end at microseconds, and Jaeger's own adjustments of clocks stand in ``warnings``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_gate.core.model import Attributes, Event, Link, Resource, Scope, Span
from otel_gate.otlp.enums import KINDS, STATUSES, kind_named, status_named
from otel_gate.otlp.fields import UINT32, Item, field, text
from otel_gate.otlp.foreign import (
    MICROSECONDS,
    Placed,
    elements,
    gathered,
    hex_text,
    inner,
    microseconds,
    objects,
    on_shelves,
    parent_text,
    traces_of,
)
from otel_gate.otlp.json_form import INT64, base64_bytes, bytes_value, double, integer
from otel_gate.otlp.values import canonical

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from otel_gate.core.model import Trace
    from otel_gate.otlp.notes import Notes
    from otel_gate.otlp.pieces import Piece

STATUS, MESSAGE, KIND, STATE = "otel.status_code", "otel.status_description", "span.kind", "w3c.tracestate"
SCOPE_NAME, SCOPE_VERSION = ("otel.scope.name", "otel.library.name"), ("otel.scope.version", "otel.library.version")
PROCESS = "process"
SAMPLED = 1


def is_export(value: dict[str, Any]) -> bool:
    """Tell an answer of the API, a trace or a span of Jaeger by the way in which it spells ``traceID``."""
    data = value.get("data")
    if isinstance(data, list):
        return "total" in value if not data else isinstance(data[0], dict) and "traceID" in data[0]
    return "traceID" in value and ("spans" in value or "operationName" in value)


def read(values: Iterable[Placed]) -> list[Trace]:
    """Read answers, traces and spans."""
    return traces_of(_spans(values), _trace_id, _span)


def _spans(values: Iterable[Placed]) -> Iterator[Placed]:
    """Walk the spans, each with the process that its trace has for it inside."""
    for value, path in values:
        given = value if isinstance(value, dict) else {}
        if "data" in given:
            yield from _spans(elements(given["data"], f"{path}.data"))
        elif "spans" in given:
            processes = given.get("processes")
            known = processes if isinstance(processes, dict) else {}
            for span, at in elements(given["spans"], f"{path}.spans"):
                yield _with_process(span, known), at
        else:
            yield value, path


def _with_process(span: object, processes: Item) -> object:
    if not isinstance(span, dict) or span.get(PROCESS) is not None:
        return span
    number = span.get("processID")
    return span | {PROCESS: processes.get(number) if isinstance(number, str) else None}


def _trace_id(item: Item, path: str) -> str:
    return field(item, path, "traceID", hex_text, "")


def _span(item: Item, path: str, piece: Piece) -> Span:
    notes = piece.notes
    notes.add(MICROSECONDS, f"{path}.startTime")
    if item.get("warnings"):
        notes.add("jaeger_warnings", f"{path}.warnings")
    tags, conflicts = _tags(item, path, "tags", notes)
    status, message = _status(tags)
    start = field(item, path, "startTime", microseconds, 0)
    duration = field(item, path, "duration", microseconds, None)
    scope = Scope(_taken(tags, SCOPE_NAME), _taken(tags, SCOPE_VERSION))
    parent, links = _references(item, path, piece.trace_id)
    return Span(
        span_id=field(item, path, "spanID", hex_text, ""),
        parent_span_id=parent,
        name=field(item, path, "operationName", text, ""),
        start_ns=start,
        end_ns=0 if duration is None else start + duration,
        status=status,
        status_message=message,
        kind=_kind(tags, path, notes),
        trace_state=_taken(tags, (STATE,)),
        flags=_flags(item),
        events=tuple(_log(one, at, notes) for one, at in objects(item, path, "logs")),
        links=links,
        attributes=tags,
        conflicts=conflicts,
        **on_shelves(piece, _resource(item, path, notes), scope),
    )


def _references(item: Item, path: str, trace_id: str) -> tuple[str, tuple[Link, ...]]:
    parent = field(item, path, "parentSpanID", parent_text, "")
    links = []
    for one, at in objects(item, path, "references"):
        trace, span = field(one, at, "traceID", hex_text, ""), field(one, at, "spanID", hex_text, "")
        if one.get("refType") == "CHILD_OF" and trace in ("", trace_id) and not parent:
            parent = span if span.strip("0") else ""
        elif (trace, span) != (trace_id, parent):
            links.append(Link(trace, span))
    return parent, tuple(links)


def _flags(item: Item) -> int:
    flags = item.get("flags")
    return flags & SAMPLED if type(flags) is int and 0 <= flags <= UINT32 else 0


def _log(item: Item, path: str, notes: Notes) -> Event:
    fields, _ = _tags(item, path, "fields", notes)
    name = _taken(fields, ("event",)) or _taken(fields, ("name",))
    return Event(name or "log", field(item, path, "timestamp", microseconds, 0), fields)


def _resource(item: Item, path: str, notes: Notes) -> Resource:
    given, at = inner(item, path, PROCESS), f"{path}.{PROCESS}"
    service = field(given, at, "serviceName", text, "")
    tags, _ = _tags(given, at, "tags", notes)
    return Resource(({"service.name": service} if service else {}) | tags)


def _status(tags: Attributes) -> tuple[str, str]:
    known = status_named(tags[STATUS]) if isinstance(tags.get(STATUS), str) else None
    if known:
        del tags[STATUS]
        tags.pop("error", None)
        return known, _taken(tags, (MESSAGE,))
    return ("error" if tags.get("error") in (True, "true") else STATUSES[0]), _taken(tags, (MESSAGE,))


def _kind(tags: Attributes, path: str, notes: Notes) -> str:
    given = tags.get(KIND)
    known = kind_named(given) if isinstance(given, str) else None
    if known:
        del tags[KIND]
    elif given is not None:
        notes.add("unknown_kind", f"{path}.tags")
    return known or KINDS[0]


def _taken(tags: Attributes, names: tuple[str, ...]) -> str:
    """Take a text out of the tags, under the first of its names."""
    name = next((name for name in names if isinstance(tags.get(name), str)), None)
    return str(tags.pop(name)) if name else ""


def _tags(item: Item, path: str, name: str, notes: Notes) -> tuple[Attributes, tuple[str, ...]]:
    return gathered(_pairs(item, path, name, notes), notes)


def _pairs(item: Item, path: str, name: str, notes: Notes) -> Iterator[tuple[str, object, str]]:
    for one, at in objects(item, path, name):
        yield field(one, at, "key", text, ""), _value(one.get("type"), one.get("value"), f"{at}.value", notes), at


def _value(kind: object, value: object, path: str, notes: Notes) -> Any:
    codes: list[str] = []
    out = _typed(kind, value, codes)
    if out is None and value is not None:
        codes += ["tag_type"] if isinstance(kind, str) else []
        out = canonical(value, path, codes)
    for code in codes:
        notes.add(code, path)
    return out


def _typed(kind: object, value: object, codes: list[str]) -> Any:
    """Return a value as the type of its tag says, or None when it is not of that type."""
    if kind == "string" and type(value) is str:
        return value
    if kind == "bool":
        return {"true": True, "false": False}.get(value.lower()) if isinstance(value, str) else _only(value, bool)
    if kind == "int64":
        number = _whole(value)
        return None if number is None else integer(number, codes)
    if kind == "float64" and type(value) in (int, float):
        return double(float(value)) if type(value) is float or value in INT64 else None  # type: ignore[arg-type]
    raw = base64_bytes(value) if kind == "binary" and type(value) is str else None
    return None if raw is None else bytes_value(raw)


def _only(value: object, kind: type) -> object:
    return value if type(value) is kind else None


def _whole(value: object) -> int | None:
    if type(value) is str and len(value) <= 20 and value.removeprefix("-").isdecimal() and value.isascii():  # noqa: PLR2004
        return int(value)
    return value if type(value) is int else None
