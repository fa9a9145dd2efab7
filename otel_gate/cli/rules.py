"""``otel-gate rules``: the table of rules, or the documentation of one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.cli import output
from otel_gate.cli.arguments import add_format
from otel_gate.errors import UsageError
from otel_gate.report.table import columns
from otel_gate.rules import RULES, by_code, table

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from otel_gate.core.rule import Rule


def add(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("code", nargs="?", metavar="CODE", help="a rule to explain, such as G303")
    add_format(parser, "text", "markdown")


def run(args: Namespace) -> int:
    """Print the table, or one rule's documentation."""
    if args.code:
        output.say(_explained(_rule(args.code), "## " if args.format == "markdown" else ""))
    elif args.format == "markdown":
        output.say(table().splitlines())
    else:
        output.say(columns([(rule.code, rule.name, rule.summary) for rule in RULES]))
        output.complain("otel-gate rules CODE tells why a rule is there, and how to mend what it refuses")
    return 0


def _rule(code: str) -> Rule:
    rule = by_code(code)
    if rule is None:
        known = f"one of {', '.join(rule.code for rule in RULES)}"
        raise UsageError(which="otel-gate rules", expected="the code of a rule", got=repr(code), try_=known)
    return rule


def _explained(rule: Rule, mark: str) -> list[str]:
    return [f"{mark}{rule.code} {rule.name}", "", *rule.doc.splitlines()]
