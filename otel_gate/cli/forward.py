"""``otel-gate forward``: send what a store owes to the collector, until nothing is owed or once."""

from __future__ import annotations

import contextlib
import logging
import os
import time
from typing import TYPE_CHECKING

from otel_gate.cli import configuration, output, stores
from otel_gate.errors import UsageError
from otel_gate.forward import Forwarder, destinations

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator

    from otel_gate.store import Store

STILL_OWED = 1
PAUSE_S = 0.25
NO_ENDPOINT = UsageError(
    "otel-gate forward", "an OTLP endpoint in the environment", "none",
    "OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4317 (gRPC), or http://localhost:4318 with "
    "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf",
)  # fmt: skip


def add(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--once", action="store_true", help="try what is due now, and do not wait for the rest")


def run(args: Namespace) -> int:
    """Send; 0 when nothing is owed any more, 1 when something is."""
    settings = configuration.settled(args)
    to = destinations(None, os.environ, strict=True)
    if not to:
        raise NO_ENDPOINT
    with _faults_told(), stores.opened(settings) as store:
        store.reconcile([destination.name for destination in to], stores.forwardable(settings))
        forwarder = Forwarder(to, lambda: store, forwardable=stores.forwardable(settings))
        try:
            done = forwarder.once(store)
            while not done and not args.once:
                time.sleep(PAUSE_S)
                done = forwarder.once(store)
        finally:
            for destination in to:
                destination.close()
            output.say(_counts(store))
    if not done:
        output.complain(
            "otel-gate: something is still owed; otel-gate status counts it, otel-gate why TRACE_ID tells more"
        )
    return 0 if done else STILL_OWED


def _counts(store: Store) -> list[str]:
    counts = store.outbox.counts()
    lines = [f"{name}: {', '.join(f'{n} {state}' for state, n in states.items())}" for name, states in counts.items()]
    return lines or ["nothing was owed"]


class _Handler(logging.Handler):
    """What the forwarder logs, on stderr: a destination's words are no more to be trusted than a trace's."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a record."""
        output.complain(self.format(record))


@contextlib.contextmanager
def _faults_told() -> Iterator[None]:
    logger, handler = logging.getLogger("otel_gate"), _Handler(logging.WARNING)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
