"""A gateway's pipeline without a thread, driven step by step, and what has to hold after its last process."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from otel_gate.pipeline import Pipeline
from otel_gate.store.accounts import counts
from otel_gate.store.journal import SEGMENT_BYTES
from tests.fakes import QuickFiles
from tests.pipeline.driven import LIMITS, POLICY, Agent, Driven, Fact, check_records, store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from otel_gate.core.assembly import Limits
    from otel_gate.core.model import Record
    from otel_gate.store.accounts import Accounts
    from otel_gate.store.files import Files

ENDS: dict[str, Callable[[Agent], Any]] = {
    "a clean stop": lambda one: one.pipeline.suspend(1), "SIGKILL": lambda one: one.pipeline.die(),
}  # fmt: skip
GATE = replace(POLICY, door="otlp", remote_parent="reject")


class Gate(Driven):
    """A pipeline that goes on with what one before it has left."""

    def __init__(
        self, root: Path, files: Files | None = None, *, limits: Limits = LIMITS, segment_bytes: int = SEGMENT_BYTES
    ) -> None:
        self.now, self._segment_bytes, used = 0, segment_bytes, files or QuickFiles()
        Pipeline.__init__(
            self, GATE, limits, root, lambda: store(root, used), clock_ns=lambda: self.now, files=used, grouped=True,
            goes_on=True,
        )  # fmt: skip

    def _start(self) -> None:
        self._worker = threading.Thread()  # never started
        self._upkeep.open(self.inbox)


def gate(root: Path, files: Files | None = None, **more: int) -> Agent:
    """Begin a gateway, and a client that tells it spans."""
    pipeline = Gate(root, files, **more)  # type: ignore[arg-type]
    pipeline.start()
    return Agent(pipeline, list[Fact]())


def total(root: Path) -> Accounts:
    """Return the sum of the durable accounts, each of which has to balance."""
    opened = store(root)
    with contextlib.closing(opened):
        opened.reconcile(GATE.destinations, GATE.forwardable)
        rows = [counts(row) for row in opened.accounts.rows()]
        assert all(row.balances for row in rows), rows
        return opened.accounts.total()


def check(root: Path, facts: list[Fact]) -> dict[str, Record]:
    """Hold that every span that was kept is in one record once, and counted there once; return records by trace."""
    found = check_records(root, facts)
    accounts = total(root)
    assert accounts.recorded == sum(len(record.spans) for record in found.values()), accounts
    assert (accounts.open, accounts.lost) == (0, 0), accounts
    return found
