"""``otel-gate catalogue``: what changed between two tool catalogues, what in one is easily mistaken, cards, hash.

Exit codes (DESIGN section 6): ``diff`` is 1 when the catalogues differ, ``lint`` is 1 when there is something to mend;
66 is a file that holds no catalogue. The text of the tools is others' work, and is printed like that.
"""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING, Any

from otel_gate.cli import catalogues, output, stores
from otel_gate.cli.arguments import Parser, add_format, choice, count
from otel_gate.pipeline.catalogues import keep
from otel_gate.report import json
from otel_gate.report.escape import printable, shortened, word
from otel_gate.report.quantities import counted
from otel_gate.report.table import columns
from otel_gate.toolcalls.advice import always
from otel_gate.toolcalls.card import TEXTS, card
from otel_gate.toolcalls.catalogue import ATTRIBUTE
from otel_gate.toolcalls.drift import describe, diff
from otel_gate.toolcalls.lint import FACTS, lint

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator, Sequence

    from otel_gate.toolcalls.drift import Change
    from otel_gate.toolcalls.lint import Hint

DIFF_SCHEMA, LINT_SCHEMA = "otel-gate/catalogue-diff/1", "otel-gate/catalogue-lint/1"
CARD_SCHEMA, HASH_SCHEMA = "otel-gate/catalogue-card/1", "otel-gate/catalogue-hash/1"
CARD_OF, ALL_CARDS = "otel-gate catalogue card", "without a name, for all cards"
DIFFERS = TO_MEND = 1
MOST_LISTED = 50
LONGEST = 300
_JOINER = re.compile(r"(?<=[\u0600-\u06ff])\\u200c(?=[\u0600-\u06ff])")
DIFF_EPILOG = """\
A change is breaking when a call that was right may now be refused, or mean another thing: a tool or field that is gone
or renamed, a new required field, a narrower type, a value that an enum lost. Exit codes: 0 the same, 1 they differ,
64 usage, 66 no catalogue."""
LINT_EPILOG = f"""\
{textwrap.fill(f"Look-alikes: {FACTS}.", 100)}
So take the ranking as a hint where to write a better description, and measure with your own model.
Exit codes: 0 nothing to mend, 1 something to mend, 64 usage, 66 no catalogue."""


