"""One span through the ordered conventions: the first that knows it decides what it is, others fill in what it lacks.

A span may carry the marks of two conventions (an emitter's own and an instrumentation's on top): one classification,
merged attributes. An attribute that one convention has read is not read again by another: an emitter's wrapper is not
mistaken for the arguments.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from otel_gate.conventions.meaning import NO_RESOURCE, NO_SCOPE, NOTHING, Arguments, Found, Meaning, Requested, Seen

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from otel_gate.conventions.meaning import Convention, Operation
    from otel_gate.core.model import Known, Span, Trace

SCOPES_AT_HAND = 1_024
NAME, CALL_ID, RUN_ID, CONVERSATION = map(Meaning._fields.index, ("name", "call_id", "run_id", "conversation"))
REMEDIES = {
    "cut": "raise OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT (or OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT)",
    "conflict": "set the arguments once; two writers gave them different values",
    "scrubbed": "keep the arguments from the scrubber: logfire.ScrubbingOptions(callback=...)",
}
"""What to try when the emitter did record arguments."""


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
    trouble: str = ""


class Asked:
    """The conventions for one scope, and by which attributes each has something to say."""

    def __init__(self, conventions: tuple[Convention, ...]) -> None:
        """Take the conventions in their order."""
        self._conventions = conventions
        self._always = sum(1 << number for number, one in enumerate(conventions) if one.scopes or not one.marks)
        self._by_key: dict[str, int] = {}
        for number, one in enumerate(conventions):
            for key in (*one.marks, *one.also):
                self._by_key[key] = self._by_key.get(key, 0) | 1 << number
        self._chosen: dict[int, tuple[Convention, ...]] = {}

    def about(self, attributes: Collection[str]) -> tuple[Convention, ...]:
        """Return those that may have something to say of a span with these attributes."""
        which, by_key = self._always, self._by_key
        for key in attributes:
            if key in by_key:
                which |= by_key[key]
        chosen = self._chosen.get(which)
        if chosen is None:
            chosen = tuple(one for number, one in enumerate(self._conventions) if which >> number & 1)
            self._chosen[which] = chosen
        return chosen


class Table:
    """Conventions in their order, those that are asked about a scope at hand."""

    def __init__(self, conventions: tuple[Convention, ...]) -> None:
        """Take the conventions, strongest marker first."""
        self.conventions = conventions
        self.of_scope = lru_cache(SCOPES_AT_HAND)(self._of_scope)
        self._asked = lru_cache(SCOPES_AT_HAND)(lambda scope: Asked(self.of_scope(scope)))

    def knows(self, scope: str) -> bool:
        """Tell whether a convention names this scope."""
        return any(convention.scopes for convention in self.of_scope(scope))

    def understand(self, trace: Trace) -> list[Understood]:
        """Return what each span of a trace means, in order."""
        scopes, resources = trace.scopes, trace.resources
        return [
            self.understood(
                Seen(
                    span,
                    NO_SCOPE if span.scope is None else scopes[span.scope],
                    NO_RESOURCE if span.resource is None else resources[span.resource],
                )
            )
            for span in trace.spans
        ]

    def _of_scope(self, scope: str) -> tuple[Convention, ...]:
        """Return the conventions for a scope, without the general ones that an emitter's own asks itself."""
        asked = [one for one in self.conventions if not one.scopes or is_one_of(scope, one.scopes)]
        covered = {function for one in asked for function in (*one.covers, *(one.scopes and (one.recognise,)))}
        return tuple(one for one in asked if one.scopes or one.recognise not in covered)

    def understood(self, seen: Seen) -> Understood:
        """Return what a span means: what was known of it before content of it went, else what the conventions say."""
        known = seen.span.recognised.known if seen.span.recognised else None
        return self._understood(seen) if known is None else remembered(seen, known)

    def _understood(self, seen: Seen) -> Understood:
        told = [
            (one, meaning)
            for one in self._asked(seen.scope.name).about(seen.span.attributes)
            if (meaning := one.recognise(seen))
        ]
        if not told:
            return Understood(seen.span, seen.scope.name)
        if len(told) == 1:
            return _as_said(seen, *told[0], told[0][1].run_id, told[0][1].conversation)
        decisive = [pair for pair in told if pair[1].operation]
        if len(decisive) == 1:  # the others have ids to add
            everyone = [said for _, said in told]
            if not any(said.calls or said.trouble for said in everyone):
                return _as_said(seen, *decisive[0], _first(everyone, RUN_ID), _first(everyone, CONVERSATION))
        return _together(seen, told)


