"""Step 2 of DESIGN section 2: content of a span goes through ``redact``, or is left out, before anybody writes it down.

What the span means is taken down first: arguments are hashed as they came. Then every copy of the content goes, in
attributes, events and the status message; ``redacted`` names what has changed, ``recognised.known`` what can't be told
from the rest any more. A span without content, or with content that ``redact`` left as it was, comes back as it is.

What is kept of arguments is read from the redacted span, as a reader would read them: so a blob holds nothing that the
record doesn't.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from otel_gate.conventions.content import STATUS_MESSAGE, Content, place_in
from otel_gate.conventions.known import known
from otel_gate.conventions.meaning import NO_RESOURCE, NO_SCOPE, Seen
from otel_gate.core.canonical import canonical_bytes, hash_of
from otel_gate.core.model import Problem, Recognised, encode
from otel_gate.pipeline.walk import Walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from otel_gate.conventions.meaning import Arguments
    from otel_gate.conventions.recognise import Table, Understood
    from otel_gate.core.model import Attributes, Event, Resource, Scope, Span, Trace
    from otel_gate.pipeline.walk import Redact

GONE = b'"[withheld]"'  # of arguments that can't be read in what redact left
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*(?:"|$)', re.DOTALL)


class Blob(NamedTuple):
    """What is kept of the arguments of a call: their hash, what is left of their bytes, and whether that is less."""

    hashed: str
    left: bytes
    redacted: bool


class Withheld(NamedTuple):
    """A span as it may be written down, and the arguments of its calls."""

    span: Span
    blobs: tuple[Blob, ...] = ()


class Withholding:
    """Takes content out of spans: ``redact`` says what is left of it; without one nothing is left."""

    def __init__(self, table: Table, redact: Redact | None, fault: Callable[[BaseException], None]) -> None:
        """Take the conventions, the function, and who is told of what it raises."""
        self._table, self._content = table, Content(table)
        self._walk = None if redact is None else Walk(redact, fault)

    def concerns(self, span: Span, scope: str) -> bool:
        """Tell whether there is content in a span of this scope."""
        return self._content.is_in(span, scope)

    def of(self, span: Span, scope: Scope = NO_SCOPE, resource: Resource = NO_RESOURCE) -> Withheld:
        """Return what is left of a span."""
        changes = _Changes()

        def sort(key: str, value: Any) -> str:
            return self._content.sort(key, value, scope.name)

        attributes = self._left(span.attributes, sort, "", changes)
        events = tuple(self._event(number, event, scope.name, changes) for number, event in enumerate(span.events))
        message = self._message(span.status_message, changes)
        if not changes.places:
            return Withheld(span)
        before = self._table.understood(Seen(span, scope, resource))
        remembered = known(before, hash_of(encode(changes.originals)))
        left = replace(
            span, attributes=attributes, events=events, status_message=message,
            redacted=tuple(dict.fromkeys((*span.redacted, *changes.places))),
            recognised=replace(span.recognised or Recognised(), known=remembered),
        )  # fmt: skip
        if self._walk is None:
            return Withheld(left)
        after = self._table.understood(Seen(replace(left, recognised=None), scope, resource))
        return Withheld(left, tuple(_blobs(before, after)))

    def of_all(self, piece: Trace) -> Iterator[Withheld]:
        """Iterate over what is left of the spans of a piece of a trace."""
        scopes, resources = piece.scopes, piece.resources
        for span in piece.spans:
            yield self.of(
                span, NO_SCOPE if span.scope is None else scopes[span.scope],
                NO_RESOURCE if span.resource is None else resources[span.resource],
            )  # fmt: skip

    def problem(self, problem: Problem) -> Problem:
        """Return what is wrong with a document, without the texts of it that the words quote."""
        return Problem(problem.path, _QUOTED.sub('"…"', problem.expected), _QUOTED.sub('"…"', problem.got))

    def _event(self, number: int, event: Event, scope: str, changes: _Changes) -> Event:
        def sort(key: str, value: Any) -> str:
            return self._content.of_event(event, key, value, scope)

        left = self._left(event.attributes, sort, place_in(number, ""), changes)
        return event if left is event.attributes else replace(event, attributes=left)

    def _left(
        self, attributes: Attributes, sort: Callable[[str, Any], str], place: str, changes: _Changes
    ) -> Attributes:
        """Return what is left of attributes, the same object when that is everything."""
        found: dict[str, Any] = {}
        for key, value in attributes.items():
            if not sort(key, value):
                continue
            left = None if self._walk is None else self._walk.attribute(key, value)
            if left is not value:
                found[key] = left
                changes.add(place + key, value)
        if not found:
            return attributes
        if self._walk is None:
            return {key: value for key, value in attributes.items() if key not in found}
        return {**attributes, **found}

    def _message(self, message: str, changes: _Changes) -> str:
        if not message:
            return ""
        left = "" if self._walk is None else self._walk.attribute(STATUS_MESSAGE, message)
        if left is message:
            return message
        changes.add(STATUS_MESSAGE, message)
        return left if isinstance(left, str) else "" if left is None else encode(left).decode()


class _Changes:
    """Where something has changed, and what was there."""

    def __init__(self) -> None:
        self.places: list[str] = []
        self.originals: list[tuple[str, Any]] = []

    def add(self, place: str, value: Any) -> None:
        self.places.append(place)
        self.originals.append((place, value))


def _blobs(before: Understood, after: Understood) -> Iterator[Blob]:
    """Iterate over the arguments that were in a span and what can still be read of them."""
    if before.operation == "tool" and before.arguments is not None and not before.arguments.unhashed:
        yield _blob(before.arguments, after.arguments)
    left = {(number, call.name): call.arguments for number, call in enumerate(after.calls)}
    for number, call in enumerate(before.calls):
        if not (call.hashed or call.arguments.unhashed):
            yield _blob(call.arguments, left.get((number, call.name)))


def _blob(before: Arguments, after: Arguments | None) -> Blob:
    content = canonical_bytes(before.value)
    left = GONE if after is None or after.unhashed else canonical_bytes(after.value)
    return Blob(hash_of(content), left, left != content)
