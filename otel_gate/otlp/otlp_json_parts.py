"""The parts of an OTLP/JSON request: span, event, link, resource and scope."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.core.model import Attributes, EntityRef, Event, Link, Resource, Scope, Span
from otel_gate.otlp.any_json import AnyReader
from otel_gate.otlp.enums import STATUSES
from otel_gate.otlp.fields import Item, array, field, item_of, text, texts
from otel_gate.otlp.tolerant import Tolerant

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_gate.otlp.notes import Notes
    from otel_gate.otlp.pieces import Described, Piece


class PartReader:
    """Reads the parts; what is odd about them goes to ``notes``, what cannot be read raises ``MismatchError``."""

    def __init__(self, notes: Notes) -> None:
        """Take the notes, which get what is odd."""
        self.fields = Tolerant(notes)
        self._values = AnyReader(self.fields)

    def span(
        self, item: Item, path: str, piece: Piece, resource: Described[Resource] | None, scope: Described[Scope] | None
    ) -> Span:
        """Read a span; its resource and scope are put on the piece's shelves once all else could be read."""
        fields = self.fields
        attributes, conflicts = self._attributes(item, path)
        status, message = self._status(item, path)
        return Span(
            span_id=field(item, path, "spanId", fields.span_id, ""),
            parent_span_id=field(item, path, "parentSpanId", fields.parent_id, ""),
            name=field(item, path, "name", text, ""),
            start_ns=field(item, path, "startTimeUnixNano", fields.time_ns, 0),
            end_ns=field(item, path, "endTimeUnixNano", fields.time_ns, 0),
            status=status,
            attributes=attributes,
            events=tuple(self._event(one, at) for one, at in self._items(item, path, "events")),
            status_message=message,
            kind=field(item, path, "kind", fields.kind, "unspecified"),
            links=tuple(self._link(one, at) for one, at in self._items(item, path, "links")),
            trace_state=field(item, path, "traceState", text, ""),
            flags=field(item, path, "flags", fields.uint32, 0),
            dropped_attributes_count=self._dropped(item, path),
            dropped_events_count=field(item, path, "droppedEventsCount", fields.uint32, 0),
            dropped_links_count=field(item, path, "droppedLinksCount", fields.uint32, 0),
            conflicts=conflicts,
            resource=piece.resources.place(resource),
            scope=piece.scopes.place(scope),
        )

    def resource(self, group: Item, path: str) -> Resource | None:
        """Read the resource of a ``ResourceSpans``; None when it says nothing."""
        item, at = self._inner(group, path, "resource")
        schema_url = field(group, path, "schemaUrl", text, "")
        if item is None and not schema_url:
            return None
        given = item or {}
        references = tuple(self._entity(one, place) for one, place in self._items(given, at, "entityRefs"))
        return Resource(self._attributes(given, at)[0], self._dropped(given, at), schema_url, references)

    def scope(self, group: Item, path: str) -> Scope | None:
        """Read the scope of a ``ScopeSpans``; None when it says nothing."""
        name = "scope" if group.get("scope") is not None else "instrumentationLibrary"
        item, at = self._inner(group, path, name)
        schema_url = field(group, path, "schemaUrl", text, "")
        if item is None and not schema_url:
            return None
        given = item or {}
        return Scope(
            field(given, at, "name", text, ""),
            field(given, at, "version", text, ""),
            self._attributes(given, at)[0],
            self._dropped(given, at),
            schema_url,
        )

    def _event(self, item: Item, path: str) -> Event:
        return Event(
            field(item, path, "name", text, ""),
            field(item, path, "timeUnixNano", self.fields.time_ns, 0),
            self._attributes(item, path)[0],
            self._dropped(item, path),
        )

    def _link(self, item: Item, path: str) -> Link:
        return Link(
            field(item, path, "traceId", self.fields.trace_id, ""),
            field(item, path, "spanId", self.fields.span_id, ""),
            field(item, path, "traceState", text, ""),
            field(item, path, "flags", self.fields.uint32, 0),
            self._attributes(item, path)[0],
            self._dropped(item, path),
        )

    def _entity(self, item: Item, path: str) -> EntityRef:
        return EntityRef(
            field(item, path, "type", text, ""),
            field(item, path, "schemaUrl", text, ""),
            field(item, path, "idKeys", texts, ()),
            field(item, path, "descriptionKeys", texts, ()),
        )

    def _status(self, item: Item, path: str) -> tuple[str | int, str]:
        given, at = self._inner(item, path, "status")
        if given is None:
            return STATUSES[0], ""
        return field(given, at, "code", self.fields.status, STATUSES[0]), field(given, at, "message", text, "")

    def _attributes(self, item: Item, path: str) -> tuple[Attributes, tuple[str, ...]]:
        if type(item.get("attributes")) is dict:
            return self._values.mapped(item["attributes"], f"{path}.attributes"), ()
        given = field(item, path, "attributes", array, [])
        return self._values.attributes(given, f"{path}.attributes")

    def _dropped(self, item: Item, path: str) -> int:
        return field(item, path, "droppedAttributesCount", self.fields.uint32, 0)

    def _inner(self, item: Item, path: str, name: str) -> tuple[Item | None, str]:
        at = f"{path}.{name}"
        value: object = item.get(name)
        return (None if value is None else self.fields.camel(item_of(value, at), at)), at

    def _items(self, item: Item, path: str, name: str) -> Iterator[tuple[Item, str]]:
        for index, one in enumerate(field(item, path, name, array, [])):
            at = f"{path}.{name}[{index}]"
            yield self.fields.camel(item_of(one, at), at), at
