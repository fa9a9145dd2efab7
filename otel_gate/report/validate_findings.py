"""The answer of ``validate`` as findings, for the formats of CI servers: each issue of a tool call is one."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from otel_gate.report.findings import Check, File, Finding, Findings, Subject

if TYPE_CHECKING:
    from collections.abc import Sequence

SUMMARIES = {
    "truncated": "the answer was not cut off",
    "no_call": "there is a call where one is due",
    "missing_tool_name": "the call names a tool",
    "unknown_tool": "the call names a tool of its catalogue",
    "wrong_tool": "the call is of the tool that it was asked for",
    "malformed_json": "the arguments are JSON",
    "missing_field": "every required field is there",
    "unknown_field": "every field is one of the tool's",
    "type_mismatch": "every value has its field's type",
    "invalid_enum": "every value is one that its field may have",
    "constraint": "every value keeps to its field's limits",
}


class Told(NamedTuple):
    """One issue: its code, the path of the value, what was expected and what was there, and a sentence."""

    code: str
    path: str
    expected: str
    got: str
    message: str


class Invalid(NamedTuple):
    """A call with issues, and where its span stands (line 0: nobody knows)."""

    trace_id: str
    span_id: str
    tool: str
    file: str
    line: int
    issues: Sequence[Told]


def findings(invalid: Sequence[Invalid], judged: int, unjudged: int, path: str, exit_code: int) -> Findings:
    """Return the findings of a validation of the store or file at ``path``."""
    files: dict[str, list[Invalid]] = {path: []}
    for one in invalid:
        files.setdefault(one.file or path, []).append(one)
    counts = {"judged": judged, "invalid": len(invalid), "unjudged": unjudged}
    return Findings(
        command="validate",
        exit_code=exit_code,
        said=", ".join(f"{number} {name}" for name, number in counts.items()),
        checks=tuple(Check(code, code, summary) for code, summary in SUMMARIES.items()),
        files=tuple(
            File(path=name, exit_code=exit_code, subjects=tuple(_subject(name, one) for one in found))
            for name, found in files.items()
            if found or name == path
        ),
        outputs=tuple((name, str(number)) for name, number in counts.items()),
    )


def _subject(path: str, one: Invalid) -> Subject:
    return Subject(
        title=f"{one.trace_id} {one.span_id}",
        line=max(one.line, 1),
        trace_id=one.trace_id or None,
        findings=tuple(
            Finding(
                rule=issue.code,
                name=issue.code,
                message=f"{one.tool or '(unnamed)'} {issue.path}: {issue.message}",
                path=path,
                line=one.line,
                span_id=one.span_id,
                place=one.tool,
                expected=issue.expected,
                got=issue.got,
            )
            for issue in one.issues
        ),
    )
