"""The forwarder: a thread that sends what is owed, reads its bytes back from the record, and keeps every answer.

What always holds:

- Only the outbox says what is owed, and only an answer takes something out of it. A destination that is away is tried
  again later, without end; nothing waits for it but its own deliveries.
- A delivery is leased before it is sent, so two processes never send one at the same time.
- Requests carry several traces. When one is refused for good, each of its traces is sent alone: a bad one does not bury
  its neighbours.
- What is sent is what the record says. For a record that was made just now, its bytes may be kept from then: they are
  encoded from the same value.
"""

from __future__ import annotations

import logging
import os
import random
import threading
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from opentelemetry import context
from opentelemetry.context import _SUPPRESS_INSTRUMENTATION_KEY

from otel_gate.errors import InputError
from otel_gate.forward.destination import RETRY, Destination, Result
from otel_gate.forward.owner import is_gone, new_owner
from otel_gate.store.outbox import PENDING, Answer, Claim

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from otel_gate.store import Saved, Store

logger = logging.getLogger("otel_gate")
CLAIMS, REQUEST_BYTES, REQUEST_TRACES = 64, 1 << 20, 64
SEND_S, LEASE_S = 10.0, 60.0
FIRST_WAIT_S, MOST_WAIT_S, IDLE_S = 1.0, 60.0, 5.0
KEPT_BYTES = 16 << 20
SECOND = 1_000_000_000


class _Parcel(NamedTuple):
    claim: Claim
    packed: Any
    spans: int


