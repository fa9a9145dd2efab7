"""``otel-gate status``: what a store holds, by verdict and rule, what became of every span, and what is owed to whom.

Two sums are told with both of their sides. Of spans: ``seen`` is what became of them and what is open (the accounts,
each as of its owner's last record). Of records, for each destination: those that may leave are in one state of a
delivery each, or not owed to it, since they were recorded without it. Copies that came again are in the accounts; in
JSON ``spans.duplicates`` has those of them that records note, which came before the record did.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from msgspec import structs

from otel_gate.cli import configuration, live, output, stores
from otel_gate.cli.arguments import add_format
from otel_gate.pipeline.unrecorded import Unrecorded, unrecorded
from otel_gate.report import json
from otel_gate.report.escape import printable, shortened
from otel_gate.report.quantities import counted, moment, size
from otel_gate.store.outbox import HELD

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterable, Iterator

    from otel_gate.store import Store

STATUS_SCHEMA = "otel-gate/status/1"
WATCH_S, CLEAR = 1.0, "\x1b[H\x1b[2J"
TERMS = {
    "recorded": "recorded", "duplicates": "exact duplicates", "capped": "capped", "unparsable": "unparsable",
    "open": "open", "lost": "lost",
}  # fmt: skip
JOURNALS = {
    "running": "of running processes: {}", "ended": "of ended processes: {} (otel-gate recover)",
    "left": "of an ended gateway: {} (otel-gate serve goes on with it; otel-gate recover records it as it is)",
}  # fmt: skip
OLDEST = """
SELECT outbox.trace_id, outbox.destination, records.start_ns FROM outbox JOIN records USING (place)
WHERE outbox.state = 'pending' ORDER BY records.start_ns LIMIT 1
"""
PASSED = f"""
SELECT count(*) AS passed, count(*) FILTER (WHERE state IS NULL) AS not_owed,
  count(*) FILTER (WHERE state = '{HELD}') AS held
