"""``otel-gate show``: one record, as a tree of its spans with all that is known about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.cli import output, stores
from otel_gate.cli.arguments import add_format
from otel_gate.report import json, tree
from otel_gate.report.escape import printable, shortened, word
from otel_gate.report.explanation import answer, times
from otel_gate.report.quantities import counted, moment, size

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator, Sequence

    from otel_gate.core.model import Completion, Record
    from otel_gate.report.explanation import Delivery

SHOW_SCHEMA = "otel-gate/show/1"
MOST_VIOLATIONS, MOST_REVISIONS = 100, 20


def add(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("trace", metavar="TRACE_ID", help="a trace id; its beginning is enough when no other has it")
    add_format(parser, "text", "json")
    parser.add_argument("--raw", action="store_true", help="print the record as it stands on the disk, safe to print")


def run(args: Namespace) -> int:
    """Show a record."""
    with stores.opened_for(args) as store:
        place = stores.find(store, args.trace)
        record = store.load(place)
        deliveries = stores.deliveries(store, place)
        where, now_ns = store.where(place), store.now_ns()
        content = store.content(place)
    if args.raw:
        output.say_json(json.document(content))
    elif args.format == "json":
        line = {"line": where.line} if where.line else {}
        value = {"schema": SHOW_SCHEMA, "path": str(where.path), **line, "record": record, "deliveries": deliveries}
        output.say_json(json.text(value))
    else:
        output.say(_lines(record, f"{where} ({size(len(content))}, revision {record.revision})", deliveries, now_ns))
    return 0


def _lines(record: Record, place: str, deliveries: Sequence[Delivery], now_ns: int) -> Iterator[str]:
    verdict = record.verdict
    yield f"trace {word(printable(record.trace_id))}  {'shape_ok' if verdict.shape_ok else 'not_ok'}"
    start_ns = min((span.start_ns for span in record.spans if span.start_ns), default=0)
    yield f"  run       {shortened(record.run_id, 80) or '-'}"
    yield f"  spans     {len(record.spans)}, {counted(verdict.tools, 'tool call')}, started {moment(start_ns)}"
    yield f"  closed    {_closed(record.completion)}"
    yield f"  source    {record.source.door}{_notes(record)}"
    yield f"  id_hash   {record.id_hash}"
    yield f"  record    {place}"
    yield "spans"
    yield from tree.lines(record.trace, _codes(record))
    if verdict.violations:
        yield "violations (otel-gate why tells what to try)"
        for found in verdict.violations[:MOST_VIOLATIONS]:
            span = "-" if found.span_id is None else word(found.span_id)
            yield f"  {found.rule} {found.name} span={span} {found.message}"
        if len(verdict.violations) > MOST_VIOLATIONS:
            yield f"  … and {len(verdict.violations) - MOST_VIOLATIONS} more"
    yield "deliveries" if deliveries else "deliveries  none"
    for delivery in deliveries:
        yield f"  {printable(delivery.destination)}: {answer(delivery, now_ns)}"
        yield f"    {times(delivery)}"
    if record.revision > 1:
        yield "history"
        yield from _history(record)


def _closed(completion: Completion | None) -> str:
    if completion is None:
        return "-"
    still = f", {counted(len(completion.open), 'span')} open" if completion.open else ""
    capped = f", {counted(completion.capped, 'span')} capped" if completion.capped else ""
    return completion.reason + still + capped


def _notes(record: Record) -> str:
    notes = ", ".join(f"{note.code} ({note.count})" for note in record.source.notes)
    return f", noted: {notes}" if notes else ""


def _codes(record: Record) -> dict[str, str]:
    codes: dict[str, dict[str, None]] = {}
    for found in record.verdict.violations:
        if found.span_id is not None:
            codes.setdefault(found.span_id, {})[found.rule] = None
    return {span_id: printable(" ".join(names)) for span_id, names in codes.items()}


def _history(record: Record) -> Iterator[str]:
    for one in record.history[-MOST_REVISIONS:]:
        codes = " ".join(dict.fromkeys(found.rule for found in one.verdict.violations))
        yield f"  revision {one.revision}: {counted(one.spans, 'span')}, {codes or 'shape_ok'}, id_hash {one.id_hash}"
