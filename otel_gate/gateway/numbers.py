"""``/metrics``: the accounts, what is open, requests and deliveries, in the text form of Prometheus.

The registry is our own: what else the process may count is not shown. No label holds anything that a trace says.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from otel_gate.store import listing, snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from prometheus_client.metrics_core import Metric

    from otel_gate.gateway.reception import Reception
    from otel_gate.gateway.tally import Requests
    from otel_gate.pipeline import Pipeline

OUTCOMES = ("recorded", "duplicates", "capped", "unparsable", "lost")
COUNTS = "SELECT destination, state, count(*) FROM outbox GROUP BY destination, state"
LOOK_S, MOST_STEPS = 5.0, 5_000_000
NS = 1_000_000_000


class Numbers(Collector):
    """What a gateway counts, read when somebody asks."""

    def __init__(self, pipeline: Pipeline, reception: Reception, requests: Requests, root: Path) -> None:
        """Read these."""
        self._pipeline, self._reception, self._requests = pipeline, reception, requests
        self._index = root / listing.INDEX
        self._looked: tuple[float, list[tuple[str, str, int]]] = (float("-inf"), [])
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)

    def text(self) -> tuple[bytes, str]:
        """Return the numbers of now, and their content type."""
        return generate_latest(self._registry), CONTENT_TYPE_LATEST

    def collect(self) -> Iterator[Metric]:
        """Iterate over the numbers of now."""
        now, load = self._pipeline.snapshot, self._pipeline.load
        yield _counter("spans_seen", "Spans that came in", {(): now.seen})
        outcomes = {(name,): getattr(now, name) for name in OUTCOMES}
        yield _counter("spans", "Spans by what became of them", outcomes, "outcome")
        yield _counter("spans_late", "Spans that came after their trace was closed", {(): now.late})
        not_ok = now.traces + now.amended - now.shape_ok
        verdicts = {("true",): now.shape_ok, ("false",): not_ok}
        yield _counter("records", "Records and their amendments by verdict", verdicts, "shape_ok")
        faults = {("hook",): now.hook_errors, ("write",): now.write_errors + self._reception.disk.faults}
        yield _counter("faults", "Faults that were caught", faults, "fault")
        yield _counter(
            "requests", "Requests by door, path and answer", self._requests.by.copy(), "door", "path", "code"
        )
        events = self._requests.connections.copy()
        yield _counter("connections", "Connections by door and what came of them", events, "door", "event")
        yield _gauge("spans_open", "Spans whose trace has no record yet", {(): now.open})
        yield _gauge("traces_open", "Traces that are not closed yet", {(): load.traces})
        yield _gauge("oldest_trace_seconds", "Age of the oldest open trace", {(): self._pipeline.oldest_age_ns / NS})
        yield _gauge("open_bytes", "Bytes of spans without a record", {(): self._pipeline.open_bytes})
        yield _gauge("journal_bytes", "Bytes of the journal", {(): load.journal_bytes})
        yield _gauge("request_bytes", "Bytes of requests in memory", {(): self._reception.budget.taken})
        yield _gauge("doors_closed", "1 while it is not ready", {(): int(bool(self._reception.not_ready))})
        yield _gauge("deliveries", "Traces in the outbox", self._deliveries(), "destination", "state")

    def _deliveries(self) -> dict[tuple[str, str], int]:
        """Count them anew when the last look is five seconds ago; what can't be counted now is as it was then."""
        looked_s, rows = self._looked
        if time.monotonic() - looked_s >= LOOK_S:
            with contextlib.suppress(sqlite3.Error, OSError), snapshot.opened(self._index) as connection:
                connection.set_progress_handler(lambda: 1, MOST_STEPS)
                rows = connection.execute(COUNTS).fetchall()
            self._looked = time.monotonic(), rows
        return {(destination, state): number for destination, state, number in rows}


def _counter(name: str, text: str, values: Mapping[Any, float], *labels: str) -> Metric:
    family = CounterMetricFamily(f"otel_gate_{name}", text, labels=labels)
    for of, number in values.items():
        family.add_metric(of, number)
    return family


def _gauge(name: str, text: str, values: Mapping[Any, float], *labels: str) -> Metric:
    family = GaugeMetricFamily(f"otel_gate_{name}", text, labels=labels)
    for of, number in values.items():
        family.add_metric(of, number)
    return family
