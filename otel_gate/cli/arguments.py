"""Arguments in the house's terms: a wrong one is a ``UsageError`` (64, where argparse has 2) that says what to try."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, NoReturn

from otel_gate.errors import UsageError
from otel_gate.otlp.forms import CHOICES

if TYPE_CHECKING:
    from collections.abc import Callable

MOST = 10**9
WIDTH = 100


class _Help(argparse.RawDescriptionHelpFormatter):
    """Help of one width: asking the terminal for its own would load another module, for every command."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=30, width=WIDTH)


class Parser(argparse.ArgumentParser):
    """An argument parser that raises instead of leaving with 2, and completes no abbreviation."""

    def __init__(self, *, prog: str, description: str, usage: str | None = None, epilog: str | None = None) -> None:
        """Start a parser; its help keeps the lines of ``epilog``."""
        super().__init__(prog, usage, description, epilog, formatter_class=_Help, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        """Raise what is wrong with the arguments."""
        raise UsageError(which=f"{self.prog}: {message}", try_=f"{self.prog} --help")


def add_store(parser: argparse.ArgumentParser, default: str | None) -> None:
    """Declare ``--store``."""
    text = "the folder of records (default: the setting 'store', else .otel-gate)"
    parser.add_argument("--store", metavar="PATH", default=default, help=text)


def add_format(parser: argparse.ArgumentParser, *formats: str) -> None:
    """Declare ``--format``; the first of ``formats`` is the default."""
    text = f"{' or '.join(formats)} (default: {formats[0]})"
    parser.add_argument("--format", type=choice(*formats), default=formats[0], metavar="FORMAT", help=text)
    if "json" in formats:
        parser.add_argument("--json", dest="format", action="store_const", const="json", help="as --format json")


def add_form(parser: argparse.ArgumentParser) -> None:
    """Declare ``--from``."""
    text = f"what the file holds: {', '.join(CHOICES[:-1])} or {CHOICES[-1]}; shape is the simplified shape and records"
    parser.add_argument("--from", dest="form", type=choice(*CHOICES), default="auto", metavar="FORM", help=text)


def choice(*options: str) -> Callable[[str], str]:
    """Return a type that takes one of these texts."""

    def take(text: str) -> str:
        if text in options:
            return options[options.index(text)]  # its own text: what is a default is left out of a record by identity
        message = f"expected {' or '.join(options)}, got {text!r}"
        raise argparse.ArgumentTypeError(message)

    return take


def count(text: str) -> int:
    """Take a whole number from 1."""
    if text.isascii() and text.isdigit() and 1 <= int(text[:20]) <= MOST:
        return int(text)
    message = f"expected a whole number from 1 to {MOST}, got {text!r}"
    raise argparse.ArgumentTypeError(message)
