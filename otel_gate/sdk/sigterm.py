"""SIGTERM: a supervisor asks a process to end, and by default it would end with every span open.

When a door is made in the main thread, a handler is put in front of what was there, once for all doors:

- the default action: everything is recorded first (what waits in front of an exporter of ours is fetched before), then
  the process ends by the signal, as it would have;
- a handler of the application: what is complete is recorded first, then that handler decides what happens;
- ignored, or handled by something that is not Python: it stays so.

What always holds: the main thread waits, and a thread of its own does the work. A lock that the main thread held when
the signal came (of logging, of an event) can so delay the end, for a bounded time, but never prevent it. What has no
record by then is in the journal.
"""

from __future__ import annotations

import _thread
import contextlib
import signal
import threading
import weakref
from typing import TYPE_CHECKING, Any

from opentelemetry import trace

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_gate.sdk.door import Door

LAST_S, FAREWELL_S, FLUSH_S, HURRY_S = 5.0, 2.0, 1.0, 1.0
_doors: weakref.WeakSet[Door] = weakref.WeakSet()


class Handler:
    """What SIGTERM calls, in the main thread, in front of what it called before."""

    def __init__(self, before: Any) -> None:
        """Stand in front of ``before``."""
        self._before, self._busy = before, False

    def __call__(self, number: int, frame: Any) -> None:
        """Record, then go on as without us. While the first signal is answered, a second one changes nothing."""
        if callable(self._before):
            self._answer(_flush, FLUSH_S)
            self._before(number, frame)
        elif self._answer(_close, LAST_S):
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)

    def _answer(self, work: Callable[[list[Door]], None], timeout_s: float) -> bool:
        if self._busy:
            return False
        self._busy = True
        try:
            _elsewhere(lambda: work(list(_doors)), timeout_s)
        finally:
            self._busy = False
        return True


def watch(door: Door) -> None:
    """Let the handler look after a door; put it in when this is the main thread and ours is not the one that is there.

    A door that is closed, or just being closed, may still have something to record.
    """
    _doors.add(door)
    if threading.current_thread() is not threading.main_thread():
        return
    before = signal.getsignal(signal.SIGTERM)
    if before is None or before == signal.SIG_IGN or isinstance(before, Handler):
        return
    with contextlib.suppress(ValueError):  # a subinterpreter has no signals
        signal.signal(signal.SIGTERM, Handler(before))


def _flush(doors: list[Door]) -> None:
    _each(doors, lambda door: door.pipeline.flush(FLUSH_S))


def _close(doors: list[Door]) -> None:
    if any(door.pipeline.policy.door == "exporter" for door in doors):
        _elsewhere(_hurry, HURRY_S)
    _each(doors, lambda door: door.pipeline.shutdown(LAST_S))  # of all, before a collector of one takes its time
    _each(doors, lambda door: door.forwarder is None or door.forwarder.shutdown(FAREWELL_S))


def _each(doors: list[Door], work: Callable[[Door], object]) -> None:
    """Do something for every door; a fault of one is counted there, and is not its neighbours'."""
    for door in doors:
        try:
            work(door)
        except Exception as error:  # noqa: BLE001 - the process ends as it would have
            door.fault("SIGTERM", error)


def _hurry() -> None:
    """Have what waits in a batch processor in front of an exporter exported."""
    flush = getattr(trace.get_tracer_provider(), "force_flush", None)
    if flush is not None:
        flush(int(HURRY_S * 1000))


def _elsewhere(work: Callable[[], None], timeout_s: float) -> None:
    """Run something in another thread and wait for it, so long at most.

    ``threading`` has locks of its own, one of which the main thread may be holding.
    """
    done = _thread.allocate_lock()
    done.acquire()

    def run() -> None:
        with contextlib.suppress(Exception):
            work()
        done.release()

    with contextlib.suppress(RuntimeError):  # the interpreter is on its way out, and has recorded already
        _thread.start_new_thread(run, ())
        done.acquire(timeout=timeout_s)
