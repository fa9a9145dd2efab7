"""The accounts as OpenTelemetry metrics, for the MeterProvider of the process, whenever one is set.

Names are those of the semantic conventions for SDK components where there is one, else ``otel_gate.*``. A callback
reads what the worker has left in memory, or counts deliveries in the index at most every five seconds; it takes no
lock of ours, waits for nobody and never raises. Attributes are words of ours and names of destinations: nothing that a
trace holds is ever in a metric. Two doors of one process are told apart by ``otel.component.name``.

A span is ``processed`` (behind an exporter: ``exported``) when it is in a record or dropped as an exact copy, or, with
an ``error.type``, when it is in none and never will be. There is no ``queue.capacity``: what is open is bounded by
bytes.
"""

from __future__ import annotations

import contextlib
import logging
import sqlite3
import threading
import time
import weakref
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from opentelemetry import metrics
from opentelemetry.metrics import Observation

from otel_gate.store import listing, snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from opentelemetry.metrics import CallbackOptions, Meter

    from otel_gate.sdk.door import Door

    Values = Iterable[tuple[float, dict[str, str | bool]]]

logger = logging.getLogger("otel_gate")
SCOPE = "otel_gate"
TYPES = {"sdk": "otel_gate.GateSpanProcessor", "exporter": "otel_gate.GateSpanExporter"}
COUNTER, UP_DOWN, GAUGE = "observable_counter", "observable_up_down_counter", "observable_gauge"
NOT_KEPT = ("capped", "unparsable", "lost")
OUTCOMES = ("recorded", "duplicates", *NOT_KEPT)
LOOK_S, MOST_STEPS = 5.0, 5_000_000
COUNTS = "SELECT destination, state, count(*) FROM outbox GROUP BY destination, state"
SECOND = 1_000_000_000
_doors: weakref.WeakKeyDictionary[Door, dict[str, str | bool]] = weakref.WeakKeyDictionary()
_numbers: dict[str, int] = {}
_lock = threading.Lock()
_looked: dict[Path, tuple[float, list[tuple[str, str, int]]]] = {}


class Metric(NamedTuple):
    """One instrument: what it is called, its kind, unit and meaning, and what it says of a door."""

    name: str
    kind: str
    unit: str
    description: str
    values: Callable[[Door], Values]


def observe(door: Door) -> None:
    """Have the metrics of the process tell of this door too; it never raises."""
    kind = TYPES.get(door.name, f"otel_gate.{door.name}")
    with _lock:
        first = not _numbers
        number = _numbers[kind] = _numbers.get(kind, -1) + 1
        _doors[door] = {"otel.component.type": kind, "otel.component.name": f"{kind}/{number}"}
        if first:
            try:
                instrument(metrics.get_meter(SCOPE, import_module(SCOPE).__version__))
            except Exception as error:  # noqa: BLE001 - somebody's meter provider must not stop the agent
                logger.warning("otel-gate: its metrics can't be had: %s: %s", type(error).__name__, error)


def instrument(meter: Meter) -> None:
    """Make every instrument on a meter."""
    for metric in METRICS:
        make = getattr(meter, f"create_{metric.kind}")
        make(metric.name, callbacks=[_callback(metric)], unit=metric.unit, description=metric.description)


def _callback(metric: Metric) -> Callable[[CallbackOptions], Iterable[Observation]]:
    def look(_: CallbackOptions) -> list[Observation]:
        found: list[Observation] = []
        with contextlib.suppress(Exception):  # the reader of somebody's metrics is not ours to disturb
            for door, component in _doors.copy().items():
                found.extend(Observation(value, {**component, **more}) for value, more in metric.values(door))
        return found

    return look


def _finished(kind: str) -> Callable[[Door], Values]:
    def values(door: Door) -> Iterator[tuple[float, dict[str, str | bool]]]:
        if door.name == kind:
            now = door.pipeline.snapshot
            yield now.recorded + now.duplicates, {}
            for cause in NOT_KEPT:
                yield getattr(now, cause), {"error.type": cause}

    return values


def _open(kind: str) -> Callable[[Door], Values]:
    return lambda door: [(door.pipeline.snapshot.open, {})] if door.name == kind else []


def _outcomes(door: Door) -> Values:
    return [(getattr(door.pipeline.snapshot, name), {"otel_gate.outcome": name}) for name in OUTCOMES]


