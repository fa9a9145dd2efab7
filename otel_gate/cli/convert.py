"""``otel-gate convert``: OTLP to the simplified shape, and back."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from otel_gate.cli import output, written
from otel_gate.cli.arguments import add_form, choice
from otel_gate.cli.traces import grouped, read_input
from otel_gate.core.gate import judge
from otel_gate.core.merge import join
from otel_gate.core.record import document_bytes
from otel_gate.errors import UsageError
from otel_gate.report import json
from otel_gate.report.escape import word
from otel_gate.rules import RULES

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable, Iterator

    from otel_gate.core.model import Trace

SHAPE, OTLP, PROTO = "shape", "otlp", "otlp-proto"
NOT_WELL_FORMED = 2
EPILOG = """\
Traces are put together by their trace id first. Several traces give one document after another with --to shape, one
request a line with --to otlp, and one request in all with --to otlp-proto. On stdout, characters that could act on a
terminal or a CI runner stand as JSON escapes; -o writes them as they are."""


def add(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = EPILOG
    parser.add_argument("file", metavar="FILE", help="a file of traces; - is standard input")
    forms = "shape (the simplified shape), otlp (OTLP/JSON) or otlp-proto (OTLP protobuf) (default: shape)"
    parser.add_argument("--to", type=choice(SHAPE, OTLP, PROTO), default=SHAPE, metavar="FORM", help=forms)
    add_form(parser)
    parser.add_argument(
        "-o", "--output-file", metavar="OUT", help="write to a file, whole or not at all, not to stdout"
    )


def run(args: Namespace) -> int:
    """Convert a file; what can't be read is said on stderr, and nothing is written then."""
    if args.to == PROTO and not args.output_file and sys.stdout.isatty():
        which = "otel-gate convert --to otlp-proto"
        raise UsageError(which=which, expected="a place for bytes", got="a terminal", try_="-o FILE")
    file = read_input(args.file, args.form)
    if file.error:
        raise file.error
    problems = [problem for piece in file.pieces for problem in piece.trace.source.problems]
    if problems:
        said = (f"G000 readable span=- {one.path}: expected {one.expected}, got {one.got}" for one in problems)
        output.complain(*said, "otel-gate: nothing was converted")
        return NOT_WELL_FORMED
    encode = _encoder(args.to)
    traces = [join(part.piece.trace for part in parts).trace for parts in grouped([file])]
    content = b"".join(map(encode, traces))
    if args.to != SHAPE:
        output.complain(*_not_carried(traces))
    if args.output_file:
        written.write_file(args.output_file, content)
    elif args.to == PROTO:
        output.say_bytes(content)
    else:
        output.say_json(json.document(content))
    return 0


def _not_carried(traces: list[Trace]) -> Iterator[str]:
    """Name the traces whose faults OTLP may have no place for: what comes out of it may be judged better."""
    for trace in traces:
        codes = " ".join(sorted({found.rule for found in judge(trace, RULES).violations}))
        if codes:
            yield f"otel-gate: trace {word(trace.trace_id) or '-'} is not well-formed ({codes}); OTLP may not show it"


def _encoder(form: str) -> Callable[[Trace], bytes]:
    if form == PROTO:
        from otel_gate.otlp.wire import encode  # noqa: PLC0415 - each way out is loaded when it is taken

        return encode
    if form == OTLP:
        from otel_gate.otlp.otlp_json_out import encode as encode_json  # noqa: PLC0415

        return lambda trace: encode_json(trace) + b"\n"
    return document_bytes
