"""``otel-gate run -- COMMAND``: a command, in any language, and the verdict on the traces that it sends.

The command sees OpenTelemetry's own variables and nothing else: a private gateway stands where its collector would be,
for as long as it runs. Its traces are judged when it has ended, by ``check``, from their records.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from argparse import REMAINDER, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from otel_gate.cli import check, child, configuration, formats, logs, output
from otel_gate.cli.arguments import choice
from otel_gate.errors import UsageError, WriteError

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Sequence

    from otel_gate.gateway.private import PrivateGateway

LOGGERS = ("otel_gate",)
QUIET_S = 0.3
NO_TRACE = (
    "otel-gate run: no trace came from the command; try: exporting traces over OTLP to $OTEL_EXPORTER_OTLP_ENDPOINT, "
    "and shutting the tracer provider down before the process ends; --allow-none, when none is right"
)
NO_RUN_ID = "otel-gate run: no root carries run.id, and nothing else is wrong; try: {}"
EPILOG = """\
The command gets OTEL_EXPORTER_OTLP_ENDPOINT, an address of gRPC and of HTTP, and OTEL_TRACES_EXPORTER=otlp. Where
well-formed traces are forwarded to is what that endpoint was before. Exit code: 2 when a trace is not well-formed, or
none came; else the command's own, 128 + N when signal N ended it, 127 when there is no such command, 126 when it
can't be executed."""


def add(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.usage = f"{parser.prog} [options] -- COMMAND ..."
    parser.epilog = EPILOG
    parser.add_argument("command", nargs=REMAINDER, metavar="COMMAND", help="the command, and its arguments")
    formats.add(parser)
    run_id = "what stands in for a missing run.id: require, auto, conversation, trace, or a text (default: the setting)"
    parser.add_argument("--run-id", metavar="POLICY", help=run_id)
    remote = "whether a span whose parent is in another process counts as root: root or reject (default: reject)"
    parser.add_argument("--remote-parent", type=choice("root", "reject"), metavar="POLICY", help=remote)
    rules = "judge by a rule of your own too; may be repeated"
    parser.add_argument("--rules", action="append", metavar="MODULE:NAME", help=rules)
    conventions = "understand spans by a convention of your own too, asked before ours; may be repeated"
    parser.add_argument("--conventions", action="append", metavar="MODULE:NAME", help=conventions)
    explain = "tell of each span what it was recognised as, by which convention, from which attribute"
    parser.add_argument("--explain", action="store_true", help=explain)
    parser.add_argument("--allow-none", action="store_true", help="a command that sends no trace is right too")
    parser.add_argument("--stderr", action="store_true", help="answer on stderr: stdout is the command's alone")


def run(args: Namespace) -> int:
    """Run the command, judge what it sent, and return the exit code of both."""
    formats.settle(Namespace(**vars(args)))  # what is wrong with it is said before anything runs
    command = args.command[1:] if args.command[:1] == ["--"] else args.command
    if not command:
        try_ = "otel-gate run -- python agent.py"
        raise UsageError(which="otel-gate run", expected="a command", got="none", try_=try_)
    from otel_gate.gateway.private import PrivateGateway  # noqa: PLC0415 - its packages are an extra
    from otel_gate.gateway.tally import advice  # noqa: PLC0415 - the same

    given = {name: getattr(args, name) for name in ("run_id", "remote_parent", "rules", "conventions")}
    settings = configuration.settled(args, **given)._replace(layout="files")  # a finding has a file and a line
    gateway = PrivateGateway(settings, configuration.rules(settings), configuration.conventions(settings))
    with logs.told(*LOGGERS):
        code = asyncio.run(_through(gateway, command))
    if not gateway.is_kept:
        raise WriteError(str(settings.store), "a record of every trace", "not all of them", "room on the disk")
    records = [_known(settings.store / "records" / place) for place in gateway.places]
    judged = _judged(args, records)
    output.complain(*((NO_RUN_ID.format(advice(str(settings.run_id))),) if gateway.lacks_run_id else ()))
    return judged or code


async def _through(gateway: PrivateGateway, command: Sequence[str]) -> int:
    """Run a command against a gateway, until both have ended; return the command's exit code."""
    await gateway.start()
    try:
        with child.started(command, child.environment(os.environ, gateway.url)) as process:
            code = await asyncio.to_thread(process.wait)
        await gateway.quiet(QUIET_S)
    finally:
        await gateway.stop()
    return child.exit_code(code)


def _judged(args: Namespace, records: Sequence[str]) -> int:
    if not records:
        output.complain(*(() if args.allow_none else (NO_TRACE,)))
        return 0 if args.allow_none else check.NOT_WELL_FORMED
    asked = Namespace(
        **{**vars(args), "files": records, "form": "shape", "jobs": 1, "exit_zero": False, "follow": False}
    )
    with contextlib.redirect_stdout(sys.stderr) if args.stderr else contextlib.nullcontext():
        return check.run(asked)


def _known(path: Path) -> str:
    """Return a path as seen from here, when it is below."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