def add(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parts = parser.add_subparsers(dest="part", metavar="PART", required=True, parser_class=Parser)
    one = _part(parts, "diff", "tell what changed from one catalogue to another", "old", "new")
    one.epilog = DIFF_EPILOG
    one.add_argument("--breaking", action="store_true", help="look at breaking changes only, for the exit code too")
    one = _part(parts, "lint", "name tools that look alike, missing descriptions and over-long cards", "file")
    one.epilog = LINT_EPILOG
    _add_language(one)
    one.add_argument("--most", type=count, default=MOST_LISTED, metavar="N", help="print at most N (default: 50)")
    one.add_argument("--exit-zero", action="store_true", help="exit 0 where it would be 1")
    one = _part(parts, "card", "print the card of a tool, or of all: what a model has to know, in few tokens", "file")
    one.add_argument("tool", nargs="?", metavar="TOOL", help="the name of the tool (default: all)")
    _add_language(one)
    one.add_argument("--descriptions", action="store_true", help="with the descriptions of the fields")
    one = _part(parts, "hash", f"print the hash of a catalogue: the value of {ATTRIBUTE}", "file")
    one.add_argument("--keep", action="store_true", help="keep the catalogue in the store, under its hash")


def run(args: Namespace) -> int:
    """Do the part that was asked for."""
    return {"diff": _diff, "lint": _lint, "card": _card, "hash": _hash}[args.part](args)


def _part(parts: Any, name: str, summary: str, *files: str) -> ArgumentParser:
    part: ArgumentParser = parts.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.")
    for file in files:
        part.add_argument(file, metavar=file.upper(), help=catalogues.WHERE)
    add_format(part, "text", "json")
    return part


def _add_language(part: ArgumentParser) -> None:
    part.add_argument("--language", type=choice(*TEXTS), default="en", metavar="CODE", help=f"{', '.join(TEXTS)}")


def _diff(args: Namespace) -> int:
    old, new = catalogues.read(args.old, args), catalogues.read(args.new, args)
    changes = [change for change in diff(old, new) if change.breaking or not args.breaking]
    code = DIFFERS if changes else 0
    if args.format == "json":
        value = {"schema": DIFF_SCHEMA, "exit_code": code, "old": old.hash, "new": new.hash, "changes": changes}
        output.say_json(json.text(value))
    else:
        output.say(_changes(changes, args.breaking))
    return code


def _changes(changes: Sequence[Change], only_breaking: bool) -> Iterator[str]:  # noqa: FBT001 - an option's value
    if not changes:
        yield "no breaking change" if only_breaking else "the same"
        return
    rows = [
        (
            "breaking" if one.breaking else "other",
            word(shortened(one.tool, 80)) if one.tool else "-",
            _line(describe(one)),
        )
        for one in changes
    ]
    yield from columns(rows)
    breaking = sum(one.breaking for one in changes)
    yield f"{counted(len(changes), 'change')}, {breaking} breaking"


def _lint(args: Namespace) -> int:
    catalogue = catalogues.read(args.file, args)
    hints = lint(catalogue, args.language)
    code = TO_MEND if hints and not args.exit_zero else 0
    rules = always(args.language)
    if args.format == "json":
        value = {"schema": LINT_SCHEMA, "exit_code": code, "catalogue": catalogue.hash, "tools": len(catalogue),
                 "facts": FACTS, "hints": hints, "rules": rules}  # fmt: skip
        output.say_json(json.text(value))
        return code
    _say(_hints(hints[: args.most], len(hints), args.most))
    _say(["rules for the agent's instructions", *(f"  {rule}" for rule in rules)] if hints else ["nothing to mend"])
    return code


def _hints(hints: Sequence[Hint], found: int, most: int) -> Iterator[str]:
    for one in hints:
        tools = " ".join(word(shortened(name, 80)) for name in one.tools)
        yield f"{one.code} {tools}: {_line(one.message)}"
        if one.rule:
            yield f"  rule: {_line(one.rule, LONGEST * 2)}"
    if found > most:
        yield f"… and {found - most} more (--most N)"


def _card(args: Namespace) -> int:
    catalogue = catalogues.read(args.file, args)
    tools = catalogue.tools if args.tool is None else (catalogues.tool(catalogue, args.tool, CARD_OF, ALL_CARDS),)
    cards = [(tool.name, card(tool, args.language, descriptions=args.descriptions)) for tool in tools]
    if args.format == "json":
        named = [{"tool": name, "card": text} for name, text in cards]
        output.say_json(json.text({"schema": CARD_SCHEMA, "catalogue": catalogue.hash, "cards": named}))
    else:
        _say("\n\n".join(text for _, text in cards).split("\n"))
    return 0


def _hash(args: Namespace) -> int:
    catalogue = catalogues.read(args.file, args)
    if args.keep:
        with stores.opened_for(args) as store:
            keep(store.blobs, catalogue)
    if args.format == "json":
        output.say_json(json.text({"schema": HASH_SCHEMA, "hash": catalogue.hash, "tools": len(catalogue)}))
    else:
        output.say([f"catalogue_hash={catalogue.hash}"])
    return 0


def _line(text: str, most: int = LONGEST) -> str:
    return shortened(" ".join(text.split()), most)


def _say(lines: Iterator[str] | Sequence[str]) -> None:
    """Print lines; a joiner between two Arabic letters is spelling, and stays."""
    output.say_json("\n".join(_JOINER.sub("\u200c", printable(line)) for line in lines))
