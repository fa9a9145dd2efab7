"""A command line to a command: the options before it, its module, its own arguments."""

from __future__ import annotations

import importlib
import sys
from argparse import SUPPRESS
from typing import TYPE_CHECKING

from otel_gate import __version__, cli
from otel_gate.cli.arguments import Parser, add_store
from otel_gate.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

MORE = """\
'otel-gate COMMAND --help' tells more. Exit codes: 0 yes, 1 no, 2 not well-formed, 64 usage,
66 no input, 70 a defect of ours, 74 not written."""
WITH_VALUE = frozenset({"--store"})


def run(argv: Sequence[str]) -> int:
    """Run a command and return its exit code.

    Raises:
        GateError: what the command could not do, or the arguments are not those of one.
    """
    before, rest = _divided(argv)
    top = _top()
    try:
        first = top.parse_args(before)
        if first.command is None:
            top.print_help(sys.stderr)
            return UsageError.exit_code
        _known(first.command)
        command = importlib.import_module(f"otel_gate.cli.{first.command}")
        parser = Parser(prog=f"otel-gate {first.command}", description=f"{_sentence(first.command)}.")
        add_store(parser, first.store)
        command.add(parser)
        args = parser.parse_args(rest)
    except SystemExit as stop:  # after --help or --version
        return stop.code if isinstance(stop.code, int) else 0
    code: int = command.run(args)
    return code


def _divided(argv: Sequence[str]) -> tuple[list[str], list[str]]:
    """Divide behind the name of the command: argparse would take the ``--`` of what follows for its own."""
    at = 0
    while at < len(argv) and argv[at].startswith("-"):
        at += 2 if argv[at] in WITH_VALUE else 1
    return [*argv[: at + 1]], [*argv[at + 1 :]]


def _top() -> Parser:
    width = max(map(len, cli.COMMANDS))
    listed = "\n".join(f"  {name:{width}}  {summary}" for name, summary in cli.COMMANDS.items())
    top = Parser(
        prog="otel-gate", usage="otel-gate [--store PATH] COMMAND ...",
        description="A trace gate for LLM agents: every trace becomes a record; only well-formed ones are forwarded.",
        epilog=f"commands:\n{listed}\n\n{MORE}",
    )  # fmt: skip
    top.add_argument("--version", action="version", version=f"otel-gate {__version__}")
    add_store(top, None)
    top.add_argument("command", nargs="?", help=SUPPRESS)
    return top


def _known(command: str) -> None:
    if command in cli.COMMANDS:
        return
    import difflib  # noqa: PLC0415 - only for a name that is wrong

    near = difflib.get_close_matches(command, cli.COMMANDS, n=1)
    raise UsageError(which="otel-gate", expected="a command", got=repr(command), try_=near[0] if near else "--help")


def _sentence(command: str) -> str:
    summary = cli.COMMANDS[command]
    return summary[0].upper() + summary[1:]
