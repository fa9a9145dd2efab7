"""One inbox, one worker, and no lock over I/O.

Hooks only append to a deque, whose append is atomic and takes no lock: a span may be ended by a signal handler, or by
the garbage collector in the middle of another hook, where a lock of ours would be a deadlock. The worker takes the
messages in order and owns everything else: assembler, store, counters.
"""

from __future__ import annotations

import collections
import hashlib
import itertools
import logging
import os
import threading
import time
import weakref
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from otel_gate.core.assembly import Assembler, Limits
from otel_gate.core.model import Source, Trace, encode
from otel_gate.otlp.text import scrubbed
from otel_gate.pipeline.commit import GROUP, Committer
from otel_gate.pipeline.lines import LAST_NS
from otel_gate.pipeline.messages import (
    Arrived,
    Asked,
    Attached,
    Described,
    Ended,
    Refused,
    Started,
    Unreadable,
)
from otel_gate.pipeline.policy import Accounts, Attachment, Policy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from otel_gate.pipeline.policy import Forward
    from otel_gate.store import Store

    Message = Started | Ended | Arrived | Unreadable | Refused | Attached | Described | Asked
logger = logging.getLogger("otel_gate")
TICK_S = 0.2
STATUS_S = 1.0
MOST_MESSAGES, STEP_MESSAGES = 200_000, 2_000
_unnamed = itertools.count()
_parents: list[Committer] = []


