"""The forwarder: from one store to destinations, each with a courier of its own.

After a fork the child starts anew; what the parent had leased is the parent's.
"""

from __future__ import annotations

import contextlib
import os
import time
from typing import TYPE_CHECKING

from otel_gate.forward.courier import Courier
from otel_gate.forward.kept import Kept

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from otel_gate.core.model import Record
    from otel_gate.forward.destination import Destination
    from otel_gate.store import Saved, Store


def well_formed(record: Record) -> bool:
    """Tell whether a record may leave when nothing else is said."""
    return record.verdict.shape_ok


class Forwarder:
    """Sends from one store to destinations. ``saved`` may be called from any thread and never waits.

    With ``since_ns`` only traces that started then or later are sent.
    """

    def __init__(
        self, to: Sequence[Destination], open_store: Callable[[], Store], *,
        forwardable: Callable[[Record], bool] = well_formed, clock: Callable[[], float] = time.monotonic,
        since_ns: int = 0,
    ) -> None:  # fmt: skip
        """Start with nothing; threads start with the first record, or with ``start``."""
        self.destinations = tuple(to)
        self._open_store, self._forwardable, self._clock, self._since_ns = open_store, forwardable, clock, since_ns
        self._reset()

    def _reset(self) -> None:
        self._pid, self._kept = os.getpid(), Kept()
        self.couriers = [
            Courier(to, self._open_store, self._kept, self._clock, self._forwardable, since_ns=self._since_ns)
            for to in self.destinations
        ]

    def saved(self, group: Sequence[Saved]) -> None:
        """Take notice of records that are in the outbox now; each thread is woken once for all of them."""
        self._after_fork()
        owed = [saved for saved in group if self._forwardable(saved.record)]
        for record, place, *_ in owed:
            for destination in self.destinations:
                with contextlib.suppress(Exception):  # it is packed again, and answered for, when it is sent
                    packed = destination.pack(record.trace, 0)
                    if isinstance(packed, bytes):
                        self._kept.put(destination.name, place, len(record.spans), packed)
        self.start()
        if owed:
            self._wake()

    def start(self) -> None:
        """Start the threads that do not run yet, or not any more."""
        self._after_fork()
        for courier in self.couriers:
            courier.start()

    def flush(self, timeout_s: float) -> bool:
        """Return True when nothing is owed any more, False when ``timeout_s`` seconds were not enough."""
        deadline = time.monotonic() + timeout_s
        self.start()
        self._wake()
        return all(courier.flush(deadline - time.monotonic()) for courier in self.couriers)

    def shutdown(self, timeout_s: float) -> bool:
        """Try once more to send what is owed, then stop; True when nothing is owed any more.

        A record that still comes later starts the threads again.
        """
        deadline = time.monotonic() + timeout_s
        self._after_fork()
        leaving = [courier.leave(timeout_s) for courier in self.couriers]
        return False not in [left(deadline - time.monotonic()) for left in leaving]

    def once(self, store: Store) -> bool:
        """Send what is owed now, in this thread, and return whether nothing is left."""
        self._after_fork()
        return False not in [courier.once(store) for courier in self.couriers]

    def _wake(self) -> None:
        for courier in self.couriers:
            courier.wake()

    def _after_fork(self) -> None:
        if self._pid != os.getpid():  # threads and connections stayed with the parent
            self._reset()
            for destination in self.destinations:
                destination.after_fork()
