"""What a pipeline is told, and what it counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

from otel_gate.core.identity import AUTO

if TYPE_CHECKING:
    from collections.abc import Sequence

    from otel_gate.core.model import Door, Note, Record, RemoteParent
    from otel_gate.store import Saved

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

    def forwardable(self, judged: Record) -> bool:
        """Tell whether a record may leave: well-formed, or in observe mode anything that OTLP can carry."""
        if self.mode == "observe":
            return STAY_LOCAL.isdisjoint(found.rule for found in judged.verdict.violations)
        return judged.verdict.shape_ok


class Forward(Protocol):
    """Who is told of records that are owed now; neither call waits or raises."""

    def start(self) -> None:
        """Begin with what is owed from before."""

    def saved(self, group: Sequence[Saved]) -> None:
        """Take notice of records that are on the disk, in the index and in the outbox."""


class Attachment(Struct, frozen=True):
    """What a tool span brings beside itself: bytes for the blob store under the hash of its arguments.

    ``blob`` is empty when arguments are not kept, and ``redacted`` says that they are not the original; ``derived``
    says that the span itself could not carry the hash.
    """

    hashed: str
    blob: bytes = b""
    redacted: bool = False
    derived: bool = False


class Accounts(Struct):
    """Counts of spans: ``seen = recorded + duplicates + capped + unparsable + open + lost``.

    ``open`` spans are in memory, their trace has no record yet; ``lost`` ones could not be written. ``traces`` and
    ``shape_ok`` count records; ``late`` spans came after their trace was closed; ``write_errors`` and ``hook_errors``
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
    write_errors: int = 0
    hook_errors: int = 0
