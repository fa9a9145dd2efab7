"""``otel-gate diff``: what two runs did differently. Both are judged first; nothing malformed is compared."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from otel_gate.cli import comparison, folders, formats, goldens, operands
from otel_gate.errors import GateError, InputError, UsageError
from otel_gate.report import diff_text, json
from otel_gate.report.diff import DIFFERENT, alone, whole

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator, Sequence

    from otel_gate.cli.comparison import Asked
    from otel_gate.cli.folders import Entry, Pair
    from otel_gate.cli.operand import Operand
    from otel_gate.cli.operands import Reading
    from otel_gate.report.diff import Comparison, DiffReport, OperandReport
    from otel_gate.report.findings import Findings

EPILOG = """\
BASE and NEW are each a FILE (- is standard input), TRACE_ID, TRACE_ID@REVISION, run:RUN_ID or golden:NAME, or both are
folders. Exit codes: 0 the same, 1 different, 2 one of them is not well-formed and nothing was compared."""


def add(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = EPILOG
    parser.add_argument("base", metavar="BASE", help="what it is compared with")
    parser.add_argument("new", metavar="NEW", help="the run that is looked at")
    comparison.add(parser)
    operands.add(parser)
    formats.add(parser)


def run(args: Namespace) -> int:
    """Compare two runs, or two folders of runs."""
    formats.settle(args)
    how = operands.reading(args)
    asked = comparison.asked(args, how.settings.store)
    both = [_is_folder(text) for text in (args.base, args.new)]
    if any(both) and not all(both):
        got = f"{args.base if both[0] else args.new} alone"
        raise UsageError(which="otel-gate diff", expected="two folders, or none", got=got, try_="a file of the folder")
    if all(both):
        pairs = folders.paired(folders.entries(Path(args.base), how), folders.entries(Path(args.new), how))
        return tell(args, whole(list(compare_all(pairs, how, asked))), several=True)
    try:
        base, new = operands.resolve(args.base, how), operands.resolve(args.new, how)
    except InputError as error:
        return lost(args, args.new, error)
    return tell(args, whole([comparison.compare(args.new, base, new, asked, _accept(args))]))


def tell(args: Namespace, report: DiffReport, *, several: bool = False, command: str = "diff") -> int:
    """Give the answer in the formats that were asked for, and return its exit code."""
    said = partial(diff_text.lines, report, diff_text.Style(explain=args.explain), several=several)
    formats.tell(args, formats.Answer(said, lambda: json.text(report), lambda: _findings(report, command)))
    return report.exit_code


def lost(args: Namespace, name: str, error: InputError, *, command: str = "diff") -> int:
    """Say in the formats that were asked for why nothing could be compared: a report that is due is written.

    Raises:
        InputError: none is due, so it is said as every such error.
    """
    if not formats.is_due(args):
        raise error
    return tell(args, whole([alone(name, None, None, str(error), error.exit_code)]), command=command)


def _findings(report: DiffReport, command: str) -> Findings:
    from otel_gate.report.diff_findings import findings  # noqa: PLC0415 - text and JSON need none

    return formats.placed(findings(report, command, formats.rules()))


def compare_all(pairs: Sequence[Pair], how: Reading, asked: Asked) -> Iterator[Comparison]:
    """Compare pairs of runs, one after the other: only two of them are in memory at a time."""
    for pair in folders.walked(pairs):
        try:
            loaded = [_loaded(entry, how) for entry in (pair.base, pair.new)]
        except GateError as error:
            yield alone(pair.name, None, None, str(error), error.exit_code)
            continue
        base, new = loaded
        if base and new:
            yield comparison.compare(pair.name, base, new, asked)
        else:
            why = "stands in the base only" if base else "stands in the new folder only"
            yield alone(pair.name, _report(base), _report(new), why, DIFFERENT)


def _loaded(entry: Entry | None, how: Reading) -> Operand | None:
    return folders.load(entry, how) if entry else None


def _report(operand: Operand | None) -> OperandReport | None:
    return operand.report() if operand else None


def _is_folder(text: str) -> bool:
    try:
        return Path(text).is_dir()
    except ValueError:
        return False


def _accept(args: Namespace) -> str:
    if not args.base.startswith(goldens.PREFIX):
        return ""
    return goldens.accepting(args.new, args.base.removeprefix(goldens.PREFIX), args.dir)
