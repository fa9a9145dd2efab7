"""GitLab's code quality report: an array of findings, each with a fingerprint that no other has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_gate.report import json
from otel_gate.report.escape import printable
from otel_gate.report.findings import Fingerprints, titled

if TYPE_CHECKING:
    from otel_gate.report.findings import Finding, Findings, Subject

SEVERITIES = {"error": "major", "warning": "minor", "note": "info"}


def text(findings: Findings) -> str:
    """Return the report; a file without an answer is a ``blocker``."""
    prints = Fingerprints()
    lost = [_lost(findings, file.path, file.error) for file in findings.files if file.error]
    found = [
        _entry(findings, subject, one, prints)
        for subject, one in findings.all()
        if one.baseline not in ("absent", "unchanged")
    ]
    return json.text([*lost, *found])


def _entry(findings: Findings, subject: Subject, found: Finding, prints: Fingerprints) -> dict[str, Any]:
    path = findings.place(found.path)
    return {
        "description": printable(f"{titled(found.rule, found.name)}: {found.message}"),
        "check_name": printable(found.rule),
        "fingerprint": prints.of(found, subject.known_as or path),
        "severity": SEVERITIES[found.level],
        "location": {"path": path, "lines": {"begin": max(found.line, 1)}},
    }


def _lost(findings: Findings, path: str, error: str) -> dict[str, Any]:
    place = findings.place(path)
    return {
        "description": printable(error),
        "check_name": "input",
        "fingerprint": f"input:{place}",
        "severity": "blocker",
        "location": {"path": place, "lines": {"begin": 1}},
    }
