"""The parts of a document of the simplified shape: span, event, link, resource and scope.

Each field has its own name and the names that are read for it too, OTLP's among them. A time stays a JSON integer under
any of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from otel_gate.core.model import Attributes, EntityRef, Event, Link, Recognised, Resource, Scope, Span
from otel_gate.otlp.enums import KINDS, STATUSES, enum_number, kind_named, status_named
from otel_gate.otlp.fields import Item, field, hex_id, item_of, items, parent_id, pick, text, texts, time_ns, uint32
from otel_gate.otlp.mismatch import mismatch, quoted
from otel_gate.otlp.values import canonical

if TYPE_CHECKING:
    from otel_gate.otlp.json_form import Codes, Value
    from otel_gate.otlp.notes import Notes

TRACE_ID = ("trace_id", "traceId")
SPAN_ID = ("span_id", "spanId")
PARENT = ("parent_span_id", "parent_id", "parentSpanId")
START = ("start_ns", "startTimeUnixNano", "start_time_unix_nano")
END = ("end_ns", "endTimeUnixNano", "end_time_unix_nano")
TIME = ("time_ns", "timeUnixNano", "time_unix_nano")
TRACE_STATE = ("trace_state", "traceState")
SCHEMA_URL = ("schema_url", "schemaUrl")
DROPPED_ATTRIBUTES = ("dropped_attributes_count", "droppedAttributesCount")
DROPPED_EVENTS = ("dropped_events_count", "droppedEventsCount")
DROPPED_LINKS = ("dropped_links_count", "droppedLinksCount")


class ShapeReader:
    """Reads the parts; what is odd about them goes to ``notes``, what cannot be read raises ``MismatchError``."""

    def __init__(self, notes: Notes) -> None:
        """Take the notes, which get what is odd."""
        self._notes = notes
        self.expect("", 0, 0)

    def expect(self, trace_id: str, resources: int, scopes: int) -> None:
        """Say what the document holds that spans refer to: its trace id, and how many resources and scopes."""
        self._trace_id, self._resources, self._scopes = trace_id, resources, scopes

    def span(self, item: Item, path: str) -> Span:
        """Read a span."""
        trace_id = pick(item, path, TRACE_ID, hex_id, "")
        return Span(
            span_id=pick(item, path, SPAN_ID, hex_id, ""),
            parent_span_id=pick(item, path, PARENT, parent_id, ""),
            name=field(item, path, "name", text, ""),
            start_ns=pick(item, path, START, time_ns, 0),
            end_ns=pick(item, path, END, time_ns, 0),
            status=field(item, path, "status", _status, STATUSES[0]),
            attributes=self._attributes(item, path),
            events=tuple(self._event(one, at) for one, at in items(item, path, "events")),
            trace_id="" if trace_id == self._trace_id else trace_id,
            status_message=_status_message(item, path),
            kind=field(item, path, "kind", self._kind, KINDS[0]),
            links=tuple(self._link(one, at) for one, at in items(item, path, "links")),
            trace_state=pick(item, path, TRACE_STATE, text, ""),
            flags=field(item, path, "flags", uint32, 0),
            dropped_attributes_count=pick(item, path, DROPPED_ATTRIBUTES, uint32, 0),
            dropped_events_count=pick(item, path, DROPPED_EVENTS, uint32, 0),
            dropped_links_count=pick(item, path, DROPPED_LINKS, uint32, 0),
            derived=field(item, path, "derived", texts, ()),
            redacted=field(item, path, "redacted", texts, ()),
            conflicts=field(item, path, "conflicts", texts, ()),
            resource=_index(item, path, "resource", self._resources),
            scope=_index(item, path, "scope", self._scopes),
            observed_ns=field(item, path, "observed_ns", time_ns, 0),
            recognised=field(item, path, "recognised", _recognised, None),
        )

    def resource(self, item: Item, path: str) -> Resource:
        """Read a resource of the document."""
        return Resource(
            self._attributes(item, path),
            pick(item, path, DROPPED_ATTRIBUTES, uint32, 0),
            pick(item, path, SCHEMA_URL, text, ""),
            tuple(_entity(one, at) for one, at in items(item, path, "entity_refs")),
        )

    def scope(self, item: Item, path: str) -> Scope:
        """Read an instrumentation scope of the document."""
        return Scope(
            field(item, path, "name", text, ""),
            field(item, path, "version", text, ""),
            self._attributes(item, path),
            pick(item, path, DROPPED_ATTRIBUTES, uint32, 0),
            pick(item, path, SCHEMA_URL, text, ""),
        )

    def _event(self, item: Item, path: str) -> Event:
        return Event(
            field(item, path, "name", text, ""),
            pick(item, path, TIME, time_ns, 0),
            self._attributes(item, path),
            pick(item, path, DROPPED_ATTRIBUTES, uint32, 0),
        )

    def _link(self, item: Item, path: str) -> Link:
        return Link(
            pick(item, path, TRACE_ID, hex_id, ""),
            pick(item, path, SPAN_ID, hex_id, ""),
            pick(item, path, TRACE_STATE, text, ""),
            field(item, path, "flags", uint32, 0),
            self._attributes(item, path),
            pick(item, path, DROPPED_ATTRIBUTES, uint32, 0),
        )

    def _attributes(self, item: Item, path: str) -> Attributes:
        given = item.get("attributes")
        if given is None:
            return {}
        at = f"{path}.attributes"
        return {
            key: value if type(value) is str else self._value(value, f"{at}[{quoted(key)}]")
            for key, value in item_of(given, at).items()
        }

    def _value(self, value: object, path: str) -> Value:
        codes: Codes = []
        out = canonical(value, path, codes)
        for code in codes:
            self._notes.add(code, path)
        return out

    def _kind(self, value: object, path: str, name: str) -> str | int:
        if type(value) is not str:
            return enum_number(value, f"{path}.{name}", KINDS)
        known = kind_named(value)
        if known is None:
            self._notes.add("unknown_kind", f"{path}.{name}")
        return known or KINDS[0]


def _status(value: object, path: str, name: str) -> str | int:
    if type(value) is dict:
        return field(value, f"{path}.{name}", "code", _status_code, STATUSES[0])
    return _status_code(value, path, name)


def _status_code(value: object, path: str, name: str) -> str | int:
    known = status_named(value) if type(value) is str else None
    return known or enum_number(value, f"{path}.{name}", STATUSES)


def _status_message(item: Item, path: str) -> str:
    message = field(item, path, "status_message", text, "")
    status = item.get("status")
    inside = field(status, f"{path}.status", "message", text, "") if type(status) is dict else ""
    if message and inside and message != inside:
        raise mismatch(inside, f"what status_message says (str {quoted(message)})", path, "status.message")
    return message or inside


def _recognised(value: object, path: str, name: str) -> Recognised:
    try:
        return msgspec.convert(value, Recognised)
    except msgspec.ValidationError:
        raise mismatch(value, "what a convention recognised", path, name) from None


def _entity(item: Item, path: str) -> EntityRef:
    return EntityRef(
        field(item, path, "type", text, ""),
        pick(item, path, SCHEMA_URL, text, ""),
        field(item, path, "id_keys", texts, ()),
        field(item, path, "description_keys", texts, ()),
    )


def _index(item: Item, path: str, name: str, count: int) -> int | None:
    index = field(item, path, name, uint32, None)
    if index is None or index < count:
        return index
    raise mismatch(index, f"index of one of {count} {name}s", path, name)
