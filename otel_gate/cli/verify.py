"""``otel-gate verify``: recompute every ``input.sha256`` from the kept arguments. Apart from the gate, on purpose."""

from __future__ import annotations

import itertools
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from otel_gate.cli import blobs, configuration, formats, output
from otel_gate.cli.arguments import add_form
from otel_gate.cli.beside import beside
from otel_gate.cli.span_lines import span_lines
from otel_gate.cli.traces import grouped, judged, read_input
from otel_gate.core import record
from otel_gate.errors import InputError
from otel_gate.otlp import lines as record_lines
from otel_gate.report import json
from otel_gate.report.verify import Finding, lines, report
from otel_gate.store import listing
from otel_gate.verify import verify

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator

    from otel_gate.core.model import Trace
    from otel_gate.report.findings import Findings
    from otel_gate.report.verify import VerifyReport
    from otel_gate.settings import Settings

    Found = tuple[Trace, dict[str, tuple[str, int]]]

NOT_WELL_FORMED = 2
UNREAD = "expected a record on the line, got something else; try otel-gate doctor"
EPILOG = """\
DIR holds blobs as a store does (DIR/ab/ab12…, redacted ones as ab12….redacted), or side by side. Without a blob,
arguments that stand in the FILE itself are taken. What is missing or redacted is counted and listed; only a mismatch is
a no (exit code 1)."""


def add(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = EPILOG
    where = "a store, or a file of traces; - is standard input (default: the store of the settings)"
    parser.add_argument("what", nargs="?", metavar="STORE|FILE", help=where)
    blobs.add(parser)
    parser.add_argument("--all", action="store_true", dest="every", help="list what matches too")
    add_form(parser)
    formats.add(parser)


def run(args: Namespace) -> int:
    """Verify the hashes of a store or of a file."""
    formats.settle(args)
    settings = configuration.settled(args)
    root = Path(args.what or settings.store)
    if args.what is None and not root.is_dir():
        expected, try_ = "a folder that the gate has written to", "a FILE, or --store PATH"
        raise InputError(which=f"the store {root}", expected=expected, got="none", try_=try_)
    is_store = root.is_dir()
    unreadable: list[str] = []
    found = _records(root, unreadable) if is_store else _file(args, settings, unreadable)
    get = blobs.getter(args.blobs, root if is_store else settings.store)
    findings: list[Finding] = []
    traces = 0
    for trace, places in found:
        traces += 1
        for one in verify([trace], get, {} if is_store else beside(trace)):
            file, line = places.get(one.span_id, ("", 0))
            findings.append(Finding(one.outcome, one.trace_id, one.span_id, one.name, one.hash, one.got, file, line))
    if not traces and not unreadable:
        raise InputError(str(root), "records below it", "none", "another store, or a FILE")
    made = report(traces, findings, unreadable, NOT_WELL_FORMED if unreadable else 0)
    output.complain(*(f"otel-gate: {said}" for said in unreadable))
    said = partial(lines, made, every=args.every)
    formats.tell(args, formats.Answer(said, lambda: json.text(made), lambda: _findings(made, str(root))))
    return made.exit_code


def _findings(made: VerifyReport, path: str) -> Findings:
    from otel_gate.report.verify_findings import findings  # noqa: PLC0415 - text and JSON need none

    return formats.placed(findings(made, path))


def _records(root: Path, unreadable: list[str]) -> Iterator[Found]:
    segments = listing.segments(root)
    records = root / listing.RECORDS
    unreadable += [f"{records / line.segment}:{line.number}: {UNREAD}" for line in segments.damaged]
    for one in listing.records(root, segments):
        try:
            content = listing.content(one)
            found = record.decode(content)
        except (OSError, ValueError) as error:  # MsgspecError is a ValueError
            unreadable.append(f"{one}: expected a record, got {error}; try otel-gate doctor")
            continue
        at = itertools.repeat(one.line) if one.line else record_lines(content)
        places = zip(found.spans, at, strict=False)
        yield found.trace, {span.span_id: (str(one.path), number) for span, number in places}


def _file(args: Namespace, settings: Settings, unreadable: list[str]) -> Iterator[Found]:
    file = read_input(args.what, args.form)
    if file.error:
        raise file.error
    for parts in grouped([file]):
        found = judged(parts, settings, None, ())
        if found.trace.source.problems:
            problem = found.trace.source.problems[0]
            unreadable.append(f"G000 readable {problem.path}: expected {problem.expected}, got {problem.got}")
            continue
        yield found.trace, span_lines(found)
