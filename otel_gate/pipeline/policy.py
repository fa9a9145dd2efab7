"""What a pipeline is told, and what it counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

from otel_gate.core.assembly import Limits
from otel_gate.core.identity import AUTO

if TYPE_CHECKING:
    from collections.abc import Sequence

    from otel_gate.core.model import Door, Note, Record, RemoteParent
    from otel_gate.settings import Settings
    from otel_gate.store import Saved

MS = 1_000_000
STAY_LOCAL = frozenset({"G000", "G101", "G107"})


class Policy(Struct, frozen=True):
    """How traces are judged and which go on. ``rules`` are ``Rule`` values and plain functions, in order."""

    rules: tuple[Any, ...]
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


class Forward(Protocol):
    """Who is told of records that are owed now; neither call waits or raises."""

    def start(self) -> None:
        """Begin with what is owed from before."""

    def saved(self, group: Sequence[Saved]) -> None:
        """Take notice of records that are on the disk, in the index and in the outbox."""


class Accounts(Struct):
    """Counts of spans: ``seen = recorded + duplicates + capped + unparsable + open + lost``.

    ``open`` spans are in the journal (or in memory, when it could not be written), their trace has no record yet;
    ``lost`` ones could not be written at all. ``traces`` and ``shape_ok`` count records; ``late`` spans came after
    their trace was closed; ``recovered`` traces are of processes that have ended; ``write_errors`` and ``hook_errors``
    are faults that were caught.
    """

    seen: int = 0
    recorded: int = 0
    duplicates: int = 0
    capped: int = 0
    unparsable: int = 0
    open: int = 0
    lost: int = 0
    traces: int = 0
    shape_ok: int = 0
    late: int = 0
    recovered: int = 0
    write_errors: int = 0
    hook_errors: int = 0
