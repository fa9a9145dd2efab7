"""``otel-gate golden``: accept a run as it is, compare runs with what was accepted, read a golden as text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from otel_gate.cli import comparison, diff, folders, formats, goldens, operands, output, written
from otel_gate.cli.arguments import Parser
from otel_gate.core import golden
from otel_gate.core.diff import View
from otel_gate.errors import InputError, UsageError
from otel_gate.report.diff import NOT_WELL_FORMED, whole
from otel_gate.report.golden_text import lines
from otel_gate.report.text import violation

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from otel_gate.cli.operand import Operand
    from otel_gate.cli.operands import Reading

EPILOG = """\
accept writes FOLDER/NAME.json; check exits 0 when every run is as its golden, 1 when one differs, 2 when a run or a
golden is not well-formed. For git diff to show behaviour:

    echo 'golden/*.json diff=otel-gate' >> .gitattributes
    git config diff.otel-gate.textconv 'otel-gate golden text'"""


def add(parser: ArgumentParser) -> None:
    """Declare the actions and their arguments."""
    parser.epilog = EPILOG
    actions = parser.add_subparsers(dest="action", metavar="accept | check | text", required=True, parser_class=Parser)
    accept = actions.add_parser("accept", description="Write what a run did to a file made for review.")
    accept.add_argument("run", metavar="RUN", help=operands.RUNS)
    accept.add_argument("--as", dest="name", required=True, metavar="NAME", help="the name of the golden")
    operands.add(accept)
    check = actions.add_parser("check", description="Compare a run, or a folder of runs, with what was accepted.")
    check.add_argument("run", metavar="RUN", help=f"{operands.RUNS}, or a folder of runs")
    named = "the golden to compare with (default: the one named like the run id, or like the file)"
    check.add_argument("--as", dest="name", metavar="NAME", help=named)
    comparison.add(check)
    operands.add(check)
    formats.add(check)
    text = actions.add_parser("text", description="Print a golden, or a run, as a tree: for git's textconv.")
    text.add_argument("run", metavar="FILE", help="a golden, or a file of traces")
    operands.add(text)


def run(args: Namespace) -> int:
    """Do what was asked for."""
    how = operands.reading(args)
    if args.action == "accept":
        return _accept(args, how)
    return _check(args, how) if args.action == "check" else _text(args, how)


def _accept(args: Namespace, how: Reading) -> int:
    path = goldens.place(how.goldens, args.name)
    operand = operands.resolve(args.run, how)
    if operand.violations:
        return _refuse(operand, "nothing was written")
    content = golden.golden_bytes(golden.make(args.name, operand.tree(View())))
    if path.is_file() and path.read_bytes() == content:
        output.complain(f"otel-gate: {path} says the same already")
        return 0
    written.make_folder(path.parent)
    written.write_file(str(path), content)
    output.complain(f"otel-gate: wrote {path}")
    return 0


def _check(args: Namespace, how: Reading) -> int:
    formats.settle(args)
    asked = comparison.asked(args, how.settings.store)
    if Path(args.run).is_dir():
        if args.name:
            got = f"the folder {args.run}"
            raise UsageError(which="otel-gate golden check", expected="one run with --as", got=got, try_="no --as")
        pairs = folders.paired(folders.entries(how.goldens, how), folders.entries(Path(args.run), how))
        return diff.tell(args, whole(list(diff.compare_all(pairs, how, asked))), several=True, command="golden")
    try:
        operand = operands.resolve(args.run, how)
        name = args.name or _named_like(args.run, operand, how)
        base = goldens.read(goldens.place(how.goldens, name), f"{goldens.PREFIX}{name}")
    except InputError as error:
        return diff.lost(args, args.name or args.run, error, command="golden")
    accept = goldens.accepting(args.run, name, args.dir)
    return diff.tell(args, whole([comparison.compare(name, base, operand, asked, accept)]), command="golden")


def _named_like(text: str, operand: Operand, how: Reading) -> str:
    """Return the name of the golden that belongs to a run."""
    names = [name for name in (operand.run_id, Path(text).name.partition(".")[0]) if golden.NAME.fullmatch(name)]
    found = next((name for name in names if goldens.place(how.goldens, name).is_file()), None)
    if found is None:
        expected = f"a golden named {' or '.join(names) or 'like it'} in {how.goldens}"
        raise InputError(text, expected, "none", f"--as NAME, or {goldens.accepting(text, 'NAME', str(how.goldens))}")
    return found


def _text(args: Namespace, how: Reading) -> int:
    operand = operands.of_files([args.run], args.run, how)
    if operand.violations:
        return _refuse(operand, "nothing to show")
    output.say(lines(operand.tree(View())))
    return 0


def _refuse(operand: Operand, result: str) -> int:
    output.complain(*(violation(one, one.path) for one in operand.violations), f"otel-gate: {result}")
    return NOT_WELL_FORMED
