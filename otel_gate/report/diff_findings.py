"""The answer of ``diff`` and ``golden check`` as findings, for the formats of CI servers: a change is one.

SARIF's ``baselineState`` says what a comparison found: ``new`` (added), ``absent`` (removed) or ``updated``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.core.diff import WAYS
from otel_gate.report import check_findings
from otel_gate.report.diff_text import HASH_CHARS, SHORT_HASH
from otel_gate.report.findings import Check, File, Finding, Findings, Subject
from otel_gate.report.quantities import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from otel_gate.report.diff import ChangeReport, Comparison, DiffReport
    from otel_gate.report.findings import Baseline, Level

LEVELS: dict[str, Level] = {"high": "error", "medium": "warning", "low": "note"}
STATES: dict[str, Baseline] = {"added": "new", "removed": "absent"}
SEPARATOR = " / "
ALONE = "run"  # stands for the class of change of a run that only one side has
DIFFERENT = 1


def findings(report: DiffReport, command: str, rules: Sequence[Check]) -> Findings:
    """Return the findings of a comparison; a pair that can't be compared has the violations of ``rules`` instead."""
    changes = sum(len(pair.changes) for pair in report.pairs)
    outputs = (("same", str(report.exit_code == 0).lower()), ("changes", str(changes)))
    checks = [Check(name, name, f"Not {name}: {way}") for name, way in WAYS.items()]
    return Findings(
        command=command,
        exit_code=report.exit_code,
        said=_said(report, changes),
        checks=(*checks, Check(ALONE, ALONE, "Each run stands on both sides"), *rules),
        files=tuple(_file(pair) for pair in report.pairs),
        outputs=outputs,
    )


def _said(report: DiffReport, changes: int) -> str:
    if len(report.pairs) == 1:
        verdict = report.pairs[0].verdict
        return f"{verdict}, {counted(changes, 'change')}" if changes else verdict
    codes = [pair.exit_code for pair in report.pairs]
    counts = f"{codes.count(0)} same, {codes.count(DIFFERENT)} different"
    others = len(codes) - codes.count(0) - codes.count(DIFFERENT)
    return f"{counted(len(codes), 'run')}: {counts}{f', {others} not comparable' if others else ''}"


def _file(pair: Comparison) -> File:
    error = pair.error if pair.error and pair.exit_code != DIFFERENT else None
    traces = pair.new.traces if pair.new else ()
    subject = Subject(
        title=pair.name,
        known_as=pair.name,
        trace_id=traces[0] if len(traces) == 1 else None,
        facts=(("verdict", pair.verdict), ("unchanged", str(pair.unchanged))),
        findings=tuple(_findings(pair)),
    )
    return File(path=pair.name, exit_code=pair.exit_code, subjects=() if error else (subject,), error=error)


def _findings(pair: Comparison) -> Iterator[Finding]:
    if pair.error:
        yield Finding(rule=ALONE, name=ALONE, message=pair.error, path=pair.name)
    for side in (pair.base, pair.new):
        for found in side.violations if side else ():
            yield check_findings.finding(found, found.path or pair.name, "")
    for change in pair.changes:
        yield _finding(pair, change)


def _short(value: str) -> str:
    return f"{value[:SHORT_HASH]}…" if len(value) == HASH_CHARS and value.isalnum() else value or "-"


def _finding(pair: Comparison, change: ChangeReport) -> Finding:
    place = change.new or change.base
    values = f" {_short(change.was)}→{_short(change.now)}" if change.was or change.now else ""
    path = SEPARATOR.join(place.path) if place else ""
    return Finding(
        rule=change.type,
        name=change.type,
        message=f"{change.explanation}: {path}{values}",
        path=(place.file if place else "") or pair.name,
        line=place.line if place else 0,
        span_id=place.span_id if place else None,
        place=path,
        expected=change.was,
        got=change.now,
        try_=pair.accept,
        level=LEVELS[change.severity],
        baseline=STATES.get(change.type, "updated"),
    )
