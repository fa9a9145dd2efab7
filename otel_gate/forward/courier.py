"""A courier: the thread that makes the deliveries of one destination, to a deadline at the end.

It is woken by a record, by ``flush`` and ``leave``, and by time: a destination that was away, what another process left
behind. A fault of the store, or of anything else, is said once, and the next round starts anew with a fresh store. One
thread a destination: one that hangs holds up no other.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from functools import partial
from typing import TYPE_CHECKING

from opentelemetry import context
from opentelemetry.context import _SUPPRESS_INSTRUMENTATION_KEY

from otel_gate.forward.deliveries import Deliveries
from otel_gate.store.owner import is_gone, new_owner

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_gate.core.model import Record
    from otel_gate.forward.destination import Destination
    from otel_gate.forward.kept import Kept
    from otel_gate.store import Store

logger = logging.getLogger("otel_gate")
IDLE_S, FLUSH_STEP_S = 5.0, 0.1


class Courier:
    """Sends from one store to one destination."""

    def __init__(  # noqa: PLR0913
        self, to: Destination, open_store: Callable[[], Store], kept: Kept, clock: Callable[[], float],
        forwardable: Callable[[Record], bool], *, since_ns: int,
    ) -> None:  # fmt: skip
        """Start with nothing; the thread starts with ``start``."""
        self.owner = new_owner()
        self.deliveries = Deliveries(to, self.owner, kept, clock, forwardable, since_ns=since_ns)
        self._to, self._open_store, self._clock = to, open_store, clock
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._passed = threading.Condition()
        self._asked = self._answered = 0
        self._stopping = self._owed = self._faulty = False

    def start(self) -> None:
        """Start the thread when it does not run yet, or not any more."""
        with self._lock:
            if not self._stopping and (self._thread is None or not self._thread.is_alive()):
                thread = threading.Thread(target=self._run, name=f"otel-gate-forward {self._to.name}", daemon=True)
                with contextlib.suppress(RuntimeError):  # the interpreter is going down: it stays owed
                    thread.start()
                    self._thread = thread

    def wake(self) -> None:
        """Let the thread look for what is owed."""
        self._wake.set()

    def flush(self, timeout_s: float) -> bool:
        """Return True when nothing is owed any more, False when ``timeout_s`` seconds were not enough."""
        deadline = time.monotonic() + timeout_s
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

    def leave(self, timeout_s: float) -> Callable[[float], bool]:
        """Let the thread try once more to send what is owed, in ``timeout_s`` seconds, and then stop.

        What is returned waits for that, so many seconds at most, and tells whether nothing is owed any more.
        """
        with self._lock:
            thread, late = self._thread, self._stopping
            self._stopping = thread is not None
        if thread is None or late:  # nothing to do, or it had its time and is still at it
            return lambda _: thread is None
        self.deliveries.until, self.deliveries.last = self._clock() + timeout_s, True
        self._wake.set()
        return partial(self._left, thread)

    def once(self, store: Store) -> bool:
        """Send what is owed now, in this thread, and return whether nothing is left."""
        with _without_spans():
            store.outbox.release(self._is_free)
            self.deliveries.make(store)
            return not self.deliveries.owed(store)

    def _left(self, thread: threading.Thread, timeout_s: float) -> bool:
        thread.join(max(timeout_s, 0.0))
        if thread.is_alive():
            return False
        self.deliveries.until, self.deliveries.last = float("inf"), False
        self._thread, self._stopping = None, False
        return not self._owed

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
                    self._wake.wait(min(self.deliveries.wait_s(IDLE_S), IDLE_S) if owed else IDLE_S)
                    self._wake.clear()
            self._close(store)

    def _round(self, store: Store | None) -> tuple[Store | None, bool]:
        """Make one round with a store, or with a fresh one, and return it; None after a fault."""
        try:
            if store is None:
                store = self._open_store()
                store.outbox.release(self._is_free)
            self.deliveries.make(store)
            owed = self.deliveries.owed(store)
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
        return owner == self.owner or is_gone(owner)

    def _close(self, store: Store | None) -> None:
        try:
            self._to.close()
        except Exception:
            logger.exception("otel-gate: destination %s met a fault while it was closed", self._to.name)
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
