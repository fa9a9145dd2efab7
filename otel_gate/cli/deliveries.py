"""``otel-gate deliveries``: what is owed to each destination, and what each one answered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.cli import output, stores
from otel_gate.cli.arguments import add_format, choice, count
from otel_gate.report import json
from otel_gate.report.escape import printable, shortened
from otel_gate.report.explanation import said, upcoming
from otel_gate.report.quantities import moment
from otel_gate.report.table import columns
from otel_gate.store.outbox import STATES

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from otel_gate.report.explanation import Delivery

DELIVERIES_SCHEMA = "otel-gate/deliveries/1"
LIMIT = 100
HEAD = ("state", "trace", "to", "sent", "attempts", "owed since", "last attempt", "next attempt", "last answer")


def add(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "trace", nargs="?", metavar="TRACE_ID", help="only those of a trace; the beginning of its id is enough"
    )
    parser.add_argument("--to", default="", metavar="NAME", help="only those to a destination")
    states = f"only those in a state: {', '.join(STATES)}"
    parser.add_argument("--state", type=choice(*STATES), metavar="STATE", help=states)
    parser.add_argument("--limit", type=count, default=LIMIT, metavar="N", help=f"at most so many (default: {LIMIT})")
    add_format(parser, "text", "json")


def run(args: Namespace) -> int:
    """List deliveries, those that were owed last first."""
    with stores.opened_for(args) as store:
        place = stores.find(store, args.trace) if args.trace else ""
        rows = store.outbox.find(place=place, destination=args.to, state=args.state or "", limit=args.limit + 1)
        found, root = [stores.delivery(row) for row in rows], store.root
    shown = found[: args.limit]
    if args.format == "json":
        output.say_json(json.text({"schema": DELIVERIES_SCHEMA, "deliveries": shown}))
    elif shown:
        output.say(columns([HEAD, *map(_cells, shown)]))
    if not shown:
        such = "such " if args.trace or args.to or args.state else ""
        output.complain(f"otel-gate: no {such}deliveries in {root}")
    elif len(found) > len(shown):
        output.complain(f"otel-gate: there are more; --limit {args.limit * 10} shows them")
    return 0


def _cells(one: Delivery) -> tuple[str, ...]:
    return (
        printable(one.state), shortened(one.trace_id or one.place, 52), shortened(one.destination, 40),
        f"{one.sent}/{one.spans}", str(one.attempts), moment(one.owed_ns), moment(one.tried_ns), upcoming(one),
        said(one) or "-",
    )  # fmt: skip
