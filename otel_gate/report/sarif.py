"""SARIF 2.1.0, with what GitHub's code scanning asks for: help, a region, a fingerprint, a path in the repository.

Alerts show on a pull request only where it touches their lines: this is for traces that are committed. A finding of a
comparison has its ``baselineState``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from otel_gate.core.counted import counted
from otel_gate.report import json
from otel_gate.report.escape import printable
from otel_gate.report.findings import Fingerprints

if TYPE_CHECKING:
    from otel_gate.report.findings import Check, Finding, Findings, Subject

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
VERSION = "2.1.0"
ROOT = "%SRCROOT%"
MOST_RESULTS = 25_000
MOST_TEXT = 1_024


def text(findings: Findings) -> str:
    """Return the log: one run; what GitHub would not take any more is counted in a notification."""
    return json.text({"$schema": SCHEMA, "version": VERSION, "runs": [_run(findings)]})


def _run(findings: Findings) -> dict[str, Any]:
    found = list(findings.all())
    checks = _checks(findings)
    numbers = {check["id"]: number for number, check in enumerate(checks)}
    prints, version = Fingerprints(), findings.version
    results = [_result(findings, subject, one, numbers, prints) for subject, one in found[:MOST_RESULTS]]
    return {
        "tool": {"driver": {"name": "otel-gate", "version": version, "semanticVersion": version, "rules": checks}},
        "automationDetails": {"id": f"otel-gate/{findings.command}/"},
        "originalUriBaseIds": {ROOT: {"description": {"text": "the root of the repository"}}},
        "columnKind": "unicodeCodePoints",
        "invocations": [_invocation(findings, len(found) - len(results))],
        "artifacts": [{"location": _artifact(findings, file.path)} for file in findings.files if file.is_file],
        "results": results,
    }


def _checks(findings: Findings) -> list[dict[str, Any]]:
    known = {check.code: _rule(check) for check in findings.checks}
    for _, found in findings.all():
        if found.rule not in known:
            known[found.rule] = _rule_of(found.rule, found.name, found.name, found.name)
    return list(known.values())


def _rule(check: Check) -> dict[str, Any]:
    return _rule_of(check.code, check.name, check.summary, check.doc or check.summary)


def _rule_of(code: str, name: str, summary: str, doc: str) -> dict[str, Any]:
    words = "".join(part.capitalize() for part in printable(name).split("-")) or printable(code)
    whole = "\n".join(map(printable, doc.split("\n")))
    return {
        "id": printable(code),
        "name": words,
        "shortDescription": {"text": printable(summary)[:MOST_TEXT]},
        "fullDescription": {"text": whole[:MOST_TEXT]},
        "help": {"text": whole, "markdown": whole},
        "defaultConfiguration": {"level": "error"},
        "properties": {"precision": "very-high", "problem.severity": "error", "tags": ["trace"]},
    }


def _result(
    findings: Findings, subject: Subject, found: Finding, numbers: dict[str, int], prints: Fingerprints
) -> dict[str, Any]:
    line = max(found.line, 1)
    advice = f"; try: {found.try_}" if found.try_ else ""
    made: dict[str, Any] = {
        "ruleId": printable(found.rule),
        "ruleIndex": numbers[printable(found.rule)],
        "level": found.level,
        "message": {"text": printable(f"{found.message}{advice}")},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": _artifact(findings, found.path),
                    "region": {"startLine": line, "startColumn": 1, "endLine": line, "endColumn": 2},
                },
                "logicalLocations": _logical(subject, found),
            }
        ],
        "partialFingerprints": {
            "primaryLocationLineHash": prints.of(found, subject.known_as or findings.place(found.path))
        },
    }
    if found.span_index is not None:
        made["properties"] = {"span_index": found.span_index}
    return {**made, "baselineState": found.baseline} if found.baseline else made


def _logical(subject: Subject, found: Finding) -> list[dict[str, str]]:
    names = [subject.trace_id or "", found.span_id or "", found.place]
    whole = printable(" / ".join(filter(None, names)))
    return [{"fullyQualifiedName": whole or "trace", "kind": "object"}]


def _artifact(findings: Findings, path: str) -> dict[str, str]:
    place = findings.place(path)
    uri = quote(place.encode("utf-8", "surrogateescape").replace(b"\\", b"/"))
    return {"uri": f"file://{uri}"} if uri.startswith("/") else {"uri": uri, "uriBaseId": ROOT}


def _invocation(findings: Findings, left: int) -> dict[str, Any]:
    lost = [_notification(file.error, findings, file.path) for file in findings.files if file.error]
    rest = f"{counted(left, 'more result')} left out: {MOST_RESULTS} is the most that is taken"
    notifications = [*lost, _notification(rest, findings)] if left > 0 else lost
    return {
        "executionSuccessful": not any(file.error for file in findings.files),
        "exitCode": findings.exit_code,
        "toolExecutionNotifications": notifications,
    }


def _notification(said: str, findings: Findings, *paths: str) -> dict[str, Any]:
    places = [{"physicalLocation": {"artifactLocation": _artifact(findings, path)}} for path in paths]
    return {"level": "error", "message": {"text": printable(said)}, "locations": places}
