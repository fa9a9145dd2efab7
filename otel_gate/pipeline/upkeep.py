"""What the worker looks after beside its work: the journal's segments and size, and journals that others have left."""

from __future__ import annotations

import contextlib
import logging
import threading
from typing import TYPE_CHECKING, NamedTuple

from otel_gate.pipeline.commit import DISK
from otel_gate.pipeline.recovery import recover
from otel_gate.report.quantities import counted
from otel_gate.store import orphans

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from otel_gate.core.assembly import Assembler, Limits
    from otel_gate.pipeline.commit import Committer
    from otel_gate.pipeline.inbox import Inbox
    from otel_gate.pipeline.intake import Intake
    from otel_gate.pipeline.policy import Accounts, Forward, Policy
    from otel_gate.pipeline.resume import GoingOn
    from otel_gate.store import Store
    from otel_gate.store.files import Files

logger = logging.getLogger("otel_gate")
MEND_NS, RECOVER_NS, REFUSED_NS = 1_000_000_000, 30_000_000_000, 600_000_000_000


class Parts(NamedTuple):
    """The parts of a pipeline that are looked after; ``root``, ``files`` and ``open_store`` are of its store.

    ``going_on`` takes over what a gateway before this one left, if this is one.
    """

    root: Path
    files: Files
    open_store: Callable[[], Store]
    forward: Forward | None
    policy: Policy
    limits: Limits
    accounts: Accounts
    committer: Committer
    assembler: Assembler
    intake: Intake
    going_on: GoingOn


class Upkeep:
    """Used by the worker, but for ``recover``; ``clock_ns`` is its clock."""

    def __init__(self, parts: Parts, clock_ns: Callable[[], int]) -> None:
        """Look at everything the first time."""
        self._parts, self._clock_ns = parts, clock_ns
        self._mend_at = self._recover_at = 0
        self._recovery: threading.Thread | None = None

    def look(self, inbox: Inbox, now: int) -> None:
        """Do what is due: once a second for the journal, twice a minute for those of others."""
        journal, intake = inbox.journal, self._parts.intake
        if now >= self._mend_at:
            self._mend_at = now + MEND_NS
            self._mend(inbox, now)
        if now >= self._recover_at:
            self._recover_at = now + RECOVER_NS
            self.recover(0)
        if len(journal.segments) > 1:
            journal.forget(intake.needed(inbox.taken))

    def open(self, inbox: Inbox) -> None:
        """Open a journal, that of a gateway before this one when there is one, or say that it can't be.

        When only the other one can't be had, a new one is begun, and that is recovered.
        """
        parts = self._parts
        refused = parts.going_on.begin(
            parts.root, parts.files, inbox, parts.open_store, parts.committer, parts.intake
        )  # fmt: skip
        try:
            inbox.open()
        except Exception as error:  # noqa: BLE001 - whatever the store meets, the agent runs on
            parts.committer.note(error, "until it can, spans wait in memory")
            return
        parts.going_on.is_wanted = False
        if refused is not None:
            parts.committer.note(refused, "open traces of the gateway before are recorded as they are")

    def recover(self, timeout_s: float) -> None:
        """Record what processes that have ended left in their journals, as far as ``timeout_s`` seconds allow.

        Not while the disk refuses what is ours (it has been said), nor while it is to be gone on with.
        """
        if self._parts.committer.held or self._parts.going_on.is_wanted:
            return
        if self._recovery is None or not self._recovery.is_alive():
            if not orphans.may_exist(self._parts.root):
                return
            thread = threading.Thread(target=self._recover, name="otel-gate-recover", daemon=True)
            with contextlib.suppress(RuntimeError):  # the interpreter is on its way out
                thread.start()
                self._recovery = thread
        if self._recovery is not None:
            self._recovery.join(timeout_s)

    def _recover(self) -> None:
        parts = self._parts
        try:
            for one in recover(
                parts.root,
                parts.policy,
                parts.limits,
                parts.open_store,
                parts.files,
                forward=parts.forward,
                going_on=parts.going_on.is_gateway,
            ):
                parts.accounts.recovered += one.accounts.recovered
                if one.accounts.recovered:
                    logger.warning(
                        "otel-gate: recovered %s of a process that had ended from its journal",
                        counted(one.accounts.recovered, "trace"),
                    )
                if not one.whole:
                    self._recover_at = self._clock_ns() + REFUSED_NS
        except DISK as error:
            parts.committer.note(error, "a journal could not be recovered and stays as it is")
        except Exception:
            logger.exception("otel-gate: a journal could not be recovered; it stays as it is")

    def _mend(self, inbox: Inbox, now: int) -> None:
        """Look after the journal: a full segment, one that somebody removed, a disk that takes something again."""
        journal, intake, note = inbox.journal, self._parts.intake, self._parts.committer.note
        if len(self._parts.assembler):
            journal.beat()
        refused, journal.sync_errors = journal.sync_errors, 0
        if refused:
            error = OSError(f"the journal had {counted(refused, 'sync')} refused")
            note(error, "what it took may not survive the loss of power")
        if not journal.is_open:
            self.open(inbox)
        elif journal.is_due(idle=not (intake.first or intake.owes)):
            try:
                journal.turn()
            except Exception as error:  # noqa: BLE001 - whatever the store meets, the agent runs on
                note(error, "the journal goes on in its old segment")
        if journal.size > self._parts.limits.max_open_bytes:
            self._cap_the_oldest(now)

    def _cap_the_oldest(self, now: int) -> None:
        """Record the trace that holds the journal's first entry as it is; its open spans amend it when they end."""
        intake = self._parts.intake
        for key in sorted(intake.first, key=intake.first.__getitem__):
            closed = list(self._parts.assembler.cap(key, now))
            if closed:
                self._parts.committer.commit(intake.closing(closed))
                return
            del intake.first[key]  # bytes came for a span that never did
