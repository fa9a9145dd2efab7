"""Closed traces become records: join, judge, save, then index and outbox in groups; then the journal may forget them.

What can't be written is tried again. At the end, or when there is too much of it, it is left to whoever recovers the
journal; what is in no journal is lost then: counted, and said.
"""

from __future__ import annotations

import hashlib
import logging
import sqlite3
import time
from typing import TYPE_CHECKING, Any, Protocol, cast

from msgspec.structs import replace

from otel_gate.core.model import Completion, Problem, Span, Trace
from otel_gate.pipeline.intake import Loose
from otel_gate.pipeline.judged import Judged
from otel_gate.pipeline.lines import Local, spans
from otel_gate.pipeline.remedies import Remedies
from otel_gate.pipeline.unkept import Unkept
from otel_gate.store.accounts import Account, Accounts
from otel_gate.store.owner import new_owner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from otel_gate.core.assembly import Closed
    from otel_gate.pipeline.lines import Table
    from otel_gate.pipeline.messages import Kept, Key
    from otel_gate.pipeline.policy import Forward, Policy
    from otel_gate.store import Saved, Store

logger = logging.getLogger("otel_gate")
GROUP, GROUP_BYTES = 256, 16 << 20
RETRY_NS = 1_000_000_000
MOST_WAITING = 100_000
DISK = (OSError, sqlite3.Error)
ARGUMENTS, HASH = "arguments", "input.sha256"
RECOVER = "The next process with this store records them, or: otel-gate recover"


class Lines(Protocol):
    """What a committer asks of a journal."""

    def lines(self, places: Sequence[int]) -> list[bytes]:
        """Return the lines of spans at these places. May raise ``OSError``."""

    def recorded(self, keys: Sequence[Key]) -> None:
        """Take notice that everything that was handed out of these traces is in records."""


