"""``otel-gate check``: the verdict on the traces of files. It loads no OpenTelemetry, gRPC, protobuf or SQLite."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.cli import configuration, output
from otel_gate.cli.arguments import add_form, add_format, choice
from otel_gate.cli.places import Places
from otel_gate.cli.traces import grouped, judged, read_input
from otel_gate.core import merge
from otel_gate.core.identity import run_id_of
from otel_gate.core.model import Note, Source, id_hash
from otel_gate.report import json, text
from otel_gate.report.check import CHECK_SCHEMA, CheckReport, FileReport, TraceReport, worst

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence

    from otel_gate.cli.traces import Input, Judged

NOT_WELL_FORMED = 2
DUPLICATES = "duplicate_span"


def add(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="a file of traces; - is standard input")
    add_format(parser, "text", "json")
    add_form(parser)
    run_id = "what stands in for a missing run.id: require, auto, conversation, trace, or a text (default: the setting)"
    parser.add_argument("--run-id", metavar="POLICY", help=run_id)
    remote = (
        "whether a span whose parent is in another process counts as root: root or reject (default: what a record says)"
    )
    parser.add_argument("--remote-parent", type=choice("root", "reject"), metavar="POLICY", help=remote)
    rules = "judge by a rule of your own too; may be repeated"
    parser.add_argument("--rules", action="append", metavar="MODULE:NAME", help=rules)
    parser.add_argument("--exit-zero", action="store_true", help="exit 0 where it would be 2")


def run(args: Namespace) -> int:
    """Judge every trace of the files."""
    settings = configuration.settled(args, run_id=args.run_id, rules=args.rules)
    rules = configuration.rules(settings)
    inputs = [read_input(path, args.form) for path in dict.fromkeys(args.files)]
    traces = [judged(parts, settings, args.remote_parent, rules) for parts in grouped(inputs)]
    report = _report(inputs, traces, 0 if args.exit_zero else NOT_WELL_FORMED)
    output.complain(*text.asides(report))
    if args.format == "json":
        output.say_json(json.text(report))
    else:
        output.say(text.lines(report))
    return report.exit_code


def _report(inputs: Sequence[Input], traces: Sequence[Judged], refused: int) -> CheckReport:
    places = Places()
    files = tuple(_file(file, traces, places, refused) for file in inputs)
    return CheckReport(CHECK_SCHEMA, worst(file.exit_code for file in files), files)


def _file(file: Input, traces: Sequence[Judged], places: Places, refused: int) -> FileReport:
    if file.error:
        return FileReport(file.path, file.error.exit_code, (), (), str(file.error))
    touched = [one for one in traces if any(part.file is file for part in one.parts)]
    begun = [one for one in touched if one.parts[0].file is file]
    bad = any(not one.verdict.shape_ok for one in touched)
    reports = tuple(_trace(one, places) for one in begun)
    return FileReport(file.path, refused if bad else 0, _notes(file, begun), reports)


def _notes(file: Input, begun: Sequence[Judged]) -> tuple[Note, ...]:
    copies = sum(one.duplicates for one in begun)
    ours = [Source(notes=(Note(DUPLICATES, copies, ""),))] if copies else []
    return merge.source([*(piece.trace.source for piece in file.pieces), *ours]).notes


def _trace(judged: Judged, places: Places) -> TraceReport:
    trace, verdict = judged.trace, judged.verdict
    return TraceReport(
        trace.trace_id or None, verdict.shape_ok, None if trace.source.problems else id_hash(trace.spans),
        run_id_of(trace), len(trace.spans), verdict.tools, tuple(places.located(judged)),
    )  # fmt: skip
