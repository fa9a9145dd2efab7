"""A gateway until a signal ends it."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_gate.gateway.server import Gateway

logger = logging.getLogger("otel_gate")
SIGNALS = (signal.SIGTERM, signal.SIGINT)
COLLECT = (50_000, 20, 20)  # a request makes many objects and no cycles: looking for these often costs a tenth
SPARE_FILES = 512  # of the journal, the store, the forwarder


def serve(gateway: Gateway, told: Callable[[Gateway], None]) -> None:
    """Start a gateway, call ``told`` when it listens, and stop it cleanly at SIGTERM or SIGINT; a second one ends it.

    Raises:
        GateError: it can't be started.
    """
    _allow_files(gateway.options.max_connections)
    gc.freeze()
    gc.set_threshold(*COLLECT)
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(_serve(gateway, told))


def rehearse(gateway: Gateway) -> None:
    """Start a gateway as far as its doors, and undo it: nothing is left behind.

    Raises:
        GateError: it can't be started.
    """
    _allow_files(gateway.options.max_connections)
    asyncio.run(gateway.rehearse())


async def _serve(gateway: Gateway, told: Callable[[Gateway], None]) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def end(number: int, _frame: object) -> None:
        signal.signal(number, signal.SIG_DFL)
        loop.call_soon_threadsafe(stop.set)

    before = {number: signal.signal(number, end) for number in SIGNALS}
    try:
        await gateway.start()
        told(gateway)
        await stop.wait()
        await gateway.stop()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _allow_files(connections: int) -> None:
    """Let the process have as many open files as its connections, of both doors, may need."""
    try:
        import resource  # noqa: PLC0415 - there is none for Windows
    except ImportError:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * connections + SPARE_FILES
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    if allowed < wanted:
        logger.warning("otel-gate: %d connections a door need %d open files, the system allows %d; ulimit -n, or "
                       "--max-connections", connections, wanted, allowed)  # fmt: skip


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop  # noqa: PLC0415 - there is none for Windows
    except ImportError:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory
