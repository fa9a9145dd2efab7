"""Closed traces become records: join, judge, save, then index and outbox in groups.

What can't be written stays in memory, is tried again, and is given up only at the end or when there is too much of it;
that is counted in ``lost`` and said.
"""

from __future__ import annotations

import hashlib
import itertools
import logging
import sqlite3
from typing import TYPE_CHECKING

from msgspec.structs import replace

from otel_gate.core import identity, merge, record
from otel_gate.core.gate import judge
from otel_gate.core.model import Note, Problem, Record, Source, Span, Trace
from otel_gate.pipeline.lines import Local, Table, spans
from otel_gate.store.index import DUPLICATES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from otel_gate.core.assembly import Closed
    from otel_gate.pipeline.policy import Accounts, Attachment, Forward, Policy
    from otel_gate.store import Saved, Store

logger = logging.getLogger("otel_gate")
GROUP = 256
RETRY_NS = 1_000_000_000
MOST_WAITING = 100_000
DISK = (OSError, sqlite3.Error)
ARGUMENTS, HASH = "arguments", "input.sha256"


class Committer:
    """Owns the store of one pipeline; used by its worker only."""

    def __init__(
        self,
        policy: Policy,
        accounts: Accounts,
        open_store: Callable[[], Store],
        forward: Forward | None,
    ) -> None:
        """Open the store when it is first needed."""
        self.resources, self.scopes = Table(), Table()
        self.attachments: dict[tuple[object, str], Attachment] = {}
        self.described: dict[object, list[Trace]] = {}
        self._policy, self._accounts, self._open_store, self._forward = policy, accounts, open_store, forward
        self._store: Store | None = None
        self._waiting: list[Closed] = []
        self._retry_at = 0

    @property
    def store(self) -> Store:
        """The open store."""
        if self._store is None:
            store = self._open_store()
            store.reconcile(self._policy.destinations, self._policy.forwardable)
            self._store = store
            if self._forward is not None:
                self._forward.start()
        return self._store

    @property
    def waiting(self) -> int:
        """How many spans could not be written yet."""
        return sum(len(closed.entries) for closed in self._waiting)

    def attach(self, key: object, span_id: str, attachment: Attachment) -> None:
        """Keep a tool span's blob, and remember what its record has to say."""
        if attachment.redacted or attachment.derived:
            self.attachments[key, span_id] = replace(attachment, blob=b"")
            if len(self.attachments) > MOST_WAITING:
                del self.attachments[next(iter(self.attachments))]
        if attachment.blob:
            try:
                self.store.blobs.put(attachment.hashed, attachment.blob, redacted=attachment.redacted)
            except Exception as error:  # noqa: BLE001 - whatever the store meets, the agent runs on
                self._note(error, "arguments of a tool call are not kept")

    def commit(self, closed: Iterable[Closed]) -> None:
        """Record closed traces, in groups."""
        for group in _batched(closed, GROUP):
            self._commit(group)

    def retry(self, now_ns: int, *, force: bool = False) -> None:
        """Try again what could not be written, once a second, or now."""
        if self._waiting and (force or now_ns >= self._retry_at):
            self._retry_at = now_ns + RETRY_NS
            waiting, self._waiting = self._waiting, []
            self.commit(waiting)

    def close(self) -> None:
        """Give up what can't be written, and close the store."""
        if self._waiting:
            self._lose(self._waiting)
            self._waiting = []
        self._close()

    def _close(self) -> None:
        if self._store is not None:
            self._store.close()
            self._store = None

    def _commit(self, group: Sequence[Closed]) -> None:
        traces = [self._judged(closed) for closed in group]
        try:
            results = self.store.save_all([(trace.trace_id, trace.record) for trace in traces])
        except Exception as error:  # noqa: BLE001
            results = [error] * len(traces)
        saved = []
        for wanted, answer in zip(traces, results, strict=True):
            trace, result = wanted, answer
            if isinstance(result, Exception) and not isinstance(result, DISK):
                trace, result = self._without_spans(wanted.closed, result)
            if isinstance(result, Exception):
                self._wait(trace.closed, result)
                continue
            self._count(trace)
            if result is not None:
                self._accounts.traces += result.record.revision == 1
                self._accounts.shape_ok += result.record.verdict.shape_ok
                saved.append(result)
        self._settle(saved)

    def _judged(self, closed: Closed) -> _Judged:
        try:
            return _Judged(closed, self._pieces(closed), self._policy)
        except Exception as error:  # noqa: BLE001 - a trace is never dropped for a fault of ours
            return self._unrecordable(closed, error)

    def _without_spans(self, closed: Closed, error: Exception) -> tuple[_Judged, Saved | Exception | None]:
        """Record that a trace was there which can't be recorded: trying it again would change nothing."""
        made = self._unrecordable(closed, error)
        [result] = self.store.save_all([(made.trace_id, made.record)])
        return made, result

    def _unrecordable(self, closed: Closed, error: Exception) -> _Judged:
        problem = Problem("$", "a trace that can be recorded", f"{type(error).__name__}: {error}")
        source = Source(self._policy.door, self._policy.remote_parent, problems=(problem,))
        piece = Trace(_trace_id(closed), (), completion=closed.completion, source=source)
        return _Judged(closed, [piece], self._policy)

    def _count(self, trace: _Judged) -> None:
        accounts, closed, spans_in = self._accounts, trace.closed, len(trace.pieces[0].spans)
        self.described.pop(closed.key, None)
        accounts.recorded += spans_in - trace.duplicates
        accounts.duplicates += trace.duplicates
        accounts.capped += closed.completion.capped
        accounts.unparsable += len(closed.entries) - spans_in
        accounts.late += spans_in if closed.late else 0

    def _settle(self, group: list[Saved]) -> None:
        if not group:
            return
        try:
            self.store.settle(group, self._policy.destinations, self._policy.forwardable)
        except Exception as error:  # noqa: BLE001 - the records are there; the next store enters them in its index
            self._note(error, "records are not in the index yet")
            self._close()
            return
        if self._forward is not None:
            self._forward.saved(group)

    def _pieces(self, closed: Closed) -> list[Trace]:
        problems = [entry for entry in closed.entries if isinstance(entry, Problem)]
        lines = [entry for entry in closed.entries if isinstance(entry, bytes)]
        resources, scopes = Local(self.resources), Local(self.scopes)
        found, unread = spans(lines, resources, scopes)
        problems += [problem for problem, _ in unread]
        if self.attachments:
            found = [self._with_attachment(closed.key, span) for span in found]
        policy, raw = self._policy, self._kept(b"\n".join(line for _, line in unread)) if unread else ""
        source = Source(policy.door, policy.remote_parent, policy.notes, tuple(problems), raw)
        used = tuple(resources.used), tuple(scopes.used)
        piece = Trace(_trace_id(closed), tuple(found), *used, closed.completion, source)
        return [piece, *self.described.get(closed.key, ())]

    def _kept(self, content: bytes) -> str:
        hashed = hashlib.sha256(content).hexdigest()
        self.store.blobs.put(hashed, content)
        return hashed

    def _with_attachment(self, key: object, span: Span) -> Span:
        attachment = self.attachments.pop((key, span.span_id), None)
        if attachment is None:
            return span
        if attachment.redacted:
            span = replace(span, redacted=(*span.redacted, ARGUMENTS))
        if attachment.derived:
            attributes = {**span.attributes, HASH: attachment.hashed}
            span = replace(span, attributes=attributes, derived=(*span.derived, HASH))
        return span

    def _wait(self, closed: Closed, error: Exception) -> None:
        self._note(error, "a trace stays in memory and is tried again")
        self._waiting.append(closed)
        while self.waiting > MOST_WAITING:
            self._lose([self._waiting.pop(0)])

    def _lose(self, traces: list[Closed]) -> None:
        spans_lost = sum(len(closed.entries) for closed in traces)
        self._accounts.lost += spans_lost
        logger.error("otel-gate: %d traces (%d spans) could not be written and are lost", len(traces), spans_lost)

    def _note(self, error: Exception, what: str) -> None:
        self._accounts.write_errors += 1
        if self._accounts.write_errors == 1:
            kind = type(error).__name__
            logger.error("otel-gate: the store could not be written (%s: %s); %s", kind, error, what)


