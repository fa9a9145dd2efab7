"""The forwarder: a thread that makes deliveries when there is something to deliver, to a deadline at the end.

It is woken by a record, by ``flush`` and ``shutdown``, and by time: a destination that was away, what another process
left behind. A fault of the store, or of anything else, is said once, and the next round starts anew with a fresh store.
After a fork the child starts anew, too; what the parent had leased is the parent's.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from typing import TYPE_CHECKING

from opentelemetry import context
from opentelemetry.context import _SUPPRESS_INSTRUMENTATION_KEY

from otel_gate.forward.deliveries import Deliveries
from otel_gate.forward.kept import Kept
from otel_gate.forward.owner import is_gone, new_owner

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from otel_gate.core.model import Record
    from otel_gate.forward.destination import Destination
    from otel_gate.store import Saved, Store

logger = logging.getLogger("otel_gate")
IDLE_S, FLUSH_STEP_S = 5.0, 0.1


def well_formed(record: Record) -> bool:
    """Tell whether a record may leave when nothing else is said."""
    return record.verdict.shape_ok


class Forwarder:
    """Sends from one store to destinations. ``saved`` may be called from any thread and never waits."""

    def __init__(
        self, to: Sequence[Destination], open_store: Callable[[], Store], *,
        forwardable: Callable[[Record], bool] = well_formed, clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        """Start with nothing; the thread starts with the first record, or with ``start``."""
        self.destinations = tuple(to)
        self._open_store, self._forwardable, self._clock = open_store, forwardable, clock
        self._reset()

    def _reset(self) -> None:
        self._pid = os.getpid()
        self._owner, self._kept = new_owner(), Kept()
        self._deliveries = Deliveries(self.destinations, self._owner, self._kept, self._clock, self._forwardable)
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._passed = threading.Condition()
        self._asked = self._answered = 0
        self._stopping = self._owed = self._faulty = False

    def saved(self, group: Sequence[Saved]) -> None:
        """Take notice of records that are in the outbox now; the thread is woken once for all of them."""
        self._after_fork()
        owed = [saved for saved in group if self._forwardable(saved.record)]
        for record, place, _ in owed:
            for destination in self.destinations:
                with contextlib.suppress(Exception):  # it is packed again, and answered for, when it is sent
                    packed = destination.pack(record.trace, 0)
                    if isinstance(packed, bytes):
                        self._kept.put(destination.name, place, len(record.spans), packed)
        self.start()
        if owed:
            self._wake.set()

    def start(self) -> None:
        """Start the thread when it does not run yet, or not any more."""
        self._after_fork()
        with self._lock:
            if not self._stopping and (self._thread is None or not self._thread.is_alive()):
                thread = threading.Thread(target=self._run, name="otel-gate-forward", daemon=True)
                with contextlib.suppress(RuntimeError):  # the interpreter is going down: it stays owed
                    thread.start()
                    self._thread = thread

    def flush(self, timeout_s: float) -> bool:
        """Return True when nothing is owed any more, False when ``timeout_s`` seconds were not enough."""
        deadline = time.monotonic() + timeout_s
        self.start()
        with self._passed:
            while not self._stopping:
                asked = self._asked = self._asked + 1
                self._wake.set()
                if not self._passed.wait_for(lambda: self._answered >= asked, deadline - time.monotonic()):  # noqa: B023
                    return False
                if not self._owed:
                    return True
                self._passed.wait(min(FLUSH_STEP_S, max(deadline - time.monotonic(), 0.0)))
        return not self._owed

    def shutdown(self, timeout_s: float) -> bool:
        """Try once more to send what is owed, then stop; True when nothing is owed any more.

        A record that still comes later starts the thread again.
        """
        self._after_fork()
        with self._lock:
            thread, late = self._thread, self._stopping
            self._stopping = True
        if thread is None:
            self._stopping = False
            return True
        if late:  # it had its time, and is still at it
            return False
        self._deliveries.until, self._deliveries.last = self._clock() + timeout_s, True
        self._wake.set()
        thread.join(max(timeout_s, 0.0))
        if thread.is_alive():
            return False
        self._deliveries.until, self._deliveries.last = float("inf"), False
        self._thread, self._stopping = None, False
        return not self._owed

    def once(self, store: Store) -> bool:
        """Send what is owed now, in this thread, and return whether nothing is left."""
        self._after_fork()
        with _without_spans():
            store.outbox.release(self._is_free)
            self._deliveries.make(store)
            return not self._deliveries.owed(store)

    def _after_fork(self) -> None:
        if self._pid != os.getpid():  # threads and connections stayed with the parent
            self._reset()
            for destination in self.destinations:
                destination.after_fork()

    def _run(self) -> None:
        with _without_spans():
            store: Store | None = None
            stopping = False
            while not stopping:
                stopping, asked = self._stopping, self._asked
                store, owed = self._round(store)
                with self._passed:
                    self._owed, self._answered = owed, asked
                    self._passed.notify_all()
                if not stopping:
                    self._wake.wait(min(self._deliveries.wait_s(IDLE_S), IDLE_S) if owed else IDLE_S)
                    self._wake.clear()
            self._close(store)

    def _round(self, store: Store | None) -> tuple[Store | None, bool]:
        """Make one round with a store, or with a fresh one, and return it; None after a fault."""
        try:
            if store is None:
                store = self._open_store()
                store.outbox.release(self._is_free)
            self._deliveries.make(store)
            owed = self._deliveries.owed(store)
        except Exception:
            if not self._faulty:
                logger.exception("otel-gate: the forwarder met a fault; what is owed stays in the outbox, it goes on")
            self._faulty = True
            if store is not None:
                with contextlib.suppress(Exception):
                    store.close()
            return None, True
        self._faulty = False
        return store, owed

    def _is_free(self, owner: str) -> bool:
        """Tell whether what an owner has leased is nobody's: between two rounds, ours is left from a fault."""
        return owner == self._owner or is_gone(owner)

    def _close(self, store: Store | None) -> None:
        for destination in self.destinations:
            try:
                destination.close()
            except Exception:
                logger.exception("otel-gate: destination %s met a fault while it was closed", destination.name)
        if store is not None:
            store.close()


class _without_spans:  # noqa: N801 - a context manager
    """Our own requests make no spans, whatever is instrumented."""

    def __enter__(self) -> None:
        values = context.get_current()
        for key in (_SUPPRESS_INSTRUMENTATION_KEY, "suppress_instrumentation"):
            values = context.set_value(key, True, values)  # noqa: FBT003
        self._token = context.attach(values)

    def __exit__(self, *_: object) -> None:
        context.detach(self._token)
