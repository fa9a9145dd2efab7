"""The answer of ``check`` as findings, for the formats of CI servers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from otel_gate.report import text
from otel_gate.report.findings import File, Finding, Findings, Subject

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from otel_gate.report.check import CheckReport, FileReport, Located, TraceReport
    from otel_gate.report.findings import Check

COMMAND, READABLE = "check", "G000"


class Tree(Struct, frozen=True, gc=False):
    """Where things stand in the tree of a trace: its root's name and times, its first line, where violations are."""

    root: str
    line: int
    places: tuple[str, ...]
    times: tuple[int, int]


def findings(report: CheckReport, checks: Sequence[Check], trees: Mapping[int, Tree]) -> Findings:
    """Return the findings of a report; ``trees`` are by the ``id()`` of the report of a trace."""
    traces = [trace for file in report.files for trace in file.traces]
    hashes = [trace.id_hash or "" for trace in traces]
    violations = sum(len(trace.violations) for trace in traces)
    outputs = (
        ("shape_ok", str(bool(traces) and report.exit_code == 0 and not violations).lower()),
        ("id_hash", hashes[0] if len(hashes) == 1 else ""),
        ("violations", str(violations)),
    )
    return Findings(
        command=COMMAND,
        exit_code=report.exit_code,
        said=text.counted(trace.shape_ok for trace in traces),
        checks=tuple(checks),
        files=tuple(_file(file, trees) for file in report.files),
        outputs=outputs,
    )


def finding(found: Located, path: str, place: str) -> Finding:
    """Return a violation as a finding."""
    return Finding(
        rule=found.rule, name=found.name, message=found.message, path=found.path or path, line=found.line,
        span_id=found.span_id, place=place, expected=found.expected, got=found.got, try_=found.try_,
        span_index=found.span_index,
    )  # fmt: skip


def _file(file: FileReport, trees: Mapping[int, Tree]) -> File:
    subjects = tuple(_subject(file.path, trace, trees[id(trace)]) for trace in file.traces)
    return File(path=file.path, exit_code=file.exit_code, subjects=subjects, error=file.error)


def _subject(path: str, trace: TraceReport, tree: Tree) -> Subject:
    unreadable = trace.id_hash is None and any(found.rule == READABLE for found in trace.violations)
    facts = (
        ("id_hash", trace.id_hash or ""),
        ("run_id", trace.run_id),
        ("spans", str(trace.spans)),
        ("tools", str(trace.tools)),
    )
    return Subject(
        title=tree.root,
        line=tree.line,
        trace_id=trace.trace_id,
        times=tree.times,
        facts=facts,
        findings=tuple(finding(found, path, place) for found, place in zip(trace.violations, tree.places, strict=True)),
        only=(READABLE,) if unreadable else None,
    )