class _Judged:
    """One closed trace on its way into a record; ``record`` is what the store calls, more than once in a race."""

    def __init__(self, closed: Closed, pieces: list[Trace], policy: Policy) -> None:
        self.closed, self.trace_id, self.duplicates = closed, pieces[0].trace_id, 0
        self.pieces = [identity.with_run_id(piece, policy.run_id, closed.run_ids) for piece in pieces]
        self._rules = policy.rules

    def record(self, before: Record | None) -> Record | None:
        pieces = self.pieces if before is None else [before.trace, _amending(self.pieces[0]), *self.pieces[1:]]
        trace, self.duplicates = merge.join(pieces)
        if before is not None and _adds_nothing(trace, before):
            return None
        if self.duplicates:
            note = Source(notes=(Note(DUPLICATES, self.duplicates, ""),))
            trace = replace(trace, source=merge.source([trace.source, note]))
        return record.make(trace, judge(trace, self._rules), before)


def _trace_id(closed: Closed) -> str:
    key = closed.key
    return f"{key:032x}" if isinstance(key, int) else key if isinstance(key, str) else ""


def _amending(piece: Trace) -> Trace:
    """Leave out what a record of this door says already."""
    return replace(piece, source=replace(piece.source, notes=()))


def _adds_nothing(trace: Trace, before: Record) -> bool:
    return (
        len(trace.spans) == len(before.spans)
        and trace.completion == before.completion
        and trace.source.problems == before.source.problems
    )


def _batched(items: Iterable[Closed], size: int) -> Iterator[tuple[Closed, ...]]:
    iterator = iter(items)
    while group := tuple(itertools.islice(iterator, size)):
        yield group
