"""One span through the ordered conventions: the first that knows it decides what it is, the others fill in what it lacks.

A span may carry the marks of two conventions (an emitter's own and an instrumentation's on top): one classification,
merged attributes. An attribute that one convention has read is not read again by another: an emitter's wrapper is not
mistaken for the arguments.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from otel_gate.conventions.meaning import NO_RESOURCE, NO_SCOPE, NOTHING, Arguments, Found, Seen

if TYPE_CHECKING:
    from collections.abc import Iterable

    from otel_gate.conventions.meaning import Convention, Meaning, Operation, Requested
    from otel_gate.core.model import Span, Trace

SCOPES_AT_HAND = 1_024


class Understood(NamedTuple):
    """A span, what the conventions made of it together, and the one that decided; ``operation`` None is unknown.

    ``hashed`` and ``content`` are the hash of its arguments and the bytes that it is of, once they are known.
    """

    span: Span
    scope: str
    operation: Operation | None = None
    convention: str = ""
    switch: str = ""
    name: Found = NOTHING
    arguments: Arguments | None = None
    call_id: Found = NOTHING
    run_id: Found = NOTHING
    conversation: Found = NOTHING
    transport: bool = False
    calls: tuple[Requested, ...] = ()
    hashed: Found = NOTHING
    content: bytes | None = None


class Table:
    """Conventions in their order, those that are asked about a scope at hand."""

    def __init__(self, conventions: tuple[Convention, ...]) -> None:
        """Take the conventions, strongest marker first."""
        self.conventions = conventions
        self.of_scope = lru_cache(SCOPES_AT_HAND)(self._of_scope)

    def knows(self, scope: str) -> bool:
        """Tell whether a convention names this scope."""
        return any(convention.scopes for convention in self.of_scope(scope))

    def understand(self, trace: Trace) -> list[Understood]:
        """Return what each span of a trace means, in order."""
        scopes, resources = trace.scopes, trace.resources
        return [
            self._understood(
                Seen(
                    span,
                    NO_SCOPE if span.scope is None else scopes[span.scope],
                    NO_RESOURCE if span.resource is None else resources[span.resource],
                )
            )
            for span in trace.spans
        ]

    def _of_scope(self, scope: str) -> tuple[Convention, ...]:
        return tuple(one for one in self.conventions if not one.scopes or any(_is(scope, name) for name in one.scopes))

    def _understood(self, seen: Seen) -> Understood:
        told = [(one, meaning) for one in self.of_scope(seen.scope.name) if (meaning := one.recognise(seen))]
        if not told:
            return Understood(seen.span, seen.scope.name)
        operation, decided = next(((said.operation, one.name) for one, said in told if said.operation), (None, ""))
        same = [(one, said) for one, said in told if said.operation == operation]
        arguments, switch = _arguments(same)
        return Understood(
            seen.span, seen.scope.name, operation, decided, switch,
            _first(said.name for _, said in same), arguments, _first(said.call_id for _, said in same),
            _first(said.run_id for _, said in told), _first(said.conversation for _, said in told),
            any(said.transport for _, said in same), next((said.calls for _, said in told if said.calls), ()),
        )  # fmt: skip


def _is(scope: str, name: str) -> bool:
    return scope.startswith(name[:-1]) if name.endswith("*") else scope == name


def _first(found: Iterable[Found]) -> Found:
    return next((one for one in found if one.value), NOTHING)


def _arguments(told: list[tuple[Convention, Meaning]]) -> tuple[Arguments | None, str]:
    """Return the first arguments that are there; else the first reason why not, with what to switch on."""
    read: set[str] = set()
    lacking: tuple[Arguments | None, str] = None, next((one.switch for one, _ in told if one.switch), "")
    for convention, meaning in told:
        given = meaning.arguments
        if given is None or any(given.where.startswith(where) for where in read):
            continue
        if not given.unhashed:
            return given, ""
        if lacking[0] is None:
            lacking = given, convention.switch or lacking[1]
        if given.unhashed != "absent":
            read.add(given.where)
    return lacking
