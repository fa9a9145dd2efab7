"""``otel-gate validate``: tool spans whose kept arguments don't fit the catalogue of their time.

A second stage, apart from shape: ``check`` asks whether a trace is whole, this asks whether its calls were right in
form. A span that names its catalogue (``tool.catalogue.sha256``) is judged by that one where the store has it, any
other by ``--catalogue``. A call that names no tool has the issue that its span gives. What can't be judged, because
arguments were not kept or only redacted, is counted and said.
Exit codes (DESIGN section 6): 0 no call has issues, 1 one has, 66 no traces or no catalogue.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from otel_gate.cli import catalogues, formats, issues, output, stores
from otel_gate.cli.arguments import add_form
from otel_gate.cli.spans import Found, in_file, in_store
from otel_gate.report import json
from otel_gate.report.escape import printable, shortened, word
from otel_gate.report.quantities import counted
from otel_gate.toolcalls.model import Answer, Call
from otel_gate.toolcalls.validate import Judged, validate

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterable, Iterator, Sequence

    from otel_gate.report.findings import Findings
    from otel_gate.toolcalls.model import Tool

VALIDATE_SCHEMA = "otel-gate/validate/1"
HAS_ISSUES = 1
WHERE = "a store, or a file of traces"
UNJUDGED = {
    "missing": "whose arguments were not kept", "redacted": "whose arguments were redacted",
    "without catalogue": "that name no catalogue which is there (--catalogue FILE)",
}  # fmt: skip
"""Why a call was not judged, and how that is said."""

ANSWERS = {"no_call": Answer(), "truncated": Answer(finish_reason="length")}
"""The answers in which there was no call to be judged, by what the span says of them."""


class Report(NamedTuple):
    """The calls that have issues, how many were judged, and how many were not, by reason."""

    invalid: Sequence[tuple[Found, Judged]]
    judged: int
    unjudged: Counter[str]


def add(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("source", metavar="STORE|FILE", help=WHERE)
    parser.add_argument("--catalogue", metavar="FILE", help=f"what calls are judged by: {catalogues.WHERE}")
    text = "judge by --catalogue also calls that name another catalogue"
    parser.add_argument("--by-this", action="store_true", help=text)
    issues.add_judgement(parser)
    add_form(parser)
    formats.add(parser)


def run(args: Namespace) -> int:
    """Judge the calls of a store or of a file."""
    formats.settle(args)
    is_file = not Path(args.source).is_dir()
    if is_file:
        report = _report(in_file(args.source, args.form), args)
    else:
        args.store = args.source
        with stores.opened_for(args) as store:
            report = _report(in_store(store, by_this=args.by_this), args)
    code = HAS_ISSUES if report.invalid else 0
    if args.format == formats.TEXT:
        issues.say(_lines(report))
    told = () if args.format == formats.TEXT else _lines(report)
    formats.tell(
        args,
        formats.Answer(lambda: told, lambda: json.text(_envelope(report, code)), lambda: _findings(args, report, code)),
    )
    _complain(report)
    if is_file and report.unjudged["missing"]:
        output.complain("otel-gate: a store keeps arguments beside its records; try otel-gate validate STORE")
    return code


def _report(calls: Iterable[Found], args: Namespace) -> Report:
    given = catalogues.read(args.catalogue, args).tools if args.catalogue else None
    invalid, unjudged, judged = [], Counter[str](), 0
    for call in calls:
        tools = given if call.tools is None else call.tools
        reason = call.reason or ("without catalogue" if tools is None else "")
        if reason:
            unjudged[reason] += 1
            continue
        judged += 1
        found = _judged(call, tools or (), args)
        if not found.valid:
            invalid.append((call, found))
    return Report(invalid, judged, unjudged)


def _judged(call: Found, tools: Sequence[Tool], args: Namespace) -> Judged:
    made = Call("" if call.wanting else call.tool, call.arguments)
    answer = ANSWERS.get(call.wanting, Answer((made,)))
    found = validate(answer, tools, strictness=args.strictness, language=args.language, call_required=True)
    return found.calls[0] if found.calls else Judged(made, None, found.whole)


def _lines(report: Report) -> Iterator[str]:
    for call, judged in report.invalid:
        ids = f"trace_id={word(printable(call.trace_id))} span={word(printable(call.span_id))}"
        yield f"invalid {ids} tool={word(shortened(call.tool, 80))}"
        yield from issues.lines(judged.issues)
    yield f"{counted(report.judged, 'tool call')} judged, {len(report.invalid)} invalid"


def _complain(report: Report) -> None:
    for reason, text in UNJUDGED.items():
        if report.unjudged[reason]:
            output.complain(f"otel-gate: not judged: {counted(report.unjudged[reason], 'tool call')} {text}")
    if not report.judged and not report.unjudged:
        output.complain("otel-gate: there is no tool call")


def _findings(args: Namespace, report: Report, code: int) -> Findings:
    from otel_gate.report.validate_findings import Invalid, Told, findings  # noqa: PLC0415 - text and JSON need none

    invalid = [
        Invalid(
            call.trace_id,
            call.span_id,
            call.tool,
            call.file,
            call.line,
            [Told(one.code, one.path, one.expected, one.got, one.message) for one in judged.issues],
        )
        for call, judged in report.invalid
    ]
    return formats.placed(findings(invalid, report.judged, sum(report.unjudged.values()), args.source, code))


def _envelope(report: Report, code: int) -> dict[str, Any]:
    invalid = [
        {"trace_id": call.trace_id, "span_id": call.span_id, "tool": call.tool, "issues": issues.objects(judged.issues)}
        for call, judged in report.invalid
    ]
    unjudged = {reason: report.unjudged[reason] for reason in UNJUDGED}
    return {
        "schema": VALIDATE_SCHEMA, "exit_code": code, "judged": report.judged, "unjudged": unjudged, "invalid": invalid
    }  # fmt: skip
