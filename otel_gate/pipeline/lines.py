"""Spans as lines while they wait: encoded, with process-wide numbers for their resource and scope.

A line takes a tenth of the memory of an SDK span. Numbers instead of values keep it small; a record has its own.
"""

from __future__ import annotations

import itertools
import threading
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import force_setattr

from otel_gate.core.model import Problem, Span, encode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    Unread = tuple[Problem, bytes]

decode = msgspec.json.Decoder(Span).decode
LAST_NS = 2**64 - 1
TIME = f"int from 0 to {LAST_NS}"


class Table:
    """Values by number, found again by a key: the identity of an SDK object, or the bytes of a value."""

    def __init__(self) -> None:
        """Start empty."""
        self.values: dict[int, Any] = {}
        self.bind(threading.RLock(), lambda _number, _value: None)
        self._numbers: dict[object, tuple[int, object]] = {}
        self._known: dict[bytes, int] = {}
        self._next = itertools.count()

    def bind(self, lock: threading.RLock, announce: Callable[[int, Any], None]) -> None:
        """Tell ``announce`` of each new value and its number, in order, while ``lock`` is held."""
        self._lock, self._announce = lock, announce

    def number(self, key: object, source: Any, make: Callable[[Any], Any]) -> int:
        """Return the number of ``make(source)``; ``source`` is kept alive, so that its identity can serve as key."""
        found = self._numbers.get(key)
        if found is not None:
            return found[0]
        value = make(source)
        with self._lock:
            content = encode(value)
            known = self._known.get(content)
            number = next(self._next) if known is None else known
            if known is None:  # every line of this may be interrupted by a signal handler that numbers something too
                self.values[number] = value
                self._announce(number, value)
                self._known[content] = number
            self._numbers[key] = (number, source)
        return number

    def learn(self, number: int, value: Any) -> None:
        """Take over what another process announced."""
        self.values[number] = value

    def go_on(self, values: Mapping[int, Any]) -> None:
        """Take over what another process announced, and number what is new after it."""
        self.values.update(values)
        self._known |= {encode(value): number for number, value in values.items()}
        self._next = itertools.count(max(values, default=-1) + 1)


class Local:
    """The numbers of one record, for the values that its spans use."""

    def __init__(self, table: Table) -> None:
        """Take values from this table; ``known`` holds the numbers given so far."""
        self._values = table.values
        self.known: dict[int | None, int] = {}
        self.used: list[Any] = []

    def number(self, number: int | None) -> int | None:
        """Return the record's number for a process-wide one."""
        local = self.known.get(number)
        if local is None and number is not None:
            if number not in self._values:  # its announcement is lost
                return None
            local = self.known[number] = len(self.used)
            self.used.append(self._values[number])
        return local


def spans(lines: Iterable[bytes], resources: Local, scopes: Local) -> tuple[list[Span], list[Unread]]:
    """Decode lines into spans with the record's numbers; what a record can't hold is a problem of the trace."""
    lines = list(lines)
    unread: list[Unread] = []
    try:
        found = [decode(line) for line in lines]
    except msgspec.MsgspecError:
        found = _carefully(lines, unread)
    if not _number(found, resources, scopes):
        unread = []
        found = _carefully(lines, unread)
        _number(found, resources, scopes)
    return found, unread


def _number(found: list[Span], resources: Local, scopes: Local) -> bool:
    """Give spans the record's numbers, and tell whether all their times are such as a document may hold."""
    fit, known_resources, known_scopes = True, resources.known, scopes.known
    for span in found:
        resource = known_resources.get(span.resource)
        if resource is None:
            resource = resources.number(span.resource)
        scope = known_scopes.get(span.scope)
        if scope is None:
            scope = scopes.number(span.scope)
        if resource != span.resource:
            force_setattr(span, "resource", resource)
        if scope != span.scope:
            force_setattr(span, "scope", scope)
        if span.events or not (0 <= span.start_ns <= LAST_NS and 0 <= span.end_ns <= LAST_NS):
            fit = fit and _time_out_of_range(span) is None
    return fit


def _carefully(lines: list[bytes], unread: list[Unread]) -> list[Span]:
    found = []
    for number, line in enumerate(lines):
        try:
            span = decode(line)
        except msgspec.MsgspecError as error:
            unread.append((_problem(number, str(error)), line))
            continue
        wrong = _time_out_of_range(span)
        if wrong is None:
            found.append(span)
        else:
            unread.append((Problem(f"$.spans[{number}].{wrong[0]}", TIME, f"int {wrong[1]}"), line))
    return found


def _time_out_of_range(span: Span) -> tuple[str, int] | None:
    times = [("start_ns", span.start_ns), ("end_ns", span.end_ns)]
    times += [(f"events[{number}].time_ns", event.time_ns) for number, event in enumerate(span.events)]
    return next((found for found in times if not 0 <= found[1] <= LAST_NS), None)


def _problem(number: int, said: str) -> Problem:
    """Turn what the decoder says (``Expected `int`, got `float` - at `$.start_ns```) into a problem of the trace."""
    what, _, place = said.replace("`", "").partition(" - at ")
    expected, _, got = what.removeprefix("Expected ").partition(", got ")
    return Problem(f"$.spans[{number}]{place.removeprefix('$')}", expected, got or "something else")
