"""How a command answers: ``--format``, ``--report FORMAT:PATH``, and what GitHub Actions gets when it is running us.

A command has its own text and JSON; the other formats are made of its ``Findings``. Under GitHub Actions, and with no
format asked for, annotations come after the text; the step summary and the outputs go to the files that GitHub names.
"""

from __future__ import annotations

import contextlib
import os
from argparse import ArgumentTypeError
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from otel_gate import __version__
from otel_gate.cli import output, written
from otel_gate.cli.arguments import choice
from otel_gate.errors import UsageError
from otel_gate.report.escape import printable

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from otel_gate.report.findings import Check, Findings

STDIN = "-"
TEXT, JSON, GITHUB = "text", "json", "github"
NAMES = (TEXT, "concise", JSON, "jsonl", GITHUB, "junit", "sarif", "gitlab")
VARIABLE = "OTEL_GATE_FORMAT"
WORKSPACES = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR")


class Answer(NamedTuple):
    """What a command has to say: its own lines of text, its own JSON, and its findings for every other format.

    The last two are functions, called when somebody asks for them.
    """

    lines: Callable[[], Iterable[str]]
    json: Callable[[], str]
    findings: Callable[[], Findings]


def add(parser: ArgumentParser) -> None:
    """Declare ``--format`` and ``--report``."""
    named = (
        f"{', '.join(NAMES[:-1])} or {NAMES[-1]} (default: ${VARIABLE}, else text, with annotations in GitHub Actions)"
    )
    parser.add_argument("--format", type=choice(*NAMES), metavar="FORMAT", help=named)
    report = "write an answer in this format to a file too; may be repeated"
    parser.add_argument("--report", action="append", default=[], type=_report, metavar="FORMAT:PATH", help=report)


def settle(args: Namespace) -> None:
    """Take the format from the environment where no option names one, before any work is done.

    Raises:
        UsageError: the variable names none that there is, or two reports are to go to one file.
    """
    args.asked = args.format is not None or bool(os.environ.get(VARIABLE))
    args.format = args.format or os.environ.get(VARIABLE) or TEXT
    if args.format not in NAMES:
        raise UsageError(VARIABLE, " or ".join(NAMES), repr(args.format), "one of these")
    paths = [path for _, path in args.report]
    twice = next((path for path in paths if paths.count(path) > 1), None)
    if twice:
        raise UsageError("--report", "a file for each", f"{twice!r} twice", "another path")


def tell(args: Namespace, answer: Answer) -> None:
    """Print the answer, write the reports, and serve GitHub."""
    if args.format == TEXT:
        output.say(answer.lines())
    else:
        output.say_json(_made(args.format, answer))
    if args.format == GITHUB or (not args.asked and os.environ.get("GITHUB_ACTIONS") == "true"):
        _serve_github(answer, annotate=args.format != GITHUB)
    for name, path in args.report:
        content = _made(name, answer)
        written.write_file(path, f"{content}\n".encode() if content else b"")


def is_due(args: Namespace) -> bool:
    """Tell whether an answer is asked for in another form than text for people."""
    return bool(args.report) or args.format != TEXT or os.environ.get("GITHUB_ACTIONS") == "true"


def placed(findings: Findings) -> Findings:
    """Return findings that know the path in the repository of each file in it: CI and code hosts know no other."""
    root = _root(os.environ)
    paths = {file.path for file in findings.files} | {found.path for _, found in findings.all()}
    files = tuple(replace(file, is_file=bool(file.error) or _is_there(file.path)) for file in findings.files)
    return replace(findings, files=files, places=dict(_places(paths, root)) if root else {}, version=__version__)


def rules() -> tuple[Check, ...]:
    """Return our rules as what can be found."""
    from otel_gate.report.findings import Check  # noqa: PLC0415 - text and JSON need none
    from otel_gate.rules import RULES  # noqa: PLC0415

    return tuple(Check(rule.code, rule.name, rule.summary, rule.doc) for rule in RULES)


def _made(name: str, answer: Answer) -> str:
    if name == TEXT:
        return "\n".join(map(printable, answer.lines()))
    if name == JSON:
        return answer.json()
    from otel_gate.report.formats import RENDERERS  # noqa: PLC0415 - text and JSON need none of them

    return RENDERERS[name](answer.findings())


def _serve_github(answer: Answer, *, annotate: bool) -> None:
    from otel_gate.report import github  # noqa: PLC0415 - for GitHub only

    findings = answer.findings()
    if annotate:
        output.say_json(github.text(findings))
    _append("GITHUB_STEP_SUMMARY", lambda: github.summary(findings))
    _append("GITHUB_OUTPUT", lambda: github.outputs(findings))


def _append(variable: str, content: Callable[[], str]) -> None:
    path = os.environ.get(variable)
    if path:
        written.append_file(path, content().encode("utf-8", "backslashreplace"))


def _report(text: str) -> tuple[str, str]:
    name, _, path = text.partition(":")
    if not path:
        message = f"expected FORMAT:PATH, got {text!r}"
        raise ArgumentTypeError(message)
    return choice(*NAMES)(name), path


def _root(environ: Mapping[str, str]) -> Path | None:
    with contextlib.suppress(OSError, ValueError):
        named = next((environ[name] for name in WORKSPACES if environ.get(name)), None)
        if named:
            return Path(named).resolve()
        here = Path.cwd().resolve()
        return next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)
    return None


def _is_there(path: str) -> bool:
    try:
        return path == STDIN or Path(path).exists()
    except (OSError, ValueError):
        return False


def _places(paths: Iterable[str], root: Path) -> Iterator[tuple[str, str]]:
    for path in paths:
        with contextlib.suppress(OSError, ValueError):
            place = Path(path).resolve().relative_to(root).as_posix()
            if place != path:
                yield path, place
