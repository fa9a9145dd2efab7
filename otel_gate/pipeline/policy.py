"""What a pipeline is told, and what it counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from msgspec import Struct

from otel_gate.conventions import TABLE
from otel_gate.core.assembly import Limits
from otel_gate.core.identity import AUTO
from otel_gate.core.model import Source
from otel_gate.store.accounts import Accounts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from otel_gate.conventions.recognise import Table
    from otel_gate.core.model import Door, Note, Record, RemoteParent
    from otel_gate.settings import Settings
    from otel_gate.store import Saved

__all__ = ["Accounts", "Forward", "Load", "Policy", "limits"]

MS = 1_000_000
STAY_LOCAL = frozenset({"G000", "G101", "G107"})


class Policy(Struct, frozen=True):
    """How traces are judged and which go on. ``rules`` are ``Rule`` values and plain functions, in order."""

    rules: tuple[Any, ...]
    conventions: Table = TABLE
    keep_arguments: bool = True
    door: Door = "sdk"
    run_id: str = AUTO
    remote_parent: RemoteParent = "root"
    mode: str = "enforce"
    notes: tuple[Note, ...] = ()
    destinations: tuple[str, ...] = ()

    def about(self) -> dict[str, Any]:
        """Return what whoever recovers a journal has to know of its door."""
        notes = [[note.code, note.count, note.first] for note in self.notes]
        return {"door": self.door, "run_id": self.run_id, "remote_parent": self.remote_parent, "notes": notes}

    def source(self, **more: Any) -> Source:
        """Return who delivers a trace, in texts of ours: a default is left out of a record by its identity."""
        return Source(self.door, "root" if self.remote_parent == "root" else "reject", **more)

    def forwardable(self, judged: Record) -> bool:
        """Tell whether a record may leave: well-formed, or in observe mode anything that OTLP can carry."""
        if self.mode == "observe":
            return STAY_LOCAL.isdisjoint(found.rule for found in judged.verdict.violations)
        return judged.verdict.shape_ok


def limits(settings: Settings) -> Limits:
    """Return when traces close and what they may hold, by the settings."""
    return Limits(
        grace_ns=settings.grace_ms * MS, quiet_ns=settings.quiet_ms * MS,
        trace_timeout_ns=settings.trace_timeout_ms * MS, max_trace_spans=settings.max_trace_spans,
        max_trace_bytes=settings.max_trace_bytes, max_trace_age_ns=settings.max_trace_age_s * 1000 * MS,
        max_open_bytes=settings.max_open_bytes,
    )  # fmt: skip


class Load(NamedTuple):
    """What is open: how many traces, since when the oldest (in nanoseconds of the pipeline's clock), journal bytes."""

    traces: int = 0
    oldest_ns: int | None = None
    journal_bytes: int = 0


class Forward(Protocol):
    """Who is told of records that are owed now; neither call waits or raises."""

    def start(self) -> None:
        """Begin with what is owed from before."""

    def saved(self, group: Sequence[Saved]) -> None:
        """Take notice of records that are on the disk, in the index and in the outbox."""
