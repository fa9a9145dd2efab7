"""A small agent, with no model and no network: one run that is well-formed, and five that go wrong as runs do."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from opentelemetry import trace
from opentelemetry.trace import NonRecordingSpan, SpanContext, Status, StatusCode, TraceFlags

import otel_gate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from opentelemetry.trace import Tracer

ORDERS = {"A-1": "shipped"}


def good_run(tracer: Tracer) -> None:
    """Look an order up, fail once with evidence, and answer."""
    with tracer.start_as_current_span("agent.run"):
        with otel_gate.tool_span("lookup_order", {"order_id": "A-1"}) as span:
            span.set_attribute("order.state", ORDERS["A-1"])
        try:
            with otel_gate.tool_span("lookup_order", {"order_id": "B-2"}):
                ORDERS["B-2"]
        except KeyError:
            pass
        with tracer.start_as_current_span("chat"):
            pass


def tool_without_hash(tracer: Tracer) -> None:
    """Call a tool through a hand-made span that forgot the hash of its arguments."""
    with tracer.start_as_current_span("agent.run"), tracer.start_as_current_span("tool.search") as span:
        span.set_attribute("tool.name", "search")


def error_without_type(tracer: Tracer) -> None:
    """Fail without saying how: the status is an error, and nothing else is known."""
    with tracer.start_as_current_span("agent.run"), tracer.start_as_current_span("chat") as span:
        span.set_status(Status(StatusCode.ERROR))


def two_roots(tracer: Tracer) -> None:
    """Enter one trace of another process twice, as a retried request does."""
    caller = SpanContext(0x0AF7651916CD43DD8448EB211C80319C, 0xB7AD6B7169203331, True, TraceFlags(1))  # noqa: FBT003
    from_outside = trace.set_span_in_context(NonRecordingSpan(caller))
    for _ in range(2):
        tracer.start_span("agent.run", from_outside).end()


def late_child(tracer: Tracer) -> None:
    """Leave a task behind that starts its span when the run is over and recorded."""
    provider: Any = trace.get_tracer_provider()

    async def run() -> None:
        recorded = asyncio.Event()

        async def remember() -> None:
            await recorded.wait()
            with otel_gate.tool_span("remember", {"what": "the answer"}):
                pass

        with tracer.start_as_current_span("agent.run"):
            task = asyncio.create_task(remember())
        await asyncio.to_thread(provider.force_flush)
        recorded.set()
        await task

    asyncio.run(run())


def crash(environ: Mapping[str, str]) -> None:
    """Die of an exception, in a process of its own, while the run is open."""
    code = "from otel_gate.cli.demo.agent import crashing; crashing()"
    subprocess.run([sys.executable, "-c", code], env=dict(environ), stderr=subprocess.DEVNULL, check=False)  # noqa: S603


def crashing() -> None:
    """Be the crashing process: its root never ends."""
    otel_gate.install()
    tracer = trace.get_tracer("demo.agent")
    root = tracer.start_span("agent.run")
    with trace.use_span(root, end_on_exit=False), otel_gate.tool_span("lookup_order", {"order_id": "A-1"}):
        pass
    message = "out of luck"
    raise RuntimeError(message)


SCENES: tuple[tuple[str, Callable[[Tracer], None]], ...] = (
    ("a good run", good_run),
    ("a tool span without its hash", tool_without_hash),
    ("an error without a type", error_without_type),
    ("two roots", two_roots),
    ("a late child", late_child),
)
CRASH = "a crash with an open root"
