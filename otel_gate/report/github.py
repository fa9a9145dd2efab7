"""GitHub Actions: annotations within the limits of a step, a step summary, and outputs for the steps after it.

A step may show ten errors, ten warnings and ten notices, and the rest is dropped without a word: so there is one for
each file and rule, with a count, and the last of ten says how many more there are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from otel_gate.report import concise, markdown
from otel_gate.report.escape import printable, shortened
from otel_gate.report.findings import STDIN, Finding, titled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_gate.report.findings import Findings

COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}
LOST = "input"  # stands for the rule of a file without an answer
MOST_OF_A_KIND = 10
MOST_MESSAGE = 4_000
MOST_SUMMARY_BYTES = 1_000_000  # of 1 MiB; over it the whole summary is refused
_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})


def text(findings: Findings) -> str:
    """Return the annotations, a workflow command a line; nothing when there is nothing to say."""
    kinds: dict[str, list[str]] = {level: [] for level in COMMANDS}
    for found, count in _grouped(findings):
        kinds[found.level].append(_annotation(findings, found, count))
    return "\n".join(line for level, lines in kinds.items() for line in _within(level, lines))


def summary(findings: Findings) -> str:
    """Return the step summary: what was found as a Markdown table, as much of it as GitHub takes."""
    rows = list(_rows(findings))
    head = [f"### otel-gate {findings.command}: {markdown.safe(findings.said)}", ""]
    if rows:
        head += ["| where | rule | what | try |", "|---|---|---|---|"]
    room = MOST_SUMMARY_BYTES - sum(len(line.encode()) + 1 for line in head)
    for number, row in enumerate(rows):
        room -= len(row.encode()) + 1
        if room < 0:
            return "\n".join([*head, *rows[:number], "", f"and {len(rows) - number} more", ""])
    return "\n".join([*head, *rows, ""])


def outputs(findings: Findings) -> str:
    """Return a line ``name=value`` for each output."""
    return "".join(f"{name}={printable(value)}\n" for name, value in findings.outputs)


def _grouped(findings: Findings) -> Iterator[tuple[Finding, int]]:
    for file in findings.files:
        if file.error:
            yield Finding(rule=LOST, name=LOST, message=file.error, path=file.path), 1
    groups: dict[tuple[str, str, str], list[Finding]] = {}
    for _, found in findings.all():
        if found.baseline not in ("absent", "unchanged"):
            groups.setdefault((found.path, found.rule, found.level), []).append(found)
    for group in groups.values():
        yield group[0], len(group)


def _annotation(findings: Findings, found: Finding, count: int) -> str:
    more = f" (and {count - 1} more of {found.rule} in this file)" if count > 1 else ""
    said = found.message if found.rule == LOST else concise.line(replace(found, path=findings.place(found.path)))
    which = "" if found.span_index is None else f" (spans[{found.span_index}] of the line)"
    message = shortened(f"{said}{which}{more}", MOST_MESSAGE).translate(_DATA)
    place = {} if found.path == STDIN else {"file": findings.place(found.path)}
    line = {"line": str(found.line), "endLine": str(found.line)} if found.line and place else {}
    properties = {**place, **line, "title": f"otel-gate ({found.rule})"}
    given = ",".join(f"{name}={printable(value).translate(_PROPERTY)}" for name, value in properties.items())
    return f"::{COMMANDS[found.level]} {given}::{message}"


def _within(level: str, lines: list[str]) -> list[str]:
    if len(lines) <= MOST_OF_A_KIND:
        return lines
    left = len(lines) - MOST_OF_A_KIND + 1
    return [*lines[: MOST_OF_A_KIND - 1], f"::{COMMANDS[level]} title=otel-gate::and {left} more, see the summary"]


def _rows(findings: Findings) -> Iterator[str]:
    for file in findings.files:
        if file.error:
            yield f"| {markdown.safe(findings.place(file.path))} | input | {markdown.safe(file.error)} | |"
    for _, found in findings.all():
        if found.baseline == "unchanged":
            continue
        place = findings.place(found.path)
        at = f"{place}:{found.line}" if found.line else place
        rule = titled(found.rule, found.name)
        cells = (at, rule, shortened(found.message, MOST_MESSAGE), found.try_)
        yield f"| {' | '.join(map(markdown.safe, cells))} |"
