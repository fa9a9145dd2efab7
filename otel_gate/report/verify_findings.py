"""The answer of ``verify`` as findings, for the formats of CI servers: each hash that did not match is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.report.findings import Check, File, Finding, Findings, Subject

if TYPE_CHECKING:
    from otel_gate.report.findings import Level
    from otel_gate.report.verify import Finding as Verified
    from otel_gate.report.verify import VerifyReport

LEVELS: dict[str, Level] = {"mismatch": "error", "missing": "warning", "redacted": "note"}
SUMMARIES = {
    "mismatch": "input.sha256 is the hash of the kept arguments",
    "missing": "the arguments are kept",
    "redacted": "the kept arguments are the original ones",
}


def findings(report: VerifyReport, path: str) -> Findings:
    """Return the findings of a verification of the store or file at ``path``."""
    files: dict[str, list[Verified]] = {path: []}
    for one in report.findings:
        files.setdefault(one.file or path, []).append(one)
    counts = {name: getattr(report.counts, name) for name in report.counts.__struct_fields__}
    lost = "; ".join(report.unreadable)
    return Findings(
        command="verify",
        exit_code=report.exit_code,
        said=", ".join(f"{number} {name}" for name, number in counts.items()),
        checks=tuple(Check(name, name, summary) for name, summary in SUMMARIES.items()),
        files=tuple(
            File(
                path=name,
                exit_code=report.exit_code,
                subjects=tuple(_subjects(name, found)),
                error=lost if name == path and lost else None,
            )
            for name, found in files.items()
            if found or (name == path and lost)
        ),
        outputs=tuple((name, str(number)) for name, number in counts.items()),
    )


def _subjects(path: str, found: list[Verified]) -> list[Subject]:
    traces: dict[str, list[Verified]] = {}
    for one in found:
        traces.setdefault(one.trace_id, []).append(one)
    return [
        Subject(
            title=trace_id or path,
            trace_id=trace_id or None,
            findings=tuple(_finding(path, one) for one in ones if one.outcome in LEVELS),
        )
        for trace_id, ones in traces.items()
    ]


def _finding(path: str, one: Verified) -> Finding:
    instead = f", its arguments have {one.got}" if one.got else ""
    return Finding(
        rule=one.outcome,
        name=one.outcome,
        message=f"{one.name or '(no name)'} has input.sha256 {one.hash}{instead}",
        path=path,
        line=one.line,
        span_id=one.span_id,
        place=one.name,
        expected=one.hash,
        got=one.got,
        level=LEVELS[one.outcome],
    )