def _records(door: Door) -> Values:
    now = door.pipeline.snapshot
    not_ok = now.traces + now.amended - now.shape_ok
    return [(now.shape_ok, {"otel_gate.shape_ok": True}), (not_ok, {"otel_gate.shape_ok": False})]


def _faults(door: Door) -> Values:
    now = door.pipeline.snapshot
    return [(now.hook_errors, {"otel_gate.fault": "hook"}), (now.write_errors, {"otel_gate.fault": "write"})]


def _deliveries(door: Door) -> Values:
    """Count the deliveries of a store, told of one door of it."""
    first = next((other for other in _doors.copy() if other.settings.store == door.settings.store), door)
    if door is not first:
        return []
    return [
        (number, {"otel_gate.destination": destination, "otel_gate.delivery.state": state})
        for destination, state, number in _counts(door.settings.store)
    ]


def _counts(store: Path) -> list[tuple[str, str, int]]:
    """Count them anew when the last look is five seconds ago; what can't be counted now is as it was then."""
    looked_s, counts = _looked.get(store, (float("-inf"), []))
    now_s = time.monotonic()
    if now_s - looked_s >= LOOK_S:
        with contextlib.suppress(sqlite3.Error, OSError), snapshot.opened(store / listing.INDEX) as connection:
            connection.set_progress_handler(lambda: 1, MOST_STEPS)
            connection.execute("PRAGMA busy_timeout = 0")
            counts = connection.execute(COUNTS).fetchall()
        _looked[store] = now_s, counts
    return counts


METRICS = (
    Metric(
        "otel.sdk.processor.span.processed", COUNTER, "{span}",
        "The number of spans for which the processing has finished, either successful or failed", _finished("sdk"),
    ),
    Metric(
        "otel.sdk.processor.span.queue.size", UP_DOWN, "{span}",
        "The number of spans that have ended and whose trace has no record yet", _open("sdk"),
    ),
    Metric(
        "otel.sdk.exporter.span.exported", COUNTER, "{span}",
        "The number of spans for which the export has finished, either successful or failed", _finished("exporter"),
    ),
    Metric(
        "otel.sdk.exporter.span.inflight", UP_DOWN, "{span}",
        "The number of spans that were passed to the exporter and whose trace has no record yet", _open("exporter"),
    ),
    Metric(
        "otel_gate.span.seen", COUNTER, "{span}", "Spans that came in: outcomes and open ones together",
        lambda door: [(door.pipeline.snapshot.seen, {})],
    ),
    Metric("otel_gate.span.outcome", COUNTER, "{span}", "Spans by what became of them", _outcomes),
    Metric(
        "otel_gate.span.open", UP_DOWN, "{span}", "Spans whose trace has no record yet",
        lambda door: [(door.pipeline.snapshot.open, {})],
    ),
    Metric(
        "otel_gate.span.late", COUNTER, "{span}", "Spans that came after their trace was closed",
        lambda door: [(door.pipeline.snapshot.late, {})],
    ),
    Metric(
        "otel_gate.trace.open", UP_DOWN, "{trace}", "Traces that are not closed yet",
        lambda door: [(door.pipeline.load.traces, {})],
    ),
    Metric(
        "otel_gate.trace.oldest_age", GAUGE, "s", "For how long the oldest open trace has been open",
        lambda door: [(door.pipeline.oldest_age_ns / SECOND, {})],
    ),
    Metric(
        "otel_gate.trace.recovered", COUNTER, "{trace}", "Traces recorded from journals of processes that had ended",
        lambda door: [(door.pipeline.snapshot.recovered, {})],
    ),
    Metric("otel_gate.record", COUNTER, "{record}", "Records and their amendments by verdict", _records),
    Metric(
        "otel_gate.delivery", UP_DOWN, "{trace}", "Traces in the outbox of the store by destination and state",
        _deliveries,
    ),
    Metric(
        "otel_gate.journal.size", UP_DOWN, "By", "Bytes of the journal of this process",
        lambda door: [(door.pipeline.load.journal_bytes, {})],
    ),
    Metric("otel_gate.fault", COUNTER, "{fault}", "Faults that were caught: in a hook, or on the disk", _faults),
)  # fmt: skip