class Forwarder:
    """Sends from one store to destinations. ``saved`` may be called from any thread and never waits."""

    def __init__(self, to: Sequence[Destination], open_store: Callable[[], Store]) -> None:
        """Start with nothing; the thread starts with the first record, or with ``start``."""
        self.destinations = tuple(to)
        self._open_store = open_store
        self._reset()

    def _reset(self) -> None:
        self._pid = os.getpid()
        self._owner = new_owner()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._kept: dict[tuple[str, str], tuple[int, bytes]] = {}
        self._kept_bytes = 0
        self._paused_until: dict[str, float] = {}
        self._waits: dict[str, float] = {}
        self._until = float("inf")
        self._stopping = False
        self._passes = 0
        self._passed = threading.Condition()
        self._owed = False

    def saved(self, saved: Saved) -> None:
        """Take notice of a record that is in the outbox now."""
        if self._pid != os.getpid():  # a fork: threads and connections stayed with the parent
            self._reset()
            for destination in self.destinations:
                destination.after_fork()
        for destination in self.destinations:
            if self._kept_bytes < KEPT_BYTES:
                packed = destination.pack(saved.record.trace, 0)
                if isinstance(packed, bytes):
                    self._kept[destination.name, saved.place] = (len(saved.record.spans), packed)
                    self._kept_bytes += len(packed)
        self.start()
        self._wake.set()

    def start(self) -> None:
        """Start the thread when it does not run yet."""
        with self._lock:
            if self._thread is None and not self._stopping:
                self._thread = threading.Thread(target=self._run, name="otel-gate-forward", daemon=True)
                self._thread.start()

    def flush(self, timeout_s: float) -> bool:
        """Return True when nothing is owed any more, False when ``timeout_s`` seconds were not enough."""
        deadline = time.monotonic() + timeout_s
        self.start()
        with self._passed:
            while True:
                before = self._passes
                self._wake.set()
                while self._passes == before:
                    if not self._passed.wait(deadline - time.monotonic()):
                        return False
                if not self._owed:
                    return True
                if time.monotonic() >= deadline:
                    return False
                self._passed.wait(min(0.1, max(deadline - time.monotonic(), 0)))

    def shutdown(self, timeout_s: float) -> bool:
        """Try once more to send what is owed, then stop; True when nothing is owed any more."""
        self._until = time.monotonic() + timeout_s
        with self._lock:
            self._stopping = True
            thread = self._thread
        if thread is None:
            return True
        self._wake.set()
        thread.join(max(timeout_s, 0))
        return not self._owed and not thread.is_alive()

    def once(self, store: Store) -> bool:
        """Send what is owed now, in this thread, and return whether nothing is left."""
        with _without_spans():
            store.outbox.release(is_gone)
            for destination in self.destinations:
                self._pass(store, destination)
            return not self._still_owed(store)

    def _run(self) -> None:
        with _without_spans():
            store: Store | None = None
            while True:
                stopping = self._stopping
                try:
                    store = store or self._open()
                    for destination in self.destinations:
                        self._pass(store, destination)
                    self._owed = self._still_owed(store)
                except Exception:
                    logger.exception("otel-gate: the forwarder met a fault and goes on")
                    self._owed = True
                    store = None
                with self._passed:
                    self._passes += 1
                    self._passed.notify_all()
                if stopping:
                    break
                self._wake.wait(min(self._next_wait(), IDLE_S))
                self._wake.clear()
            for destination in self.destinations:
                destination.close()
            if store is not None:
                store.close()

    def _open(self) -> Store:
        store = self._open_store()
        store.outbox.release(is_gone)
        return store

    def _next_wait(self) -> float:
        paused = [until - time.monotonic() for until in self._paused_until.values()]
        return max(min(paused), 0.0) if paused and self._owed else IDLE_S

    def _still_owed(self, store: Store) -> bool:
        return any(store.outbox.owed(destination.name, self._owner) for destination in self.destinations)

    def _pass(self, store: Store, destination: Destination) -> None:
        if time.monotonic() < self._paused_until.get(destination.name, 0.0) and not self._stopping:
            return
        while time.monotonic() < self._until:
            now, lease_ns = store.now_ns(), int(LEASE_S * SECOND)
            claims = store.outbox.claim(destination.name, self._owner, now, lease_ns, CLAIMS, early=self._stopping)
            if not claims:
                return
            for parcels in _requests(self._parcels(store, destination, claims)):
                if not self._deliver(store, destination, parcels):
                    store.outbox.give_back(self._owner, destination.name)
                    return

    def _parcels(self, store: Store, destination: Destination, claims: list[Claim]) -> Iterator[_Parcel]:
        for claim in claims:
            kept = self._kept.pop((destination.name, claim.place), None)
            if kept is not None:
                self._kept_bytes -= len(kept[1])
                if claim.sent == 0 and kept[0] == claim.spans:
                    yield _Parcel(claim, kept[1], kept[0])
                    continue
            try:
                record = store.load(claim.place)
            except InputError as error:
                answer = Answer("rejected", claim.sent, code="unreadable", message=str(error))
                store.outbox.settle([(claim, answer)], self._owner, store.now_ns())
                continue
            yield _Parcel(claim, destination.pack(record.trace, claim.sent), len(record.spans))

    def _deliver(self, store: Store, destination: Destination, parcels: list[_Parcel]) -> bool:
        """Send one request; return False when the destination has to be left alone for a while."""
        timeout_s = min(SEND_S, self._until - time.monotonic())
        if timeout_s <= 0:
            return False
        result = destination.send([parcel.packed for parcel in parcels], timeout_s)
        if result.state == RETRY:
            self._pause(store, destination, parcels, result)
            return False
        if len(parcels) > 1 and result.state not in ("accepted", "accepted_unconfirmed"):
            if result.state == "partial":  # it may not be sent again; which traces it was, the answer does not say
                result = result._replace(code=f"{result.code} in batch of {len(parcels)}")
            else:
                store.outbox.extend(self._owner, destination.name, store.now_ns() + int(LEASE_S * SECOND))
                return all(self._deliver(store, destination, [parcel]) for parcel in parcels)
        self._waits.pop(destination.name, None)
        self._paused_until.pop(destination.name, None)
        self._settle(store, parcels, result)
        return True

    def _settle(self, store: Store, parcels: list[_Parcel], result: Result) -> None:
        sent = result.state in ("accepted", "accepted_unconfirmed", "partial")
        answers = [
            (parcel.claim, Answer(result.state, parcel.spans if sent else parcel.claim.sent, 0, result.code, result.message))
            for parcel in parcels
        ]
        store.outbox.settle(answers, self._owner, store.now_ns())

    def _pause(self, store: Store, destination: Destination, parcels: list[_Parcel], result: Result) -> None:
        wait_s = self._waits.get(destination.name, FIRST_WAIT_S)
        if wait_s == FIRST_WAIT_S:
            logger.warning(
                "otel-gate: destination %s is away (%s %s); what is owed to it stays in the outbox and is tried again",
                destination.name, result.code, result.message,
            )  # fmt: skip
        self._waits[destination.name] = min(wait_s * 2, MOST_WAIT_S)
        pause_s = max(result.wait_s, wait_s * random.uniform(0.5, 1.0))  # noqa: S311 - jitter, no secret
        self._paused_until[destination.name] = time.monotonic() + pause_s
        next_ns = store.now_ns() + int(pause_s * SECOND)
        answers = [
            (parcel.claim, Answer(PENDING, parcel.claim.sent, next_ns, result.code, result.message)) for parcel in parcels
        ]
        store.outbox.settle(answers, self._owner, store.now_ns())


class _without_spans:  # noqa: N801 - a context manager
    """Our own requests make no spans, whatever is instrumented."""

    def __enter__(self) -> None:
        values = context.set_value(_SUPPRESS_INSTRUMENTATION_KEY, True, context.set_value("suppress_instrumentation", True))  # noqa: FBT003
        self._token = context.attach(values)

    def __exit__(self, *_: object) -> None:
        context.detach(self._token)


def _requests(parcels: Iterator[_Parcel]) -> Iterator[list[_Parcel]]:
    request: list[_Parcel] = []
    size = 0
    for parcel in parcels:
        length = len(parcel.packed)
        if request and (size + length > REQUEST_BYTES or len(request) >= REQUEST_TRACES):
            yield request
            request, size = [], 0
        request.append(parcel)
        size += length
    if request:
        yield request
