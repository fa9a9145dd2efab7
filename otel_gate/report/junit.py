"""JUnit XML, the part of it that CI servers agree on: a suite a trace, a case a check, a failure where one was found.

Servers keep one failure a case, so that all findings of one check of one trace stand in one. What is only a remark is
the output of a case that passed. Counts are those of the children. A check that could not be made (an unreadable
document has no other) is skipped, a file without an answer an error. Times are those of the trace, never of the look at
it: the same trace gives the same bytes. Where there are none, none are written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.report.findings import STDIN_NAME, Check, titled
from otel_gate.report.quantities import iso, seconds
from otel_gate.report.xml import HEAD, element

if TYPE_CHECKING:
    from otel_gate.report.findings import File, Finding, Findings, Subject

KINDS = {"failures": "<failure", "errors": "<error", "skipped": "<skipped"}
NO_TIME = "0.000"


def text(findings: Findings) -> str:
    """Return the report as one XML document."""
    suites = [_suite(findings, file, subject) for file in findings.files for subject in file.subjects]
    suites += [_lost(findings, file) for file in findings.files if file.error]
    subjects = [subject for file in findings.files for subject in file.subjects]
    counts = _counts([line for suite in suites for line in suite])
    attributes = {"name": f"otel-gate {findings.command}", **counts, "time": _length(*subjects)}
    inside = [line for suite in suites for line in suite]
    return "\n".join([HEAD, *element("testsuites", attributes, inside)])


def _suite(findings: Findings, file: File, subject: Subject) -> list[str]:
    cases = [line for check in findings.checks for line in _case(findings, file, subject, check)]
    known = {check.code for check in findings.checks}
    others = dict.fromkeys(found.rule for found in subject.findings if found.rule not in known)
    for code in others:
        cases += _case(findings, file, subject, _named(subject, code))
    facts = (("trace_id", subject.trace_id), *subject.facts, ("otel-gate", findings.version))
    properties = [
        line for name, value in facts if value for line in element("property", {"name": name, "value": value})
    ]
    several = len(file.subjects) > 1
    path = findings.place(file.path)
    name = f"{path}#{subject.trace_id or subject.line}" if several else path
    times = {"time": _length(subject), "timestamp": iso(subject.times[0])}
    attributes = {"name": name, **_counts(cases), **times, "file": path if file.is_file else None}
    return element("testsuite", attributes, [*(element("properties", {}, properties) if properties else []), *cases])


def _case(findings: Findings, file: File, subject: Subject, check: Check) -> list[str]:
    found = [one for one in subject.findings if one.rule == check.code]
    place = findings.place(found[0].path if found else file.path)
    has_place = bool(found) or file.is_file
    attributes = {
        "name": titled(check.code, check.name),
        "classname": _dotted(subject.title or place),
        "time": NO_TIME,
        "file": place if has_place else None,
        "line": max(found[0].line if found else subject.line, 1) if has_place else None,
    }
    return element("testcase", attributes, _result(subject, check, found))


def _result(subject: Subject, check: Check, found: list[Finding]) -> list[str]:
    failed = [one for one in found if one.fails]
    if failed:
        return element("failure", {"message": failed[0].message, "type": check.code}, text=map(_told, failed))
    if found:
        return element("system-out", {}, text=map(_told, found))
    if subject.only is not None and check.code not in subject.only:
        return element("skipped", {"message": f"not looked at: only {', '.join(subject.only)} could be"})
    return []


def _lost(findings: Findings, file: File) -> list[str]:
    place = findings.place(file.path)
    error = element("error", {"message": file.error, "type": "input"})
    case = element("testcase", {"name": "input", "classname": _dotted(place), "time": NO_TIME, "file": place}, error)
    return element("testsuite", {"name": place, **_counts(case), "file": place}, case)


def _counts(lines: list[str]) -> dict[str, object]:
    starts = [line.lstrip() for line in lines]
    tests = sum(line.startswith("<testcase ") for line in starts)
    counts = {name: sum(line.startswith(tag) for line in starts) for name, tag in KINDS.items()}
    return {"tests": tests, **counts}


def _length(*subjects: Subject) -> str | None:
    """Return how long runs took together, as far as that is known."""
    lengths = [end - start for start, end in (subject.times for subject in subjects) if 0 < start <= end]
    return seconds(sum(lengths)) if lengths else None


def _told(found: Finding) -> str:
    span = f" span={found.span_id}" if found.span_id is not None else ""
    place = f" in {found.place}" if found.place else ""
    advice = f"; try: {found.try_}" if found.try_ else ""
    return f"{found.path}:{found.line}: {titled(found.rule, found.name)}{span}{place}: {found.message}{advice}"


def _named(subject: Subject, code: str) -> Check:
    name = next(found.name for found in subject.findings if found.rule == code)
    return Check(code, name, "")


def _dotted(text: str) -> str:
    return text.replace("/", ".").strip(".") or STDIN_NAME
