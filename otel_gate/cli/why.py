"""``otel-gate why``: why a trace was not exported, or where it went."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.cli import output, stores
from otel_gate.report.escape import printable, word
from otel_gate.report.explanation import why

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def add(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("trace", metavar="TRACE_ID", help="a trace id; its beginning is enough when no other has it")


def run(args: Namespace) -> int:
    """Explain; the answer is there whatever it says, so this is 0."""
    with stores.opened_for(args) as store:
        place = stores.find(store, args.trace)
        record = store.load(place)
        decided = place not in {row["place"] for row in store.index.unowed()}
        lines = why(record, stores.deliveries(store, place), store.now_ns(), decided=decided)
    output.say([f"trace {word(printable(record.trace_id))}", *lines])
    return 0
