"""``otel-gate selftest``: no rule is decoration. Each breaks a well-formed trace, and must refuse it then."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_gate import selftest
from otel_gate.cli import output
from otel_gate.cli.traces import grouped, read_input
from otel_gate.core.counted import counted
from otel_gate.core.merge import join
from otel_gate.errors import UsageError

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

PASSED = 70
ROOT, TOOL = "eee19b7ec3c1b174", "eee19b7ec3c1b173"
DOCUMENT: dict[str, Any] = {
    "trace_id": "5b8efff798038103d269b633813fc60c",
    "spans": [
        {
            "span_id": ROOT, "parent_span_id": "", "name": "agent.run",
            "start_ns": 1764547200000000000, "end_ns": 1764547203250000000, "status": "ok",
            "attributes": {"run.id": "run-1"}, "events": [],
        },
        {
            "span_id": TOOL, "parent_span_id": ROOT, "name": "tool.search",
            "start_ns": 1764547201000000000, "end_ns": 1764547203000000000, "status": "error",
            "attributes": {
                "tool.name": "search",
                "input.sha256": "5dc13e18192f00e37661d9a40bbab6714cef9584f3c839186d5f76f0413fdcd2",
                "error.type": "timeout",
            },
            "events": [],
        },
    ],
}  # fmt: skip


def add(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    text = "a file with one well-formed trace; - is standard input (default: a trace of two spans)"
    parser.add_argument("file", nargs="?", metavar="FILE", help=text)


def run(args: Namespace) -> int:
    """Break the trace by every rule; 70 when a break passes."""
    results = selftest.run(_document(args.file) if args.file else DOCUMENT)
    output.say(_line(result) for result in results)
    refused = sum(result.refused for result in results)
    output.say([f"{refused} of {counted(len(results), 'break')} refused"])
    return 0 if refused == len(results) else PASSED


def _document(path: str) -> dict[str, Any]:
    file = read_input(path, "auto")
    if file.error:
        raise file.error
    groups = grouped([file])
    if len(groups) != 1:
        raise UsageError(path, "one trace", counted(len(groups), "trace"), "a file with one of them")
    return selftest.as_document(join(part.piece.trace for part in groups[0]).trace)


def _line(result: selftest.Result) -> str:
    rule = f"{result.rule.code} {result.rule.name}"
    if result.refused:
        return f"refused {rule}"
    return f"PASSED {rule}: expected {result.rule.code} alone, got {' '.join(result.codes) or 'shape_ok'}"
