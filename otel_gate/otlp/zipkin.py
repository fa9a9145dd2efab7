"""Zipkin's JSON, version 2: arrays of spans, arrays of such arrays (its API), or spans one a line.

Its tags are text, so numbers and booleans come as text (``text_values``); its times end at microseconds. Events are
annotations: ``"name": {...}`` as OpenTelemetry's exporters write them, or a text that is their name. Client and server
may share the id of a span (``shared``): the server's half then gets one of its own, made of that id.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from otel_gate.core.model import Attributes, Event, Resource, Scope, Span
from otel_gate.otlp.enums import KINDS, STATUSES, kind_named, status_named
from otel_gate.otlp.fields import Item, field, item_of, text
from otel_gate.otlp.foreign import (
    MICROSECONDS,
    Placed,
    hex_text,
    inner,
    microseconds,
    objects,
    on_shelves,
    parent_text,
    plain_attributes,
    traces_of,
)
from otel_gate.otlp.mismatch import MismatchError
from otel_gate.otlp.text import quick

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from otel_gate.core.model import Trace
    from otel_gate.otlp.notes import Notes
    from otel_gate.otlp.pieces import Piece

SERVICE = "service.name"
STATUS, ERROR = "otel.status_code", "error"
SCOPE_NAME, SCOPE_VERSION = ("otel.scope.name", "otel.library.name"), ("otel.scope.version", "otel.library.version")

_ANNOTATION = re.compile(r'"?(?P<name>[^"{}]*?)"?\s*:\s*(?P<attributes>\{.*\})', re.DOTALL)


def is_span(value: dict[str, Any]) -> bool:
    """Tell a span by the names of its ids."""
    return {"traceId", "id"} <= value.keys() and "spanId" not in value


def read(values: Iterable[Placed]) -> list[Trace]:
    """Read spans."""
    shared: set[int] = set()

    def span(item: Item, path: str, piece: Piece) -> Span:
        made = _span(item, path, piece)
        if item.get("shared") is True:
            shared.add(id(made))
        return made

    traces = traces_of(values, _trace_id, span)
    return [_unshared(trace, [one for one in trace.spans if id(one) in shared]) for trace in traces]


def _unshared(trace: Trace, shared: Sequence[Span]) -> Trace:
    """Give the server's half of each shared span an id of its own, below the client's half.

    What names the id as its parent goes below the server's half, unless it is of the client's service.
    """
    servers = {span.span_id: span for span in shared}
    clients = {one.span_id: one for one in trace.spans if servers.get(one.span_id, one) is not one}
    if not clients:
        return trace

    def service(span: Span) -> object:
        return None if span.resource is None else trace.resources[span.resource].attributes.get(SERVICE)

    def moved(span: Span) -> Span:
        if span.span_id in clients and span is servers[span.span_id]:
            return replace(span, span_id=_id_of_half(span.span_id), parent_span_id=span.span_id)
        client, server = clients.get(span.parent_span_id), servers.get(span.parent_span_id)
        if client and server and (service(span) != service(client) or service(span) == service(server)):
            return replace(span, parent_span_id=_id_of_half(span.parent_span_id))
        return span

    return replace(trace, spans=tuple(map(moved, trace.spans)))


def _id_of_half(span_id: str) -> str:
    return hashlib.sha256(f"server half of {span_id}".encode("utf-8", "replace")).hexdigest()[:16]


def _trace_id(item: Item, path: str) -> str:
    return field(item, path, "traceId", hex_text, "")


def _span(item: Item, path: str, piece: Piece) -> Span:
    notes = piece.notes
    notes.add(MICROSECONDS, f"{path}.timestamp")
    if item.get("shared"):
        notes.add("shared_span", f"{path}.shared")
    tags = _tags(item, path, notes)
    status, message = _status(tags)
    start = field(item, path, "timestamp", microseconds, 0)
    duration = field(item, path, "duration", microseconds, None)
    scope = Scope(_taken(tags, SCOPE_NAME), _taken(tags, SCOPE_VERSION))
    service = field(inner(item, path, "localEndpoint"), f"{path}.localEndpoint", "serviceName", text, "")
    return Span(
        span_id=field(item, path, "id", hex_text, ""),
        parent_span_id=field(item, path, "parentId", parent_text, ""),
        name=field(item, path, "name", text, ""),
        start_ns=start,
        end_ns=0 if duration is None else start + duration,
        status=status,
        attributes=_endpoints(item, path) | tags,
        events=tuple(_event(one, at, notes) for one, at in objects(item, path, "annotations")),
        status_message=message,
        kind=_kind(item, path, notes),
        **on_shelves(piece, Resource({SERVICE: service} if service else {}), scope),
    )


def _tags(item: Item, path: str, notes: Notes) -> Attributes:
    tags = plain_attributes(item, path, "tags", notes)
    if tags:
        notes.add("text_values", f"{path}.tags")
    return tags


def _endpoints(item: Item, path: str) -> Attributes:
    """Return the addresses of both sides as attributes of OpenTelemetry's conventions."""
    out: Attributes = {}
    for name, side in (("localEndpoint", "network.local"), ("remoteEndpoint", "network.peer")):
        given = inner(item, path, name)
        address = given.get("ipv4") or given.get("ipv6")
        out |= {f"{side}.address": address} if isinstance(address, str) else {}
        out |= {f"{side}.port": given["port"]} if type(given.get("port")) is int else {}
    peer = inner(item, path, "remoteEndpoint").get("serviceName")
    return out | ({"peer.service": peer} if isinstance(peer, str) else {})


def _status(tags: Attributes) -> tuple[str, str]:
    known = status_named(tags[STATUS]) if isinstance(tags.get(STATUS), str) else None
    error = tags.get(ERROR)
    message = error if isinstance(error, str) and error not in ("true", "false") else ""
    if known:
        del tags[STATUS]
        tags.pop(ERROR, None)
        return known, message
    return ("error" if error not in (None, "false") else STATUSES[0]), message


def _kind(item: Item, path: str, notes: Notes) -> str:
    given = field(item, path, "kind", text, "")
    known = kind_named(given) if given else KINDS[0]
    if known is None:
        notes.add("unknown_kind", f"{path}.kind")
    return known or KINDS[0]


def _taken(tags: Attributes, names: tuple[str, ...]) -> str:
    name = next((name for name in names if isinstance(tags.get(name), str)), None)
    return str(tags.pop(name)) if name else ""


def _event(item: Item, path: str, notes: Notes) -> Event:
    time_ns = field(item, path, "timestamp", microseconds, 0)
    value = field(item, path, "value", text, "")
    found = _ANNOTATION.fullmatch(value)
    given = quick(found["attributes"].encode("utf-8", "replace")) if found else None
    if found is None or given is None:
        return Event(value, time_ns, {})
    try:
        attributes = {"attributes": item_of(given.value, path)}
        return Event(found["name"], time_ns, plain_attributes(attributes, path, "attributes", notes))
    except MismatchError:
        return Event(value, time_ns, {})