class Pipeline:
    """Everything between a door and the store. ``put`` may be called from anywhere and never waits."""

    def __init__(
        self, policy: Policy, limits: Limits, open_store: Callable[[], Store], *,
        forward: Forward | None = None, clock_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:  # fmt: skip
        """Start with nothing; the worker starts with the first message."""
        self.policy = policy
        self._limits, self._open_store, self._forward, self._clock_ns = limits, open_store, forward, clock_ns
        self._take: dict[type, Callable[[Any, int], None]] = {
            Started: self._started, Ended: self._ended, Arrived: self._arrived, Unreadable: self._unreadable,
            Refused: self._refused, Attached: self._attached, Described: self._described,
        }  # fmt: skip
        self._inherited: frozenset[str] = frozenset()
        self._reset()
        if hasattr(os, "register_at_fork"):
            in_child = weakref.WeakMethod(self._after_fork)
            os.register_at_fork(after_in_child=lambda: (method := in_child()) and method())

    def _reset(self) -> None:
        self.inbox: collections.deque[Message] = collections.deque()
        self.accounts = Accounts()
        self.hook_errors = self._waiting_bytes = 0
        self._assembler = Assembler(self._limits)
        self.committer = Committer(self.policy, self.accounts, self._open_store, self._forward)
        self._wake, self._starting = threading.Event(), threading.Lock()
        self._worker: threading.Thread | None = None
        self._stopping: Asked | None = None

    def put(self, message: Message) -> None:
        """Hand a message to the worker, starting it when there is none in this process."""
        self.inbox.append(message)
        if self._worker is None:
            self._start()

    def put_span(self, message: Ended | Arrived) -> None:
        """Hand over a span; with the worker hopelessly behind, only the fact that there was one."""
        self._waiting_bytes += len(message.line)  # not exact under threads; set right whenever the inbox is empty
        room = len(self.inbox) < MOST_MESSAGES and self._waiting_bytes < self._limits.max_open_bytes
        self.inbox.append(message if room else Refused(message.key, message.span_id))
        if self._worker is None:
            self._start()

    def put_arguments(self, message: Attached, size: int) -> bool:
        """Hand over the arguments of a tool call, of ``size`` bytes; False when too much of such is waiting."""
        self._waiting_bytes += size
        if self._waiting_bytes >= self._limits.max_open_bytes:
            return False
        self.put(message)
        return True

    def receive(self, pieces: Iterable[Trace], raw: bytes = b"") -> None:
        """Take pieces of traces that were read from ``raw``; what was not readable in it is kept as a blob."""
        for piece in pieces:
            key = piece.trace_id or ("", next(_unnamed))
            source = Source(notes=piece.source.notes)
            if piece.source.problems and raw:
                hashed = hashlib.sha256(raw).hexdigest()
                self.put(Attached(key, "", partial(Attachment, hashed, raw)))
                source = replace(source, raw=hashed)
            if source.notes or source.raw or piece.completion:
                self.put(Described(key, Trace(piece.trace_id, (), completion=piece.completion, source=source)))
            for problem in piece.source.problems:
                self.put(Unreadable(key, problem, not piece.trace_id))
            self._receive_spans(key, piece)

    def _receive_spans(self, key: Any, piece: Trace) -> None:
        number_resource, number_scope = self.committer.resources.number, self.committer.scopes.number
        resources = [number_resource(encode(value), value, _same) for value in piece.resources]
        scopes = [number_scope(encode(value), value, _same) for value in piece.scopes]
        for span in piece.spans:
            resource = None if span.resource is None else resources[span.resource]
            scope = None if span.scope is None else scopes[span.scope]
            line = encode(replace(span, resource=resource, scope=scope))
            self.put_span(Arrived(key, span.span_id, line, piece.is_root(span), ""))

    def flush(self, timeout_s: float) -> bool:
        """Return True when everything that is complete has a record, False when the time is over first."""
        return self._ask(Asked("flush"), timeout_s).ok

    def shutdown(self, timeout_s: float) -> bool:
        """Close every trace, record it and stop; False when the time is over first, or something could not be written.

        A span that still comes later starts the worker again.
        """
        if self._worker is None and not self.inbox:
            return True
        if self._stopping is not None and not self._stopping.is_set():  # it had its time, and is still at it
            return False
        asked = self._stopping = Asked("stop")
        self._ask(asked, timeout_s)
        if not asked.is_set():
            left = self._accounts_now().open + sum(isinstance(one, Ended | Arrived) for one in tuple(self.inbox))
            logger.error(
                "otel-gate: %g s were not enough for the last records; %d spans are not recorded", timeout_s, left
            )
        return asked.ok

    def status(self) -> Accounts:
        """Return the accounts as they are between two steps of the worker; without an answer in time, as they stand."""
        if self._worker is None or not self._worker.is_alive():
            return self._accounts_now()
        return self._ask(Asked("status"), STATUS_S).accounts or self._accounts_now()

    def _accounts_now(self) -> Accounts:
        assembler, accounts = self._assembler, self.accounts
        open_spans = assembler.held + self.committer.waiting
        return replace(
            accounts, open=open_spans, capped=accounts.capped + assembler.capped,
            hook_errors=accounts.hook_errors + self.hook_errors,
        )  # fmt: skip

    def _ask(self, asked: Asked, timeout_s: float) -> Asked:
        self.put(asked)
        self._wake.set()
        if self._worker is None or not self._worker.is_alive():
            while self.inbox:
                self._step()
        asked.wait(max(timeout_s, 0))
        return asked

    def _start(self) -> None:
        with self._starting:
            if self._worker is not None:
                return
            worker = threading.Thread(target=self._work, name="otel-gate", daemon=True)
            try:
                worker.start()
            except RuntimeError:  # the interpreter is on its way out: shutdown runs the steps itself
                return
            self._worker = worker

    def _after_fork(self) -> None:
        self._inherited |= {span.span_id for span in self._assembler.open_spans()}
        self._inherited |= {message.span_id for message in tuple(self.inbox) if isinstance(message, Started)}
        _parents.append(self.committer)  # its database is the parent's: not even to be closed here
        resources, scopes = self.committer.resources, self.committer.scopes
        self._reset()
        self.committer.resources, self.committer.scopes = resources, scopes
        resources.after_fork()
        scopes.after_fork()

    def _work(self) -> None:
        stop = False
        while not stop:
            self._wake.wait(TICK_S)
            self._wake.clear()
            try:
                stop = self._step()
            except BaseException:  # a function of the user's may even exit: the worker is not its to end
                self.accounts.hook_errors += 1
                logger.exception("otel-gate: the worker met a fault and goes on")
        self._worker = None
        if self.inbox:
            self._start()

    def _step(self) -> bool:
        asked = self._take_inbox()
        now = self._clock_ns()
        self.committer.retry(now, force=asked is not None)
        if asked is None:
            self.committer.commit(itertools.islice(self._assembler.due(now), GROUP))
            due = self._assembler.next_due()
            if due is not None and due <= now:
                self._wake.set()
            return False
        self._wake.set()
        stop = asked.what == "stop"
        self.committer.commit(self._assembler.drain() if stop else self._assembler.flush())
        asked.ok = not self.committer.waiting
        if stop:
            self.committer.close()
        asked.set()
        return stop

    def _take_inbox(self) -> Asked | None:
        inbox, take, now = self.inbox, self._take, self._clock_ns()
        for _ in range(STEP_MESSAGES):  # then records are due, however fast more comes in
            if not inbox:
                self._waiting_bytes = 0
                break
            message = inbox.popleft()
            if isinstance(message, Asked):
                if message.what != "status":
                    return message
                message.accounts = self._accounts_now()
                message.set()
                continue
            try:
                take[type(message)](message, now)
            except BaseException:
                self.accounts.hook_errors += 1
                logger.exception("otel-gate: a message met a fault")
        else:
            self._wake.set()
        return None

    def _started(self, message: Started, now: int) -> None:
        parent, remote, name, start_ns = message.parent_span_id, message.remote, message.name, message.start_ns
        if type(name) is not str or not name.isascii():
            message = replace(message, name=scrubbed(str(name)))
        if type(start_ns) is not int or not 0 <= start_ns <= LAST_NS:
            message = replace(message, start_ns=0)
        self._assembler.started(message.key, message, parent, remote=remote, now=now)

    def _ended(self, message: Ended, now: int) -> None:
        if message.span_id in self._inherited:  # the process that started it owns it
            return
        self.accounts.seen += 1
        line = message.line
        self._assembler.ended(message.key, message.span_id, line, len(line), root=message.root, now=now)
        if message.run_id:
            self._assembler.draw(message.key, message.span_id, message.run_id)

    def _arrived(self, message: Arrived, now: int) -> None:
        self.accounts.seen += 1
        line = message.line
        self._assembler.arrived(message.key, line, len(line), root=message.root, now=now)
        if message.run_id:
            self._assembler.draw(message.key, message.span_id, message.run_id)

    def _unreadable(self, message: Unreadable, now: int) -> None:
        self.accounts.seen += 1
        self._assembler.arrived(message.key, message.problem, 0, root=message.alone, now=now)

    def _refused(self, message: Refused, now: int) -> None:
        self.accounts.seen += 1
        self._assembler.refused(message.key, message.span_id, now)

    def _attached(self, message: Attached, _now: int) -> None:
        self.committer.attach(message.key, message.span_id, message.make())

    def _described(self, message: Described, _now: int) -> None:
        self.committer.described.setdefault(message.key, []).append(message.piece)


def _same(value: Any) -> Any:
    return value
