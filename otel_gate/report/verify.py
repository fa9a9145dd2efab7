"""The answer of ``verify`` as values and as lines of text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from otel_gate.report.escape import shortened, word
from otel_gate.report.quantities import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

VerifySchema = Literal["otel-gate/verify/1"]
VERIFY_SCHEMA: VerifySchema = "otel-gate/verify/1"
MISMATCH = 1


class Finding(Struct, frozen=True, omit_defaults=True):
    """One ``input.sha256`` and what came of recomputing it; ``got`` is the hash of the bytes when that is another."""

    outcome: Literal["match", "redacted", "missing", "mismatch"]
    trace_id: str
    span_id: str
    name: str
    hash: str
    got: str = ""
    file: str = ""
    line: int = 0


class Counts(Struct, frozen=True):
    """How many hashes had each outcome."""

    match: int
    redacted: int
    missing: int
    mismatch: int


class VerifyReport(Struct, frozen=True):
    """Every hash of every trace; ``unreadable`` names files and records that could not be read."""

    schema: VerifySchema
    exit_code: int
    traces: int
    counts: Counts
    findings: tuple[Finding, ...]
    unreadable: tuple[str, ...] = ()


def report(traces: int, findings: Sequence[Finding], unreadable: Sequence[str], exit_code: int) -> VerifyReport:
    """Return the report; ``exit_code`` is that of what could not be read."""
    counts = Counts(*(sum(one.outcome == name for one in findings) for name in Counts.__struct_fields__))
    code = exit_code or (MISMATCH if counts.mismatch else 0)
    return VerifyReport(VERIFY_SCHEMA, code, traces, counts, tuple(findings), tuple(unreadable))


def lines(found: VerifyReport, *, every: bool = False) -> Iterator[str]:
    """Yield a line for each hash that does not match (``every``: for each), then the counts."""
    for one in found.findings:
        if every or one.outcome != "match":
            instead = f" got {one.got}" if one.got else ""
            place = f" ({one.file}:{one.line})" if one.line else ""
            name, hashed = shortened(one.name, 60) or "(no name)", shortened(one.hash, 64)
            yield f"{one.outcome} span={word(one.span_id)} {name} input.sha256={hashed}{instead}{place}"
    counts = ", ".join(f"{getattr(found.counts, name)} {name}" for name in Counts.__struct_fields__)
    yield f"{counts} in {counted(found.traces, 'trace')}"
