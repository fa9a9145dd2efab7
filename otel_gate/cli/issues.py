"""Issues as commands print them: a line each, and as JSON; both hold text that a model wrote."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from otel_gate.cli import output
from otel_gate.cli.arguments import choice
from otel_gate.report.escape import printable, shortened, word
from otel_gate.toolcalls.strictness import SETTINGS
from otel_gate.toolcalls.texts import LANGUAGES

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Iterable, Iterator

    from otel_gate.toolcalls.model import Issue
    from otel_gate.toolcalls.validate import Judged

LONGEST = 1_000
_JOINER = re.compile(r"(?<=[\u0600-\u06ff])\\u200c(?=[\u0600-\u06ff])")


def add_judgement(parser: ArgumentParser) -> None:
    """Declare ``--strictness`` and ``--language``."""
    text = (
        f"{', '.join(SETTINGS)} (default: default). schema: JSON Schema and nothing else; default: also no unknown"
        ' field, and formats are checked; strict: also no 2.0 for an integer; lenient: JSON Schema, but "2" may be 2'
    )
    parser.add_argument("--strictness", type=choice(*SETTINGS), default="default", metavar="NAME", help=text)
    text = f"of the issues: {', '.join(LANGUAGES)} (default: en)"
    parser.add_argument("--language", type=choice(*LANGUAGES), default="en", metavar="CODE", help=text)


def lines(issues: Iterable[Issue]) -> Iterator[str]:
    """Return a line for each issue: its code, its path, its sentence."""
    for one in issues:
        yield f"  {one.code} {word(printable(one.path))} {shortened(one.message, LONGEST)}"


def named(judged: Judged) -> str:
    """Return the name of the tool that a call names, as one word."""
    return word(shortened(judged.call.tool, 80))


def objects(issues: Iterable[Issue]) -> list[Any]:
    """Return issues as JSON values."""
    return [msgspec.to_builtins(one) for one in issues]


def say(text: Iterable[str]) -> None:
    """Print lines; a joiner between two Arabic letters is spelling, and stays."""
    output.say_json("\n".join(_JOINER.sub("\u200c", printable(line)) for line in text))
