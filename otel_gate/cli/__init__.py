"""The command line: one command a module, loaded when it is asked for, so that ``check`` starts fast.

A command has ``add(parser)``, which declares its arguments, and ``run(args)``, which returns the exit code (DESIGN
section 6). Results go to stdout, everything else to stderr. Here stands the only place that turns errors into exit
codes: 64 usage, 66 no input, 70 a defect of ours, 74 not written, 130 interrupted, 141 nobody reads any more.
"""

from __future__ import annotations

import os
import sys

from otel_gate.cli import at_sight, output
from otel_gate.errors import GateError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS = {
    "check": "judge traces in files: exit 0 when all are well-formed, 2 when one is not",
    "convert": "write traces in another form: the simplified shape, OTLP/JSON, OTLP protobuf",
    "diff": "say what two runs did differently: exit 0 the same, 1 different, 2 not well-formed",
    "golden": "accept a run as a golden trace, and compare runs with theirs",
    "verify": "recompute every input.sha256 from the kept arguments",
    "calls": "print the tool calls of a run as JSON lines",
    "blob": "print the arguments that are kept under a hash",
    "replay": "call your own functions again with the arguments of a run, without a model",
    "history": "say when the behaviour of a run changed across the store",
    "list": "list the records of a store, the newest first",
    "show": "show one record: spans, verdict, deliveries, history",
    "why": "say why a trace was not exported, or where it went",
    "status": "count what a store holds and what is owed",
    "deliveries": "list what is owed to each destination, and what each one answered",
    "run": "run a command, in any language, and judge the traces that it sends: exit 2 when one is not well-formed",
    "serve": "take traces over OTLP (gRPC and HTTP) from agents in any language",
    "forward": "send what is owed to the collector",
    "rejudge": "judge records again under other rules, and owe what passes now",
    "merge": "join what several stores have of each trace, and judge the whole",
    "prune": "remove the oldest records, and never what is still owed",
    "recover": "record what processes that have ended left in their journals",
    "call": "tell what is wrong with a tool call, before it is executed",
    "validate": "find tool calls in a store or a file whose arguments don't fit the catalogue of their time",
    "catalogue": "tell what changed between two tool catalogues, what in one is easily mistaken, its cards, its hash",
    "rules": "list the rules, or explain one",
    "config": "show every setting and where its value came from",
    "doctor": "look for what is wrong with the set-up or the store, and mend it",
    "selftest": "break a well-formed trace once for every rule and see each break refused",
    "demo": "run a small agent through the gate, with no model and no network",
}
INTERRUPTED, BROKEN_PIPE, DEFECT = 130, 141, 70


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; nothing is raised."""
    output.prepare()
    try:
        code = _run(sys.argv[1:] if argv is None else argv)
        output.flush()
    except BrokenPipeError:
        output.abandon()
        return BROKEN_PIPE
    except KeyboardInterrupt:
        return INTERRUPTED
    except GateError as error:
        output.complain(_ours(str(error)))
        return error.exit_code
    except Exception as error:  # noqa: BLE001 - the edge: whatever it was, it has an exit code
        import traceback  # noqa: PLC0415 - only for a defect

        output.complain(*traceback.format_exc().splitlines())
        output.complain(f"otel-gate: a defect of ours: {type(error).__name__}: {error}")
        return DEFECT
    return code


def _run(argv: Sequence[str]) -> int:
    lines = at_sight.answer(argv, os.environ)
    if lines is not None:
        output.say(lines)
        return 0
    from otel_gate.cli import commands  # noqa: PLC0415 - what parses arguments takes longer to load than a small check

    return commands.run(argv)


def _ours(message: str) -> str:
    return message if message.startswith("otel-gate") else f"otel-gate: {message}"