class Committer:
    """Owns the store of one pipeline; used by its worker only."""

    def __init__(  # noqa: PLR0913, PLR0917 - the parts of a pipeline
        self, policy: Policy, accounts: Accounts, open_store: Callable[[], Store], forward: Forward | None,
        resources: Table, scopes: Table, journal: Lines,
    ) -> None:  # fmt: skip
        """Open the store when it is first needed."""
        self.resources, self.scopes, self._journal = resources, scopes, journal
        self.attachments: dict[tuple[object, str], Kept] = {}
        self.described: dict[object, list[Trace]] = {}
        self.policy, self._accounts, self._open_store, self._forward = policy, accounts, open_store, forward
        self.now_ns: Callable[[], int] = time.time_ns
        self.owner, self.recovers = new_owner(), ""
        self.unsure: set[Key] | None = set()  # traces that may have a record without a mark; None: every one
        self.counted: Callable[[], Accounts] = lambda: accounts
        self._counted_before = Accounts()
        self._written: Account | None = None
        self._store: Store | None = None
        self._waiting: list[Closed] = []
        self._unkept = Unkept()
        self._remedies = Remedies()
        self._left = 0
        self._retry_at = 0

    @property
    def store(self) -> Store:
        """The open store."""
        if self._store is None:
            store = self._open_store()
            store.reconcile(self.policy.destinations, self.policy.forwardable)
            self._store = store
            if self._forward is not None:
                self._forward.start()
        return self._store

    @property
    def waiting(self) -> int:
        """How many spans could not be recorded yet."""
        return sum(map(_size, self._waiting))

    @property
    def is_behind(self) -> bool:
        """Whether a trace waits for its record (it may have nothing but starts), or a blob for the disk."""
        return bool(self._waiting or self._unkept)

    @property
    def held(self) -> int:
        """How many spans have no record: those that wait, and those that are left to whoever recovers the journal."""
        return self.waiting + self._left

    def attach(self, kept: Kept) -> None:
        """Keep a tool span's blob, and remember what its record has to say."""
        if kept.redacted or kept.derived:
            self.attachments[kept.key, kept.span_id] = replace(kept, blob=b"")
            if len(self.attachments) > MOST_WAITING:
                del self.attachments[next(iter(self.attachments))]
        if kept.blob:
            self._unkept.add(kept)
            self._keep_blobs()

    def _keep_blobs(self) -> None:
        try:
            self._unkept.retry(lambda kept: self.store.blobs.put(kept.hashed, kept.blob, redacted=kept.redacted))
        except Exception as error:  # noqa: BLE001 - whatever the store meets, the agent runs on
            self.note(error, "arguments of a tool call are not kept yet")

    def commit(self, closed: Iterable[Closed]) -> None:
        """Record closed traces, in groups."""
        for group in _batched(closed):
            self._commit(group)

    def retry(self, now_ns: int, *, force: bool = False) -> None:
        """Try again what could not be written, once a second, or now."""
        if self.is_behind and (force or now_ns >= self._retry_at):
            self._retry_at = now_ns + RETRY_NS
            self._keep_blobs()
            self.commit(self._taken())

    def close(self) -> None:
        """Give up what can't be written, write the account, and close the store."""
        self._give_up(self._waiting)
        self._waiting = []
        self._unkept.clear()
        self._end_account()
        self._close()

    def leave(self, spans: int) -> None:
        """Leave the spans of open traces to whoever goes on with the journal."""
        self._left += spans
        self.described.clear()
        self.attachments.clear()

    def begin_account(self, owner: str) -> None:
        """Count for another journal from now on."""
        self.owner, self._counted_before, self._written = owner, replace(self.counted()), None

    def _account(self) -> Account:
        return Account(self.owner, self.policy.door, self.counted().since(self._counted_before), self.recovers)

    def _end_account(self) -> None:
        account = self._account()
        if not (account.recovers or account.counted.seen):
            return
        try:
            if account != self._written:
                self.store.accounts.write(account)
            self.store.accounts.fold(lambda owner: owner in (account.owner, account.recovers))
        except Exception as error:  # noqa: BLE001 - whatever the store meets, the agent runs on
            self.note(error, "the accounts are not written")

    def _taken(self) -> Iterator[Closed]:
        """Take what waits now, one by one: it is held until it is taken."""
        for _ in range(len(self._waiting)):
            if self._waiting:
                yield self._waiting.pop(0)

    def _close(self) -> None:
        if self._store is not None:
            self._store.close()
            self._store = None

    def _commit(self, group: Sequence[Closed]) -> None:
        traces = [judged for closed in group if (judged := self._judged(closed)) is not None]
        try:
            results = self.store.save_all([(trace.trace_id, trace.record) for trace in traces])
        except Exception as error:  # noqa: BLE001
            results = [error] * len(traces)
        saved, done = [], []
        for wanted, answer in zip(traces, results, strict=True):
            trace, result = wanted, answer
            if isinstance(result, Exception) and not isinstance(result, DISK):
                trace, result = self._without_spans(wanted.closed, result)
            if isinstance(result, Exception):
                self._wait(trace.closed, result)
                continue
            self._count(trace, result)
            done.append(cast("Key", trace.closed.key))
            if result is not None:
                self._accounts.traces += result.record.revision == 1
                self._accounts.amended += result.record.revision > 1
                self._accounts.shape_ok += result.record.verdict.shape_ok
                saved.append(result)
                self._remedies.look(result.record)
        self._settle(saved)
        self._journal.recorded(done)

    def _judged(self, closed: Closed) -> Judged | None:
        try:
            again = self.unsure is None or closed.key in self.unsure
            return Judged(closed, self._pieces(closed), self.policy, self._keep, again=again)
        except DISK as error:
            self._wait(closed, error)
            return None
        except Exception as error:  # noqa: BLE001 - a trace is never dropped for a fault of ours
            return self._unrecordable(closed, error)

    def _without_spans(self, closed: Closed, error: Exception) -> tuple[Judged, Saved | Exception | None]:
        """Record that a trace was there which can't be recorded: trying it again would change nothing."""
        made = self._unrecordable(closed, error)
        [result] = self.store.save_all([(made.trace_id, made.record)])
        return made, result

    def _unrecordable(self, closed: Closed, error: Exception) -> Judged:
        problem = Problem("$", "a trace that can be recorded", f"{type(error).__name__}: {error}")
        source = self.policy.source(problems=(problem,))
        piece = Trace(_trace_id(closed), (), completion=closed.completion, source=source)
        return Judged(closed, [piece], self.policy, self._keep)

    def _count(self, trace: Judged, result: Saved | None) -> None:
        accounts, closed, spans_in = self._accounts, trace.closed, len(trace.pieces[0].spans)
        self.described.pop(closed.key, None)
        if self.unsure:
            self.unsure.discard(cast("Key", closed.key))
        if trace.was_there and result is None:  # all of it was counted when it was recorded
            accounts.seen -= _size(closed)
            return
        counted = trace.duplicates if trace.was_there else 0
        accounts.seen -= counted
        accounts.recorded += spans_in - trace.duplicates
        accounts.duplicates += trace.duplicates - counted
        accounts.capped += closed.completion.capped
        accounts.unparsable += len(closed.entries) - spans_in
        accounts.late += spans_in if closed.late else 0

    def _settle(self, group: list[Saved]) -> None:
        if not group:
            return
        try:
            account = self._account()
            self.store.settle(group, self.policy.destinations, self.policy.forwardable, account)
            self._written = account
        except Exception as error:  # noqa: BLE001 - the records are there; the next store enters them in its index
            self.note(error, "records are not in the index yet")
            self._close()
            return
        if self._forward is not None:
            self._forward.saved(group)

    def _pieces(self, closed: Closed) -> list[Trace]:
        problems = [entry for entry in closed.entries if isinstance(entry, Problem)]
        lines = self._lines(closed.entries)
        resources, scopes = Local(self.resources), Local(self.scopes)
        found, unread = spans(lines, resources, scopes)
        problems += [problem for problem, _ in unread]
        if self.attachments:
            found = [self._with_attachment(closed.key, span) for span in found]
        policy, raw = self.policy, self._kept(b"\n".join(line for _, line in unread)) if unread else ""
        source = policy.source(notes=policy.notes, problems=tuple(problems), raw=raw)
        used = tuple(resources.used), tuple(scopes.used)
        piece = Trace(_trace_id(closed), tuple(found), *used, self._aged(closed.completion), source)
        return [piece, *self.described.get(closed.key, ())]

    def _aged(self, completion: Completion) -> Completion:
        """Say how long open spans had been open when their trace was closed."""
        if not completion.open:
            return completion
        now = self.now_ns()
        still = [
            replace(span, age_ns=max(now - span.start_ns, 0)) if span.start_ns else span for span in completion.open
        ]
        return replace(completion, open=tuple(still))

    def _lines(self, entries: list[Any]) -> list[bytes]:
        """Return the lines of a trace's spans, those that were not kept in memory from the journal."""
        places = [entry for entry in entries if isinstance(entry, int)]
        read = iter(self._journal.lines(places) if places else ())
        return [next(read) if isinstance(entry, int) else entry for entry in entries if not isinstance(entry, Problem)]

    def _keep(self, hashed: str, content: bytes) -> None:
        self.store.blobs.put(hashed, content)

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
        self.note(error, "a trace has no record yet and is tried again")
        self._waiting.append(closed)
        while self.waiting > MOST_WAITING:
            self._give_up([self._waiting.pop(0)])

    def _give_up(self, traces: list[Closed]) -> None:
        """Leave traces to the journal; what is not in it is lost."""
        loose = [sum(isinstance(entry, Loose) for entry in closed.entries) for closed in traces]
        lost, left = sum(loose), sum(map(_size, traces)) - sum(loose)
        self._accounts.lost += lost
        self._left += left
        if lost:
            count = sum(map(bool, loose))
            logger.error("otel-gate: %d traces (%d spans) could not be written and are lost", count, lost)
        if left:
            logger.error("otel-gate: %d spans could not be recorded; the journal has them. %s", left, RECOVER)

    def note(self, error: Exception, what: str) -> None:
        """Count a fault of the disk, and say the first one."""
        self._accounts.write_errors += 1
        if self._accounts.write_errors == 1:
            kind = type(error).__name__
            logger.error("otel-gate: the store could not be written (%s: %s); %s", kind, error, what)


def _size(closed: Closed) -> int:
    return len(closed.entries) + closed.completion.capped


def _trace_id(closed: Closed) -> str:
    return closed.key if isinstance(closed.key, str) else ""


def _batched(items: Iterable[Closed]) -> Iterator[list[Closed]]:
    """Group traces by their number, and by their size: a group is in memory with all its spans and records."""
    group: list[Closed] = []
    size = 0
    for closed in items:
        group.append(closed)
        size += closed.bytes
        if len(group) == GROUP or size >= GROUP_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group