FROM records LEFT JOIN outbox ON outbox.place = records.place AND outbox.destination = ? WHERE forwardable
"""  # noqa: S608 - our own word

GONE = """
SELECT state, count(*) AS n FROM outbox WHERE destination = ? AND place NOT IN (SELECT place FROM records)
GROUP BY state
"""


def add(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add_format(parser, "text", "json")
    text = "look again every second, and ask the gateway of the store what it holds open"
    parser.add_argument("--watch", action="store_true", help=text)
    live.add(parser)


def run(args: Namespace) -> int:
    """Count."""
    if args.watch:
        return _watch(args)
    _say(args, _counted(args))
    return 0


def _watch(args: Namespace) -> int:
    """Count until somebody interrupts; every look is printed below the one before, on a terminal over it."""
    settings = configuration.settled(args)
    stores.must_be_there(settings.store, "--store PATH, or otel-gate serve")
    asked = {name: getattr(args, name) for name in live.FILES}
    while True:
        now = live.look(settings.store, **asked)
        counted_now = {**_counted(args), "gateway": now._asdict()}
        if sys.stdout is not None and sys.stdout.isatty():
            sys.stdout.write(CLEAR)
        _say(args, counted_now, live.lines(now))
        output.flush()
        time.sleep(WATCH_S)


def _counted(args: Namespace) -> dict[str, Any]:
    with stores.opened_for(args) as store:
        return _counts(store)


def _say(args: Namespace, counted_now: dict[str, Any], more: Iterable[str] = ()) -> None:
    if args.format == "json":
        output.say_json(json.text({"schema": STATUS_SCHEMA, **counted_now}))
    else:
        output.say((*_lines(counted_now), *more))


def _counts(store: Store) -> dict[str, Any]:
    totals, oldest = store.index.totals(), store.database.connection.execute(OLDEST).fetchone()
    return {
        "store": str(store.root),
        "bytes": sum(path.stat().st_size for path in store.root.rglob("*") if path.is_file()),
        "records": totals["records"],
        "forwardable": totals["forwardable"],
        "shape_ok": totals["shape_ok"],
        "not_ok": totals["records"] - totals["shape_ok"],
        "by_rule": store.index.by_rules(),
        "spans": {
            name: totals[column] for name, column in (("recorded", "spans"), ("capped",) * 2, ("duplicates",) * 2)
        },
        "accounts": _accounts(store),
        "journals": _journals(list(unrecorded(store.root, store.files))),
        "deliveries": (deliveries := store.outbox.counts()),
        "passed": {destination: _passed(store, destination, states) for destination, states in deliveries.items()},
        "undecided": sum(row["forwardable"] for row in store.index.unowed()),
        "oldest_owed": dict(oldest) if oldest else None,
    }


def _accounts(store: Store) -> dict[str, Any]:
    total = store.accounts.total()
    return {**structs.asdict(total), "balances": total.balances}


def _journals(found: list[Unrecorded]) -> dict[str, dict[str, int]]:
    return {
        "running": _held([one for one in found if not one.has_ended]),
        "ended": _held([one for one in found if one.has_ended and not one.goes_on]),
        "left": _held([one for one in found if one.has_ended and one.goes_on]),
    }


def _held(journals: list[Unrecorded]) -> dict[str, int]:
    spans, running = sum(one.spans for one in journals), sum(one.running for one in journals)
    return {"journals": len(journals), "spans": spans, "not_ended": running}


def _passed(store: Store, destination: str, states: dict[str, int]) -> dict[str, Any]:
    """Compare the records that may leave with the deliveries of them; ``held`` are those of records that may not.

    ``gone`` are deliveries of records that somebody cut off from their segment, or removed with it.
    """
    [found] = store.database.execute(PASSED, (destination,))
    gone = {row["state"]: row["n"] for row in store.database.execute(GONE, (destination,))}
    states = {state: left for state, number in states.items() if (left := number - gone.get(state, 0))}
    sent = {state: number for state, number in states.items() if state != HELD}
    if found["held"]:  # under the rules of another process it may not leave
        sent[HELD] = found["held"]
    return {
        "passed": found["passed"],
        "states": sent,
        "not_owed": found["not_owed"],
        "held": states.get(HELD, 0) - found["held"],
        "gone": sum(gone.values()),
        "balances": found["passed"] == sum(sent.values()) + found["not_owed"],
    }


def _lines(now: dict[str, Any]) -> Iterator[str]:
    yield f"store       {now['store']} ({size(now['bytes'])})"
    yield f"records     {now['records']}: {now['shape_ok']} shape_ok, {now['not_ok']} not_ok"
    for rule, number in now["by_rule"].items():
        yield f"  {shortened(rule, 40):8}  {counted(number, 'record')}"
    spans = now["spans"]
    yield f"spans       {spans['recorded']} in the store, {spans['capped']} capped"
    yield f"accounts    {_account_line(now['accounts'])}"
    yield from _journal_lines(now["journals"])
    if now["undecided"]:
        whole = counted(now["undecided"], "well-formed record")
        yield f"undecided   {whole}: the index does not know who is to have them (otel-gate forward owes them)"
    elif not now["deliveries"]:
        yield f"deliveries  none: {_why_none(now)}"
    for destination, states in now["deliveries"].items():
        numbers = ", ".join(f"{number} {state}" for state, number in states.items())
        yield f"deliveries  {printable(destination)}: {numbers}"
        yield f"passed      {printable(destination)}: {_passed_line(now['passed'][destination])}"
    oldest = now["oldest_owed"]
    if oldest:
        owed = f"{printable(oldest['trace_id'])} to {printable(oldest['destination'])}"
        yield f"oldest owed {owed}, started {moment(oldest['start_ns'])}"


def _why_none(now: dict[str, Any]) -> str:
    if not now["records"]:
        return "there is no record"
    return "no endpoint was set when these were recorded" if now["forwardable"] else "no record may leave"


def _account_line(accounts: dict[str, Any]) -> str:
    parts = [f"{accounts[name]} {words}" for name, words in TERMS.items()]
    said = f"{accounts['seen']} seen = {' + '.join(parts)}"
    return said if accounts["balances"] else f"{said}: out of balance, otel-gate doctor"


def _journal_lines(journals: dict[str, dict[str, int]]) -> Iterator[str]:
    for which, words in JOURNALS.items():
        held = journals[which]
        if held["journals"]:
            spans = f"{counted(held['spans'], 'span')} without a record, {held['not_ended']} not ended"
            yield f"journals    {held['journals']} {words.format(spans)}"


def _passed_line(passed: dict[str, Any]) -> str:
    terms = {**passed["states"], "not owed": passed["not_owed"]}
    said = f"{passed['passed']} = {' + '.join(f'{number} {state}' for state, number in terms.items())}"
    if passed["held"]:
        said += f"; {passed['held']} held, not well-formed any more"
    if passed["gone"]:
        said += f"; {passed['gone']} whose record is gone (otel-gate doctor)"
    return said if passed["balances"] else f"{said}: out of balance, otel-gate doctor"
