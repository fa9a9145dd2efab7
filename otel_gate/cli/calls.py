"""``otel-gate calls``: the tool calls of a run as JSON lines, in the order of the tree."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from otel_gate.cli import blobs, operands, output
from otel_gate.cli.beside import beside
from otel_gate.core import diff
from otel_gate.core.diff.paths import paths
from otel_gate.core.diff.tree import walk
from otel_gate.errors import UsageError
from otel_gate.report.calls import CALL_SCHEMA, Body, CallReport, line
from otel_gate.report.text import violation
from otel_gate.verify import recomputed

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator

    from otel_gate.cli.blobs import Get
    from otel_gate.cli.operand import Operand
    from otel_gate.core.model import Span
    from otel_gate.store.blobs import Blob

NOT_WELL_FORMED = 2


def add(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("run", metavar="RUN", help=operands.RUNS)
    blobs.add(parser)
    operands.add(parser)


def run(args: Namespace) -> int:
    """Print the calls, when the run is well-formed."""
    how = operands.reading(args)
    operand = of_run(args.run, how)
    if operand.violations:
        return refuse(operand)
    for call in calls(operand, blobs.getter(args.blobs, how.settings.store)):
        output.say_json(line(call))
    return 0


def of_run(text: str, how: operands.Reading) -> Operand:
    """Return a run as an operand.

    Raises:
        UsageError: it is a golden, which has no arguments.
    """
    operand = operands.resolve(text, how)
    if operand.format != "trace":
        raise UsageError(text, "a run", "a golden, which has hashes only", "the run that it was made of")
    return operand


def refuse(operand: Operand) -> int:
    """Say why nothing is done with a run that is not well-formed."""
    output.complain(
        *(violation(one, one.path) for one in operand.violations), f"otel-gate: {operand.name} is not well-formed"
    )
    return NOT_WELL_FORMED


def calls(operand: Operand, get: Get) -> Iterator[CallReport]:
    """Yield the tool calls of a run in the order of the tree."""
    spans = {(trace.trace_id, span.span_id): span for trace in operand.traces for span in trace.spans}
    at_hand = {(trace.trace_id, span_id): one for trace in operand.traces for span_id, one in beside(trace).items()}
    top = operand.tree(diff.View(results=True))
    tools = [node for node in walk(top) if node.tool]
    known = paths(top, tools)
    for node in tools:
        span = spans[node.trace_id, node.span_id]
        blob = get(node.deed.hash) or at_hand.get((node.trace_id, node.span_id))
        body, arguments = _arguments(node.deed.hash, blob)
        deed = node.deed
        yield CallReport(
            CALL_SCHEMA, node.trace_id, node.span_id, known[id(node)], name_of(span), deed.hash, body, arguments,
            deed.status, deed.error_type, deed.result,
        )  # fmt: skip


def name_of(span: Span) -> str:
    """Return the name of a tool span's tool."""
    name = span.attributes.get("tool.name")
    return name if isinstance(name, str) and name else span.name


def _arguments(hashed: str, blob: Blob | None) -> tuple[Body, Any]:
    outcome, _ = recomputed(hashed, blob)
    if blob is None or outcome in ("missing", "mismatch"):
        return ("mismatch" if outcome == "mismatch" else "missing"), None
    text = blob.content.decode("utf-8", "replace")
    body: Body = "redacted" if blob.redacted else "kept"
    try:
        return body, json.loads(text)
    except (ValueError, RecursionError):
        return body, text
