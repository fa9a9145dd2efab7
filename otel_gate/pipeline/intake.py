"""Messages into the assembler, one by one, in the order in which they were appended.

The same for the process that wrote them and for one that recovers its journal. What was in a record already when the
process ended (``recorded``: places by key) is passed over then.

A line is kept in memory as long as there is room; else its place in the journal is. So what memory holds is bounded,
but for a few bytes a span, however much is open.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from otel_gate.core.model import Trace
from otel_gate.pipeline import messages as told

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from otel_gate.core.assembly import Assembler, Closed
    from otel_gate.pipeline.commit import Committer
    from otel_gate.pipeline.policy import Accounts

MEMORY_BYTES = 32 << 20
NOWHERE = -1  # the place of what could not be written to the journal


class Loose(bytes):
    """A line that is in no journal."""

    __slots__ = ()


class _Leaving(Struct):
    """What was handed out of a trace and is not all in records: where it begins and ends, and in how many parts."""

    first: int
    upto: int
    parts: int = 0


class Intake:
    """Takes messages for one assembler and one committer."""

    def __init__(
        self, assembler: Assembler, committer: Committer, accounts: Accounts, *, memory_bytes: int = MEMORY_BYTES,
        recorded: Mapping[told.Key, int] | None = None,
    ) -> None:  # fmt: skip
        """Take what this process writes, or (with ``recorded``) what another one has written.

        ``first`` holds the first place of what is held of each trace.
        """
        self._assembler, self._committer, self._accounts = assembler, committer, accounts
        self._memory_bytes, self._recorded = memory_bytes, {} if recorded is None else recorded
        self.in_memory, self.has_loose, self._goes_on = 0, False, False
        self.first: dict[told.Key, int] = {}
        self._leaving: dict[told.Key, _Leaving] = {}
        self._upto = 0
        self._take: dict[type, Callable[[Any, int, int], None]] = {
            told.Started: self._started, told.Ended: self._ended, told.Arrived: self._arrived,
            told.Unreadable: self._unreadable, told.Refused: self._refused, told.Kept: self._kept,
            told.Described: self._described, told.Recorded: _pass, told.ResourceIs: _pass, told.ScopeIs: _pass,
            told.KeptAlready: _pass,
        }  # fmt: skip
        if recorded is not None:
            self._take |= {
                told.ResourceIs: self._resource, told.ScopeIs: self._scope, told.KeptAlready: self._kept,
            }  # fmt: skip

    def take(self, message: told.Message, place: int, now: int) -> None:
        """Take a message from a place of the journal (``NOWHERE``: it is in none)."""
        self._take[type(message)](message, place, now)
        if place == NOWHERE:
            self.has_loose = True
        else:
            self._upto = max(place + 1, self._upto)

    def go_on(self, recorded: Mapping[told.Key, int]) -> None:
        """Take what a journal holds that was taken over: what is in records is not open, whatever its trace lacks."""
        self._recorded, self._goes_on = recorded, True

    def gone_on(self) -> None:
        """Take notice that what comes from now on is of this process."""
        self._recorded, self._goes_on = {}, False

    def closing(self, traces: Iterable[Closed]) -> Iterator[Closed]:
        """Pass on closed traces; the memory that they take is not counted here any more."""
        for closed in traces:
            self.in_memory -= sum(len(entry) for entry in closed.entries if isinstance(entry, bytes))
            key = cast("told.Key", closed.key)
            leaving = self._leaving.setdefault(key, _Leaving(self.first.pop(key, self._upto), self._upto))
            leaving.upto, leaving.parts = self._upto, leaving.parts + 1
            self.first.pop(key, None)
            yield closed

    def done(self, keys: Sequence[told.Key]) -> Iterator[tuple[told.Key, int]]:
        """Note that a part of each trace is in a record; yield those of which every part is, and the place after it."""
        for key in keys:
            leaving = self._leaving[key]
            leaving.parts -= 1
            if not leaving.parts:
                yield key, self._leaving.pop(key).upto

    @property
    def owes(self) -> bool:
        """Whether something that was handed out is in no record."""
        return bool(self._leaving)

    def leave(self) -> None:
        """Leave what is in no record to whoever recovers the journal, which is closed."""
        self.first.clear()
        self._leaving.clear()
        self.in_memory = 0
        self._upto = 0  # places begin anew in another journal

    def needed(self, default: int) -> int:
        """Return the first place of everything that is in no record; ``default`` when everything is."""
        return min((*self.first.values(), *(leaving.first for leaving in self._leaving.values())), default=default)

    def _of(self, key: told.Key, place: int) -> bool:
        """Note where a trace begins; False when what is there is in a record."""
        if place < self._recorded.get(key, 0) and place != NOWHERE:
            return False
        if place != NOWHERE:
            self.first.setdefault(key, place)
        return True

    def _started(self, span: told.Started, place: int, now: int) -> None:
        self._of(span.key, place)
        self._assembler.started(span.key, span, span.parent_span_id, remote=span.remote, now=now)

    def _ended(self, span: told.Ended, place: int, now: int) -> None:
        key, line = span.key, span.line
        if not self._of(key, place):
            self._was_passed(key, span.span_id, root=span.root, now=now)
            return
        self._accounts.seen += 1
        self._assembler.ended(key, span.span_id, self._entry(line, place), len(line), root=span.root, now=now)
        if span.run_id:
            self._assembler.draw(key, span.span_id, span.run_id)

    def _arrived(self, span: told.Arrived, place: int, now: int) -> None:
        key, line = span.key, span.line
        if not self._of(key, place):
            self._was_passed(key, span.span_id, root=span.root, now=now)
            return
        self._accounts.seen += 1
        self._assembler.arrived(key, self._entry(line, place), len(line), root=span.root, now=now)
        if span.run_id:
            self._assembler.draw(key, span.span_id, span.run_id)

    def _was_passed(self, key: told.Key, span_id: str, *, root: bool, now: int) -> None:
        if self._goes_on:
            self._assembler.remember(key, rooted=root)
        else:
            self._assembler.passed(key, span_id, root=root, now=now)

    def _entry(self, line: bytes, place: int) -> bytes | int:
        if place == NOWHERE:
            line = Loose(line)
        elif self.in_memory + len(line) > self._memory_bytes:
            return place
        self.in_memory += len(line)
        return line

    def _unreadable(self, message: told.Unreadable, place: int, now: int) -> None:
        if self._of(message.key, place):
            self._accounts.seen += 1
            self._assembler.arrived(message.key, message.problem, 0, root=message.alone, now=now)

    def _refused(self, message: told.Refused, place: int, now: int) -> None:
        if not self._of(message.key, place):
            self._was_passed(message.key, message.span_id, root=False, now=now)
            return
        self._accounts.seen += 1
        self._assembler.refused(message.key, message.span_id, now)

    def _kept(self, message: told.Kept, place: int, _now: int) -> None:
        if self._of(message.key, place):
            self._committer.attach(message)

    def _described(self, message: told.Described, place: int, _now: int) -> None:
        if self._of(message.key, place):
            key = message.key
            trace_id = key if isinstance(key, str) else ""
            piece = Trace(trace_id, (), completion=message.completion, source=message.source)
            self._committer.described.setdefault(key, []).append(piece)

    def _resource(self, message: told.ResourceIs, _place: int, _now: int) -> None:
        self._committer.resources.learn(message.number, message.value)

    def _scope(self, message: told.ScopeIs, _place: int, _now: int) -> None:
        self._committer.scopes.learn(message.number, message.value)


def _pass(_message: object, _place: int, _now: int) -> None:
    """Pass over what is for another reader."""
