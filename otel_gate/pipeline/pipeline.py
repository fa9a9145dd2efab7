"""One inbox, one worker, and no lock over I/O.

Hooks only append to the inbox, which is the journal: what was accepted is on disk. The worker takes it from there, in
order, and owns everything else: assembler, store, counters. When something is in a record, the journal forgets it.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import structs
from msgspec.structs import replace

from otel_gate.core.assembly import Assembler, Limits
from otel_gate.pipeline import messages as told
from otel_gate.pipeline.commit import GROUP, RECOVER, Committer
from otel_gate.pipeline.inbox import Inbox
from otel_gate.pipeline.intake import Intake
from otel_gate.pipeline.lines import Table
from otel_gate.pipeline.messages import encode as encode_message
from otel_gate.pipeline.pieces import messages_of
from otel_gate.pipeline.policy import Accounts, Load, Policy
from otel_gate.pipeline.resume import GoingOn
from otel_gate.pipeline.upkeep import Parts, Upkeep
from otel_gate.store.files import Files
from otel_gate.store.orphans import GOES_ON
from otel_gate.store.owner import new_owner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from otel_gate.core.assembly import Opened
    from otel_gate.core.model import Trace
    from otel_gate.pipeline.policy import Forward
    from otel_gate.pipeline.withhold import Withholding
    from otel_gate.store import Store
    from otel_gate.store.openfile import OpenFile

logger = logging.getLogger("otel_gate")
TICK_S, SOON_S = 0.2, 0.001
STATUS_S, SEALED_S = 1.0, 1.0
STEP_MESSAGES = 2_000
_parents: list[Committer] = []
_Given = TypeVar("_Given")


class Pipeline:
    """Everything between a door and the store. ``put`` may be called from anywhere and never waits."""

    def __init__(  # noqa: PLR0913
        self, policy: Policy, limits: Limits, root: Path, open_store: Callable[[], Store], *,
        forward: Forward | None = None, clock_ns: Callable[[], int] = time.monotonic_ns, files: Files | None = None,
        sync: bool = False, grouped: bool = False, goes_on: bool = False, withholding: Withholding | None = None,
    ) -> None:  # fmt: skip
        """Start with nothing; the journal and the worker start with the first message.

        One that ``goes_on`` begins with what another such one has left open, after its ``suspend`` or its sudden end.
        """
        self.policy, self.withholding = policy, withholding
        self._limits, self._open_store, self._forward, self._clock_ns = limits, open_store, forward, clock_ns
        self._root, self._files, self._sync, self._grouped = root, files or Files(), sync, grouped
        self._goes_on, self._going_on = goes_on, GoingOn(wanted=goes_on)
        self.resources, self.scopes = Table(), Table()
        self.began: dict[str, int] = {}
        self.inherited: frozenset[str] = frozenset()
        self._reset()
        if hasattr(os, "register_at_fork"):
            in_child = weakref.WeakMethod(self._after_fork)
            os.register_at_fork(after_in_child=lambda: (method := in_child()) and method())

    def _reset(self) -> None:
        self.accounts = Accounts()
        self.snapshot: Accounts = Accounts()
        self.load: Load = Load()
        self.hook_errors = 0
        self._defining = threading.RLock()
        owner = self._renew()
        self._reading = self.inbox
        self._assembler = Assembler(self._limits)
        self.committer = Committer(
            self.policy, self.accounts, self._open_store, self._forward, self.resources, self.scopes, self
        )
        self.committer.owner, self.committer.counted = owner, self._counted
        self._intake = Intake(self._assembler, self.committer, self.accounts)
        self._wake, self._starting, self._running = threading.Event(), threading.RLock(), threading.RLock()
        self._is_starting = False
        self._stopping: told.Asked | None = None
        self._upkeep = Upkeep(
            Parts(
                self._root, self._files, self._open_store, self._forward, self.policy, self._limits, self.accounts,
                self.committer, self._assembler, self._intake, self._going_on,
            ),
            self._clock_ns,
        )  # fmt: skip

    def _renew(self) -> str:
        """Let hooks put into an inbox that nobody has put anything into: whoever comes first opens its journal.

        Return the owner of its account.
        """
        owner = new_owner()
        self.inbox = Inbox(
            self._root, self._files, {**self.policy.about(), "account": owner, GOES_ON: self._goes_on},
            self.resources, self.scopes, self._defining, sync=self._sync, grouped=self._grouped,
            max_aside_bytes=self._limits.max_open_bytes,
        )  # fmt: skip
        self._append = self.inbox.journal.append
        self._worker: threading.Thread | None = None
        return owner

    def put(self, message: told.Message) -> None:
        """Hand a message to the worker; it is in the journal when this returns, or in memory when that can't be."""
        if not self._append(encode_message(message)):
            self._put_aside(message)

    def _put_aside(self, message: told.Message) -> None:
        """Take what the journal did not: it is not open yet, or can't be written."""
        self._place(lambda inbox: inbox.put(message))

    def _place(self, put: Callable[[Inbox], _Given]) -> _Given:
        """Put something into the inbox, and see that a worker is there for it."""
        if self._worker is None:
            self._start()
        inbox = self.inbox
        given = put(inbox)
        if inbox is not self.inbox:  # its worker is leaving, and may have looked already
            inbox.hand_over(self.inbox)
        if self._worker is None:
            self._start()
        return given

    def put_making(self, message: told.Making, size: int) -> bool:
        """Hand over arguments of a tool call, of about ``size`` bytes; False when too much of such is waiting."""
        taken = self._place(lambda inbox: inbox.put_making(message, size))
        self._wake.set()
        return taken

    def receive(self, pieces: Iterable[Trace], raw: bytes = b"") -> None:
        """Take pieces of traces that were read from ``raw``; what was not readable in it is kept as a blob."""
        for message in messages_of(pieces, raw, self.resources, self.scopes, self.withholding):
            self.put(message)

    def accept(self, pieces: Iterable[Trace], raw: bytes = b"") -> set[OpenFile] | None:
        """Take pieces as ``receive`` does, but never into memory: None when the journal can't be written.

        What is returned is to be given to ``sync``: only then has the journal what would survive the loss of power.
        """
        journal = self.inbox.journal
        if not journal.is_open:  # nothing is numbered then: another journal may be gone on with, and its numbers
            return None
        return journal.append_together(
            encode_message(message)
            for message in messages_of(pieces, raw, self.resources, self.scopes, self.withholding)
        )

    def sync(self, files: Iterable[OpenFile]) -> None:
        """Make durable what was accepted; one call may stand for many. May raise ``OSError``."""
        self.inbox.journal.sync(files)

    def start(self) -> bool:
        """Open the journal and begin; False when it can't be opened (it is tried again every second)."""
        if self._worker is None:
            self._start()
        return self.is_open

    @property
    def is_open(self) -> bool:
        """Whether the journal takes what is accepted."""
        return self.inbox.journal.is_open

    def flush(self, timeout_s: float) -> bool:
        """Return True when everything that is complete has a record, False when the time is over first."""
        deadline = time.monotonic() + timeout_s
        left = self._left(timeout_s)
        if self._worker is None and not self.inbox.has_something:
            return left
        return self._ask(told.Asked("flush"), deadline - time.monotonic()).ok and left

    def shutdown(self, timeout_s: float) -> bool:
        """Close every trace, record it and stop; False when the time is over first, or something could not be written.

        A span that still comes later starts the worker again.
        """
        return self._stop(told.Asked("stop"), timeout_s)

    def suspend(self, timeout_s: float) -> bool:
        """Stop as ``shutdown`` does, but leave what is open in the journal, to the next pipeline that goes on."""
        return self._stop(told.Asked("suspend"), timeout_s)

    def _stop(self, asked: told.Asked, timeout_s: float) -> bool:
        deadline = time.monotonic() + timeout_s
        left = self._left(timeout_s)
        if not left or (self._worker is None and not self.inbox.has_something):
            return left
        asked.until = deadline
        try:
            self._stopping = asked
            self._ask(asked, deadline - time.monotonic())
        except BaseException:  # a signal handler has raised, and perhaps before it was asked
            self._stopping = None
            raise
        if not asked.is_set():
            logger.error("otel-gate: %g s were not enough for the last records; the journal has the rest. %s",
                         timeout_s, RECOVER)  # fmt: skip
        return asked.ok

    def _left(self, timeout_s: float) -> bool:
        """Wait for a worker that is leaving, in the time that it has; False when it is still at it."""
        asked = self._stopping
        if asked is not None and not asked.is_set():
            asked.wait(max(min(timeout_s, asked.until - time.monotonic()), 0))
        return asked is None or asked.is_set()

    def recover(self, timeout_s: float) -> None:
        """Record what processes that have ended left in their journals, as far as ``timeout_s`` seconds allow."""
        self._upkeep.recover(timeout_s)

    def status(self) -> Accounts:
        """Return the accounts as they are between two steps of the worker; after a second, as they were then."""
        if self._worker is None or not self._worker.is_alive():
            if not self._running.acquire(timeout=STATUS_S):  # it is leaving, and in the middle of its last step
                return self.snapshot
            try:
                return self._accounts_now()
            finally:
                self._running.release()
        return self._ask(told.Asked("status"), STATUS_S).accounts or self.snapshot

    def lines(self, places: Any) -> list[bytes]:
        """Return the lines of spans at these places of the journal. May raise ``OSError``."""
        return self._reading.lines(places)

    @property
    def oldest_age_ns(self) -> int:
        """For how long the oldest open trace has been open, in nanoseconds; 0 when none is."""
        oldest = self.load.oldest_ns
        return 0 if oldest is None else self._clock_ns() - oldest

    @property
    def open_bytes(self) -> int:
        """How many bytes of spans have no record, whether they were taken from the journal already or not."""
        return self._assembler.bytes + self._reading.journal.unread_bytes

    def opened(self, most: int) -> list[Opened]:
        """Describe the traces that have been open for the longest, ``most`` of them."""
        while True:
            with contextlib.suppress(RuntimeError):  # the worker has changed them meanwhile
                return self._assembler.opened(most, self._clock_ns())

    def recorded(self, keys: Any) -> None:
        """Take notice that what was handed out of these traces is in records: the journal may forget it."""
        self._reading.recorded(self._intake.done(keys))

    def _accounts_now(self) -> Accounts:
        assembler, accounts = self._assembler, self.accounts
        return replace(
            accounts, open=assembler.held + self.committer.held, capped=accounts.capped + assembler.capped,
            hook_errors=accounts.hook_errors + self.hook_errors,
        )  # fmt: skip

    def _load_now(self) -> Load:
        return Load(len(self._assembler), self._assembler.oldest, self._reading.journal.size)

    def _counted(self) -> Accounts:
        """Return the accounts as they are to be kept: what its trace has no record of is open, capped or not."""
        assembler, now = self._assembler, self._accounts_now()
        return replace(now, open=now.open + assembler.capped, capped=now.capped - assembler.capped, recovered=0)

    def _ask(self, asked: told.Asked, timeout_s: float) -> told.Asked:
        deadline = time.monotonic() + timeout_s
        self._place(lambda inbox: inbox.aside(asked))
        self._wake.set()
        idle = (self._worker is None or not self._worker.is_alive()) and not self._is_starting
        if idle and self._running.acquire(timeout=max(timeout_s, 0)):  # else the worker is leaving, and holds it
            try:
                while self._reading.has_something and not asked.is_set():
                    self._step()
            finally:
                self._running.release()
        asked.wait(max(deadline - time.monotonic(), 0))
        return asked

    def _start(self) -> None:
        with self._starting:
            if self._worker is not None or self._is_starting:  # in the middle of it a signal may end a span
                return
            self._is_starting = True
            try:
                self._begin()
            finally:
                self._is_starting = False

    def _begin(self) -> None:
        """Open the journal and start the worker; a signal handler may raise at any moment, of the end of this too."""
        try:
            self._upkeep.open(self.inbox)
            worker = threading.Thread(target=self._work, name="otel-gate", daemon=True)
            self._worker = worker  # before it starts: a signal handler may raise in the middle of that
            try:
                worker.start()
            except RuntimeError:  # the interpreter is on its way out: shutdown runs the steps itself
                self._worker = None
        finally:
            self._is_starting = False

    def _after_fork(self) -> None:
        self.inherited |= set(self.began)
        self.began.clear()
        _parents.append(self.committer)  # its database is the parent's: not even to be closed here
        parents = {self.inbox.journal, self._reading.journal}
        self._reset()
        for journal in parents:
            journal.abandon()

    def _work(self) -> None:
        with self._running:  # the one before it may be leaving still
            stop = self._worker is not threading.current_thread()  # somebody has done its work meanwhile
            while not stop:
                self._wake.wait(SOON_S if self._reading.is_blocked else TICK_S)
                self._wake.clear()
                try:
                    stop = self._step()
                    self.snapshot, self.load = self._accounts_now(), self._load_now()
                except BaseException:  # a function of the user's may even exit: the worker is not its to end
                    self.accounts.hook_errors += 1
                    logger.exception("otel-gate: the worker met a fault and goes on")

    def _step(self) -> bool:
        asked = self._take_inbox()
        now = self._clock_ns()
        if self._going_on.lasts(self._reading, self._assembler, self._intake, now) and asked is None:
            self._wake.set()
            return False
        self.committer.retry(now, force=asked is not None)
        if asked is None:
            self._commit(itertools.islice(self._assembler.due(now), GROUP))
            due = self._assembler.next_due()
            if due is not None and due <= now:
                self._wake.set()
            self._upkeep.look(self._reading, now)
            return False
        self._wake.set()
        if asked.what in {"stop", "suspend"}:
            self._leave(asked)
            return True
        self._commit(self._assembler.flush())
        asked.ok = not self.committer.is_behind
        asked.set()
        return False

    def _leave(self, asked: told.Asked) -> None:
        """Record everything that came until now, or leave what is open; what comes later has a journal of its own."""
        owner = self._renew()
        others = self._take_the_rest()
        leaves = asked.what == "suspend" and not self._intake.has_loose  # what is in no journal can't be left there
        self._commit(self._assembler.due(self._clock_ns()) if leaves else self._assembler.drain())
        ok, is_left = not self.committer.is_behind, bool(len(self._assembler))
        if leaves:
            self.committer.leave(self._assembler.forget())
        self.committer.close()
        self.committer.begin_account(owner)
        self._close_journal(keep=is_left or not ok)
        self._reading = self.inbox
        for one in (asked, *others):
            one.ok, one.accounts = ok, self._accounts_now()
            one.set()

    def _commit(self, closed: Any) -> None:
        self.committer.commit(self._intake.closing(closed))

    def _take_inbox(self) -> told.Asked | None:
        now = self._clock_ns()
        for number, (place, message) in enumerate(self._reading.take()):
            if isinstance(message, told.Asked):
                if message.what != "status":
                    return message
                message.accounts = self.snapshot = self._accounts_now()
                self.load = self._load_now()
                message.set()
            else:
                self._take(message, place, now)
            if number >= STEP_MESSAGES:  # then records are due, however fast more comes in
                self._wake.set()
                break
        return None

    def _take(self, message: Any, place: int, now: int) -> None:
        try:
            if isinstance(message, told.Making):
                kept = message.make()
                self._reading.journal.append(told.encode(told.KeptAlready(*structs.astuple(kept))))
                message = kept
            self._intake.take(message, place, now)
        except BaseException:
            self.accounts.hook_errors += 1
            logger.exception("otel-gate: a message met a fault")

    def _take_the_rest(self) -> list[told.Asked]:
        """Let nothing more in, and take everything that is there or is just being written; return other questions."""
        journal, until, asked = self._reading.journal, time.monotonic() + SEALED_S, []
        journal.stop()
        while True:
            for place, message in self._reading.take():
                if isinstance(message, told.Asked):
                    asked.append(message)
                else:
                    self._take(message, place, self._clock_ns())
            if journal.is_read or time.monotonic() > until:
                return asked
            time.sleep(SOON_S)

    def _close_journal(self, *, keep: bool) -> None:
        """Close the journal; what is in no record, or could not be read, stays in it for whoever recovers it."""
        journal = self._reading.journal
        journal.close(remove=journal.is_read and not (keep or self._intake.owes))
        self._intake.leave()