def _together(seen: Seen, told: list[tuple[Convention, Meaning]]) -> Understood:
    """Return what several conventions say of a span: the first operation, and of the rest the first of each."""
    operation, decided = next(((said.operation, one.name) for one, said in told if said.operation), (None, ""))
    everyone = [said for _, said in told]
    same = [said for said in everyone if said.operation == operation]
    arguments, switch = None, ""
    if any(said.arguments for said in same):
        arguments, switch = _arguments([one for one in told if one[1].operation == operation])
    together = Meaning(
        operation, _first(same, NAME), arguments, _first(same, CALL_ID), _first(everyone, RUN_ID),
        _first(everyone, CONVERSATION), any(said.transport for said in same),
        next((said.calls for said in everyone if said.calls), ()),
        "; ".join([said.trouble for said in everyone if said.trouble]),
    )  # fmt: skip
    return _of(seen, together, decided, switch, together.run_id, together.conversation)


def _as_said(seen: Seen, one: Convention, said: Meaning, run_id: Found, conversation: Found) -> Understood:
    """Return what one convention says of a span, with ids that others may have added."""
    given = said.arguments
    switch = _arguments([(one, said)])[1] if given and given.unhashed else ""
    return _of(seen, said, one.name if said.operation else "", switch, run_id, conversation)


def _of(  # noqa: PLR0913, PLR0917 - once a span, by position
    seen: Seen, said: Meaning, convention: str, switch: str, run_id: Found, conversation: Found
) -> Understood:
    operation, name, arguments, call_id, _, _, transport, calls, trouble = said
    return Understood(
        seen.span, seen.scope.name, operation, convention, switch, name, arguments, call_id, run_id, conversation,
        transport, calls, NOTHING, None, trouble,
    )  # fmt: skip


def remembered(seen: Seen, known: Known) -> Understood:
    """Return what a span was understood as before content of it was redacted or left out."""
    at = known.hashed[1]
    return Understood(
        seen.span, seen.scope.name, known.operation or None, known.convention, known.switch, Found(*known.name),
        Arguments(where=at, unhashed=known.unhashed) if known.unhashed else None, Found(*known.call_id),
        Found(*known.run_id), Found(*known.conversation), known.transport,
        tuple(
            Requested(call.name, Arguments(where=call.where, unhashed=call.unhashed or None), call.call_id, call.hashed)
            for call in known.calls
        ),
        Found(known.hashed[0], at) if known.hashed[0] else NOTHING,
    )  # fmt: skip


def is_one_of(scope: str, names: Iterable[str]) -> bool:
    """Tell whether a scope has one of these names; one that ends with ``*`` stands for all that begin so."""
    return any(scope.startswith(name[:-1]) if name.endswith("*") else scope == name for name in names)


def _first(said: list[Meaning], field: int) -> Found:
    """Return a field of the first that has something in it."""
    for one in said:
        found: Found = one[field]  # type: ignore[assignment]
        if found.value:
            return found
    return NOTHING


def _arguments(told: list[tuple[Convention, Meaning]]) -> tuple[Arguments | None, str]:
    """Return the first arguments that are there; else the first reason why not, and what to switch on in the emitter.

    An attribute that could not be read is not read again by another convention. Arguments that are there and no whole
    copy are a better reason than absent ones.
    """
    read: dict[str, Arguments] = {}
    for _, meaning in told:
        given = meaning.arguments
        if given is None or given.where in read:
            continue
        if not given.unhashed:
            return given, ""
        read[given.where] = given
    reasons = sorted(read.values(), key=lambda given: given.unhashed == "absent")
    switch = next((one.switch for one, _ in told if one.switch), "")
    return (reasons[0], REMEDIES.get(reasons[0].unhashed or "", switch)) if reasons else (None, switch)
