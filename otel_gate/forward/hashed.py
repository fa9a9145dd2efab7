"""Destinations that get hashes in the place of content (``forward_arguments = hash``).

What leaves the machine then has no arguments, results, messages and exception texts: each value is
``sha256:<the canonical hash of it>``, so that what was equal is equal still, and can be compared with what a store
holds. Records stay as they are. Everything that is sent is packed by a destination, so this stands in front of each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from otel_gate.conventions.content import Content
from otel_gate.core.canonical import argument_hash

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from otel_gate.conventions.recognise import Table
    from otel_gate.core.model import Event, Span, Trace
    from otel_gate.forward.destination import Destination, Result


class Hashed:
    """A destination in front of another one, which it packs traces without content for."""

    def __init__(self, to: Destination, content: Content) -> None:
        """Stand in front of a destination; ``content`` says what is content."""
        self._to, self._content = to, content
        self.name, self.exact = to.name, to.exact

    def pack(self, trace: Trace, first: int) -> Any:
        """Pack the spans of a trace from number ``first`` on, without their content."""
        return self._to.pack(hashed(trace, self._content), first)

    def send(self, packed: Sequence[Any], timeout_s: float) -> Result:
        """Send what was packed."""
        return self._to.send(packed, timeout_s)

    def close(self) -> None:
        """End connections."""
        self._to.close()

    def after_fork(self) -> None:
        """Forget connections that belong to the parent process."""
        self._to.after_fork()


def without_content(to: Iterable[Destination], table: Table) -> tuple[Destination, ...]:
    """Return destinations that get hashes in the place of what the conventions of a table mark as content."""
    content = Content(table)
    return tuple(Hashed(one, content) for one in to)


def hashed(trace: Trace, content: Content) -> Trace:
    """Return a trace with hashes in the place of its content."""
    scopes = [scope.name for scope in trace.scopes]
    spans = tuple(_span(span, "" if span.scope is None else scopes[span.scope], content) for span in trace.spans)
    return replace(trace, spans=spans)


def _span(span: Span, scope: str, content: Content) -> Span:
    if not content.is_in(span, scope):
        return span
    attributes = {
        key: _of(value) if content.sort(key, value, scope) else value for key, value in span.attributes.items()
    }
    events = tuple(_event(event, scope, content) for event in span.events)
    message = _of(span.status_message) if span.status_message else ""
    return replace(span, attributes=attributes, events=events, status_message=message)


def _event(event: Event, scope: str, content: Content) -> Event:
    attributes = {
        key: _of(value) if content.of_event(event, key, value, scope) else value
        for key, value in event.attributes.items()
    }
    return replace(event, attributes=attributes)


def _of(value: Any) -> str:
    return f"sha256:{argument_hash(value)}"
