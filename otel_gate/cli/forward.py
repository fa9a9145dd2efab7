"""``otel-gate forward``: send what a store owes to the collector, until nothing is owed or once."""

from __future__ import annotations

import os
import threading
from queue import SimpleQueue
from typing import TYPE_CHECKING

from otel_gate.cli import configuration, logs, output, stores, times
from otel_gate.cli.times import FORMS
from otel_gate.errors import UsageError
from otel_gate.forward import Forwarder, destinations, without_content
from otel_gate.report.quantities import counted
from otel_gate.store.outbox import GIVEN_UP

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence

    from otel_gate.forward import Destination
    from otel_gate.settings import Settings
    from otel_gate.store import Store

STILL_OWED = REFUSED = 1
REFUSALS = (*GIVEN_UP, "partial")
EPILOG = "Exit codes: 0 nothing is owed any more, 1 something still is, or was refused or given up by this run."
PAUSE_S = 0.25
NO_ENDPOINT = UsageError(
    "otel-gate forward", "destinations in otel-gate.toml, or an OTLP endpoint in the environment", "none",
    "OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4317 (gRPC), or http://localhost:4318 with "
    "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf",
)  # fmt: skip


def add(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = EPILOG
    parser.add_argument("--once", action="store_true", help="try what is due now, and do not wait for the rest")
    parser.add_argument("--to", action="append", metavar="NAME", help="only to this destination; may be repeated")
    since = f"only traces that started since: {FORMS}".replace("%", "%%")
    parser.add_argument("--since", type=times.since, default=0, metavar="TIME", help=since)
    again = "owe again what a destination refused (rejected, too_large) and what was given up (buried)"
    parser.add_argument("--retry-buried", action="store_true", help=again)


def run(args: Namespace) -> int:
    """Send; 0 when nothing is owed any more, 1 when something is, or when something was refused now."""
    settings = configuration.settled(args)
    to = _wanted(args.to, destinations(None, os.environ, settings.destinations, strict=True))
    if settings.forward_arguments == "hash":
        to = without_content(to, configuration.conventions(settings))
    with logs.told("otel_gate"), stores.opened(settings) as store:
        store.reconcile([destination.name for destination in to], stores.forwardable(settings))
        if args.retry_buried:
            again = sum(store.outbox.retry(one.name, store.now_ns(), args.since) for one in to)
            output.complain(f"otel-gate: {counted(again, 'trace')} owed again")
        before = _refused(store)
        try:
            done = _sent(args, settings, to)
        finally:
            output.say(_counts(store))
        refused = _refused(store) - before
    if not done:
        output.complain(
            "otel-gate: something is still owed; otel-gate deliveries lists it, otel-gate why TRACE_ID tells more"
        )
    if refused > 0:
        output.complain(
            f"otel-gate: {counted(refused, 'trace')} refused or given up; otel-gate deliveries lists every answer, "
            "otel-gate why TRACE_ID tells more"
        )
        return REFUSED
    return 0 if done else STILL_OWED


def _wanted(names: list[str] | None, to: Sequence[Destination]) -> Sequence[Destination]:
    if not to:
        raise NO_ENDPOINT
    known = [destination.name for destination in to]
    for name in names or ():
        if name not in known:
            expected = "a destination that is configured"
            raise UsageError(which="otel-gate forward --to", expected=expected, got=repr(name), try_=", ".join(known))
    return [destination for destination in to if not names or destination.name in names]


def _sent(args: Namespace, settings: Settings, to: Sequence[Destination]) -> bool:
    """Send to all destinations at once, each in a thread of its own: one that hangs holds up no other.

    The threads are daemons, so that an interrupt does not wait for them: their leases are given back by who is next.
    """
    results: SimpleQueue[bool | Exception] = SimpleQueue()
    stop = threading.Event()
    for destination in to:
        values = args, settings, destination, stop, results
        threading.Thread(target=_send_to, args=values, name=f"forward {destination.name}", daemon=True).start()
    done = True
    for _ in to:
        result = results.get()
        if isinstance(result, Exception):
            stop.set()
            raise result
        done = done and result
    return done


def _send_to(
    args: Namespace, settings: Settings, to: Destination, stop: threading.Event, results: SimpleQueue[bool | Exception]
) -> None:
    try:
        with stores.opened(settings) as store:
            forwardable = stores.forwardable(settings)
            forwarder = Forwarder([to], lambda: store, forwardable=forwardable, since_ns=args.since)
            done = forwarder.once(store)
            while not done and not args.once and not stop.wait(PAUSE_S):
                done = forwarder.once(store)
        to.close()
        results.put(done)
    except Exception as error:  # noqa: BLE001 - whatever it is, the command's own thread raises it
        results.put(error)


def _refused(store: Store) -> int:
    return sum(states.get(state, 0) for states in store.outbox.counts().values() for state in REFUSALS)


def _counts(store: Store) -> list[str]:
    counts = store.outbox.counts()
    lines = [f"{name}: {', '.join(f'{n} {state}' for state, n in states.items())}" for name, states in counts.items()]
    return lines or ["nothing was owed"]
