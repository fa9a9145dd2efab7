"""``otel-gate status``: what a store holds, by verdict and rule, and what is owed to whom."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_gate.cli import output, stores
from otel_gate.cli.arguments import add_format
from otel_gate.report import json
from otel_gate.report.escape import printable, shortened
from otel_gate.report.quantities import counted, moment, size

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator

    from otel_gate.store import Store

STATUS_SCHEMA = "otel-gate/status/1"
OLDEST = """
SELECT outbox.trace_id, outbox.destination, records.start_ns FROM outbox JOIN records USING (place)
WHERE outbox.state = 'pending' ORDER BY records.start_ns LIMIT 1
"""


def add(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add_format(parser, "text", "json")


def run(args: Namespace) -> int:
    """Count."""
    with stores.opened_for(args) as store:
        counted_now = _counts(store)
    if args.format == "json":
        output.say_json(json.text({"schema": STATUS_SCHEMA, **counted_now}))
    else:
        output.say(_lines(counted_now))
    return 0


def _counts(store: Store) -> dict[str, Any]:
    totals, oldest = store.index.totals(), store.database.connection.execute(OLDEST).fetchone()
    return {
        "store": str(store.root),
        "bytes": sum(path.stat().st_size for path in store.root.rglob("*") if path.is_file()),
        "records": totals["records"],
        "shape_ok": totals["shape_ok"],
        "not_ok": totals["records"] - totals["shape_ok"],
        "by_rule": store.index.by_rules(),
        "spans": {
            name: totals[column] for name, column in (("recorded", "spans"), ("capped",) * 2, ("duplicates",) * 2)
        },
        "deliveries": store.outbox.counts(),
        "oldest_owed": dict(oldest) if oldest else None,
    }


def _lines(now: dict[str, Any]) -> Iterator[str]:
    yield f"store       {now['store']} ({size(now['bytes'])})"
    yield f"records     {now['records']}: {now['shape_ok']} shape_ok, {now['not_ok']} not_ok"
    for rule, number in now["by_rule"].items():
        yield f"  {shortened(rule, 40):8}  {counted(number, 'record')}"
    spans = now["spans"]
    dropped = f"{spans['duplicates']} exact duplicates dropped"
    yield f"spans       {spans['recorded']} recorded, {dropped}, {spans['capped']} capped"
    if not now["deliveries"]:
        yield "deliveries  none: no endpoint was set when these were recorded"
    for destination, states in now["deliveries"].items():
        numbers = ", ".join(f"{number} {state}" for state, number in states.items())
        yield f"deliveries  {printable(destination)}: {numbers}"
    oldest = now["oldest_owed"]
    if oldest:
        owed = f"{printable(oldest['trace_id'])} to {printable(oldest['destination'])}"
        yield f"oldest owed {owed}, started {moment(oldest['start_ns'])}"
