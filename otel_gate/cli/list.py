"""``otel-gate list``: the records of a store, the newest first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_gate.cli import output, stores
from otel_gate.cli.arguments import add_format, count
from otel_gate.report import json
from otel_gate.report.escape import shortened
from otel_gate.report.quantities import duration, moment
from otel_gate.report.table import columns
from otel_gate.store.index import LARGEST

if TYPE_CHECKING:
    import sqlite3
    from argparse import ArgumentParser, Namespace

LIST_SCHEMA = "otel-gate/list/1"
LIMIT = 20
HEAD = ("verdict", "trace", "started", "lasted", "spans", "tools", "run", "root", "violates")


def add(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--limit", type=count, default=LIMIT, metavar="N", help=f"at most so many (default: {LIMIT})")
    parser.add_argument("--refused", action="store_true", help="only traces that are not well-formed")
    parser.add_argument("--rule", default="", metavar="CODE", help="only traces that violate a rule, such as G303")
    parser.add_argument("--run", default="", metavar="RUN_ID", help="only traces of a run")
    add_format(parser, "text", "json")


def run(args: Namespace) -> int:
    """List records."""
    with stores.opened_for(args) as store:
        found = store.index.newest(args.limit + 1, refused=args.refused, rule=args.rule.upper(), run_id=args.run)
        root = store.root
    rows = found[: args.limit]
    if args.format == "json":
        output.say_json(json.text({"schema": LIST_SCHEMA, "records": [_object(row) for row in rows]}))
    elif rows:
        output.say(columns([HEAD, *map(_cells, rows)]))
    if not rows:
        such = "such " if args.refused or args.rule or args.run else ""
        output.complain(f"otel-gate: no {such}records in {root}")
    elif len(found) > len(rows):
        output.complain(f"otel-gate: there are more; --limit {args.limit * 10} shows them")
    return 0


def _started(start_ns: int) -> str:
    return f"{moment(start_ns)} or later" if start_ns == LARGEST else moment(start_ns)


def _cells(row: sqlite3.Row) -> tuple[str, ...]:
    lasted = row["end_ns"] - row["start_ns"]
    return (
        "shape_ok" if row["shape_ok"] else "not_ok", shortened(row["trace_id"] or row["place"], 52),
        _started(row["start_ns"]), duration(lasted) if row["start_ns"] and lasted >= 0 else "-",
        str(row["spans"]), str(row["tools"]), shortened(row["run_id"], 36) or "-", shortened(row["name"], 40) or "-",
        shortened(row["rules"], 60) or "-",
    )  # fmt: skip


def _object(row: sqlite3.Row) -> dict[str, Any]:
    switches = {name: bool(row[name]) for name in ("shape_ok", "forwardable")}
    return {**{name: row[name] for name in row.keys() if name != "owed"}, **switches, "rules": row["rules"].split()}  # noqa: SIM118 - a row's iterator gives values
