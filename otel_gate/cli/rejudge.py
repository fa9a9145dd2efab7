"""``otel-gate rejudge``: judge records again under other rules, and owe what passes now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_gate.cli import configuration, destinations, output, stores
from otel_gate.cli.arguments import add_format, choice
from otel_gate.cli.watched import Watched
from otel_gate.errors import InputError
from otel_gate.pipeline.policy import Policy
from otel_gate.pipeline.rejudge import rejudge
from otel_gate.report import json
from otel_gate.report.escape import shortened
from otel_gate.report.quantities import counted
from otel_gate.rules import RULES

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence

    from otel_gate.core.model import Verdict
    from otel_gate.pipeline.rejudge import Rejudged

REJUDGE_SCHEMA = "otel-gate/rejudge/1"


def add(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("traces", nargs="*", metavar="TRACE_ID", help="only these traces (default: all of the store)")
    rules = "judge by a rule of your own too; may be repeated"
    parser.add_argument("--rules", action="append", metavar="MODULE:NAME", help=rules)
    conventions = "understand spans by a convention of your own too, asked before ours; may be repeated"
    parser.add_argument("--conventions", action="append", metavar="MODULE:NAME", help=conventions)
    remote = (
        "whether a span whose parent is in another process counts as root: root or reject (default: what a record says)"
    )
    parser.add_argument("--remote-parent", type=choice("root", "reject"), metavar="POLICY", help=remote)
    parser.add_argument("--dry-run", action="store_true", help="say what would change, and write nothing")
    add_format(parser, "text", "json")


def run(args: Namespace) -> int:
    """Judge again; 0, or 66 when a record could not be read."""
    settings = configuration.settled(
        args, rules=args.rules, conventions=args.conventions, remote_parent=args.remote_parent
    )
    names = tuple(destinations.names(settings))
    own = [Watched(rule) for rule in configuration.rules(settings)[len(RULES) :]]
    rules, conventions = (*RULES, *(one.rule for one in own)), configuration.conventions(settings)
    policy = Policy(rules=rules, conventions=conventions, mode=settings.mode, destinations=names)
    with stores.opened(settings) as store:
        places = dict.fromkeys([stores.find(store, trace) for trace in args.traces] or store.index.places())
        found = list(rejudge(store, places, policy, settings.remote_parent, dry_run=args.dry_run or bool(own)))
        for rule in own:
            rule.refuse()
        output.complain(*(line for rule in own for line in rule.told()))
        if own and not args.dry_run:  # nothing was written until it was known that its rules judge
            found = list(rejudge(store, places, policy, settings.remote_parent, dry_run=False))
    unread = [one for one in found if one.problem]
    output.complain(*(f"otel-gate: {one.problem}" for one in unread))
    if args.format == "json":
        records = [_object(one) for one in found if one.changed]
        value = {"schema": REJUDGE_SCHEMA, "dry_run": args.dry_run, "judged": len(found), "changed": records}
        output.say_json(json.text(value))
    else:
        output.say([*(_line(one) for one in found if one.changed), _summary(found, dry_run=args.dry_run)])
    return InputError.exit_code if unread else 0


def _object(one: Rejudged) -> dict[str, Any]:
    return {"trace_id": one.trace_id, "place": one.place, "before": _codes(one.before), "after": _codes(one.after)}


def _line(one: Rejudged) -> str:
    return f"{one.trace_id}  {_said(one.before)} -> {_said(one.after)}"


def _said(verdict: Verdict | None) -> str:
    return " ".join(shortened(code, 40) for code in _codes(verdict)) or "shape_ok"


def _codes(verdict: Verdict | None) -> list[str]:
    return list(dict.fromkeys(found.rule for found in verdict.violations)) if verdict else []


def _summary(found: Sequence[Rejudged], *, dry_run: bool) -> str:
    changed = [(one.before, one.after) for one in found if one.changed and one.before and one.after]
    passing = sum(after.shape_ok for _, after in changed)
    failing = sum(before.shape_ok for before, _ in changed)
    written = "; nothing was written" if dry_run else ""
    other, same = len(changed) - passing - failing, len(found) - len(changed)
    return (
        f"{counted(len(found), 'record')} judged again: {passing} now shape_ok, {failing} no longer, "
        f"{other} with something else violated, {same} as before{written}"
    )
