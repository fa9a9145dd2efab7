"""A line a finding, in the form that editors and people know from linters, and a line that sums up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.report.escape import printable
from otel_gate.report.findings import titled

if TYPE_CHECKING:
    from otel_gate.report.findings import Finding, Findings


def text(findings: Findings) -> str:
    """Return ``path:line: RULE name: message`` for each finding, then the sum."""
    errors = [file.error for file in findings.files if file.error]
    found = [line(one) for _, one in findings.all()]
    return "\n".join(map(printable, filter(None, [*errors, *found, findings.said])))


def line(found: Finding) -> str:
    """Return the line of one finding; it may hold anything that the trace does."""
    at = f"{found.path}:{found.line}" if found.line else found.path
    return f"{at}: {titled(found.rule, found.name)}: {found.message}"
