"""``otel-gate call``: a call on standard input, what is wrong with it on stdout.

For agents without Python (n8n, Make, a shell). No model is involved. Exit codes (DESIGN section 6): 0 the call may be
executed, 1 it has issues, 66 nothing came.
"""

from __future__ import annotations

import errno
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from otel_gate.cli import catalogues, issues, output, prompt
from otel_gate.cli.arguments import Parser, add_format, count
from otel_gate.cli.unread import STDIN
from otel_gate.errors import InputError
from otel_gate.report import json
from otel_gate.report.quantities import counted
from otel_gate.toolcalls.arguments import parsed
from otel_gate.toolcalls.received import read
from otel_gate.toolcalls.validate import validate

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator, Sequence

    from otel_gate.toolcalls.model import Answer, Tool
    from otel_gate.toolcalls.validate import Judged, Validation

CHECK_SCHEMA = "otel-gate/call-check/1"
HAS_ISSUES = 1
CALL = (
    "what the model answered: a provider's response or message, {name, arguments}, bare arguments, or text with JSON in"
    " it (default: standard input)"
)


def add(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parts = parser.add_subparsers(dest="part", metavar="PART", required=True, parser_class=Parser)
    for name, (add_part, _, summary) in PARTS.items():
        part = parts.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.")
        part.add_argument("file", nargs="?", default="-", metavar="FILE", help=CALL)
        part.add_argument("--catalogue", required=True, metavar="FILE", help=catalogues.WHERE)
        issues.add_judgement(part)
        add_part(part)


def run(args: Namespace) -> int:
    """Do the part that was asked for."""
    code: int = PARTS[args.part][1](args)
    return code


def _add_check(part: ArgumentParser) -> None:
    part.add_argument("--required", action="store_true", help="a call is due: an answer without one is an issue")
    part.add_argument("--only", default="", metavar="TOOL", help="the one tool that may be called")
    part.add_argument("--tool", default="", metavar="TOOL", help="whom arguments without a tool's name belong to")
    part.add_argument("--max-tokens", type=count, metavar="N", help="the budget that the answer had")
    add_format(part, "text", "json")


def _check(args: Namespace) -> int:
    tools = _tools(args)
    found = validate(
        received(args), tools, strictness=args.strictness, call_required=args.required, only=args.only,
        language=args.language, max_tokens=args.max_tokens,
    )  # fmt: skip
    code = 0 if found.valid else HAS_ISSUES
    if args.format == "json":
        output.say_json(json.text(_envelope(found, code)))
    else:
        issues.say(_lines(found))
    if found.valid and not found.calls:
        output.complain("otel-gate: there is no call in it; --required makes that an issue")
    return code


def _prompt(args: Namespace) -> int:
    tools = _tools(args)
    return prompt.run(args, received(args), tools)


def _tools(args: Namespace) -> Sequence[Tool]:
    """Read the catalogue; tools that options name have to be in it."""
    catalogue = catalogues.read(args.catalogue, args)
    for option in ("only", "tool"):
        if name := getattr(args, option, ""):
            catalogues.tool(catalogue, name, f"--{option}", f"otel-gate catalogue card {args.catalogue}")
    return catalogue.tools


def received(args: Namespace) -> Answer:
    """Read what the model answered from the file, or standard input.

    Raises:
        InputError: there is nothing in it, or it can't be read.

    """
    which = "standard input" if args.file == STDIN else args.file
    try:
        data = _stdin() if args.file == STDIN else Path(args.file).read_bytes()
    except (OSError, ValueError) as error:
        got = getattr(error, "strerror", None) or str(error)
        raise InputError(which, "a call", got, "another path, or - for standard input") from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(which, "UTF-8 text", "other bytes", "saving it as UTF-8") from error
    if not text.strip():
        raise InputError(which, "a call", "nothing", "otel-gate call check --catalogue FILE < call.json")
    value = parsed(text)
    return read(value if isinstance(value, dict | list | str) else text, tool=getattr(args, "tool", ""))


def _stdin() -> bytes:
    if sys.stdin is None:  # the caller closed it (`<&-`)
        raise OSError(errno.EBADF, "it is closed")
    return sys.stdin.buffer.read()


def _lines(found: Validation) -> Iterator[str]:
    if found.whole:
        yield "invalid answer"
        yield from issues.lines(found.whole)
    for one in found.calls:
        yield f"{'valid' if one.valid else 'invalid'} tool={issues.named(one)}"
        yield from issues.lines(one.issues)
        if one.omitted:
            yield f"  … and {counted(one.omitted, 'issue')} more"


def _envelope(found: Validation, code: int) -> dict[str, Any]:
    calls = [_call(one) for one in found.calls]
    return {"schema": CHECK_SCHEMA, "exit_code": code, "issues": issues.objects(found.whole), "calls": calls}


def _call(one: Judged) -> dict[str, Any]:
    return {
        "tool": one.call.tool, "id": one.call.id, "valid": one.valid, "issues": issues.objects(one.issues),
        "omitted": one.omitted,
    }  # fmt: skip


PARTS = {
    "check": (_add_check, _check, "tell what is wrong with a tool call"),
    "prompt": (prompt.add, _prompt, "print what to ask a model that made a wrong tool call, or none"),
}
"""Name -> (declares its own arguments, runs, summary)."""
