"""A line of JSON a finding (schema ``otel-gate/finding/1``), for programs that read as they go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from otel_gate.report import json
from otel_gate.report.findings import FINDING_SCHEMA, Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_gate.report.findings import Findings


class FindingLine(Finding, frozen=True, omit_defaults=True, kw_only=True):
    """A finding with the trace it is about; a file without an answer is one under the rule ``input``."""

    schema: Literal["otel-gate/finding/1"]
    command: str
    trace_id: str | None


def text(findings: Findings) -> str:
    """Return the lines; nothing when nothing was found."""
    return "\n".join(map(json.line, _lines(findings)))


def _lines(findings: Findings) -> Iterator[FindingLine]:
    for file in findings.files:
        if file.error:
            lost = Finding(rule="input", name="input", message=file.error, path=file.path)
            yield _line(findings, lost, None)
    for subject, found in findings.all():
        yield _line(findings, found, subject.trace_id)


def _line(findings: Findings, found: Finding, trace_id: str | None) -> FindingLine:
    parts = {name: getattr(found, name) for name in Finding.__struct_fields__}
    return FindingLine(schema=FINDING_SCHEMA, command=findings.command, trace_id=trace_id, **parts)
