"""What the examples share: the shop's one function, the three scenarios, and the command line.

``python agent.py SCENARIO --store DIR [--otlp FILE]``: ``ok`` calls the tool once, in ``fail`` the tool raises, in
``abandoned`` the caller drops the stream early. ``--otlp`` also writes every ended span to a file, as OTLP/JSON. The
variable ``EXAMPLE_ORDER_ID`` is another order: what it is stands in the arguments, the result and the exception, so a
search for it shows where they went. With ``EXAMPLE_DIES`` set, the process ends without a farewell, exit code 9, as
soon as a span that names the order has ended after the tool was called.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import time
from pathlib import Path
from typing import Any, Literal, NamedTuple

ARGUMENTS: dict[str, Any] = {"order_id": os.environ.get("EXAMPLE_ORDER_ID", "A-1"), "include_items": True}
QUESTION = "Where is order A-1?"
ANSWER = "Order A-1 was shipped yesterday."
TOOLS = Path(__file__).parents[2] / "tools"


class OrderNotFoundError(Exception):
    """What the tool raises in the scenario ``fail``."""


class Scenario(NamedTuple):
    """What an example was asked to do, and the folder that its records go to."""

    name: Literal["ok", "fail", "abandoned"]
    store: Path

    def look_up(self, order_id: str, *, include_items: bool) -> str:
        """Look up an order in a shop that has one.

        Raises:
            OrderNotFoundError: in the scenario ``fail``.
        """
        if "EXAMPLE_DIES" in os.environ:
            _die_with_the_tool(self.store, order_id)
        if self.name == "fail":
            message = f"no order {order_id}"
            raise OrderNotFoundError(message)
        return f"order {order_id} was shipped" + (": 2 cups" if include_items else "")


def _die_with_the_tool(store: Path, order_id: str) -> None:
    """End the process when a span that names the order ends, and the gate, which is asked first, has seen it.

    The gate's journal is waited for: it is opened beside the run, and a scripted run may be over before.
    """
    from opentelemetry import trace
    from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider

    class Last(SpanProcessor):
        def on_end(self, span: ReadableSpan) -> None:
            if order_id in span.to_json():
                os._exit(9)

    deadline = time.monotonic() + 10
    while not any(path.stat().st_size for path in store.glob("journal/*/*.segment")) and time.monotonic() < deadline:
        time.sleep(0.01)
    provider = trace.get_tracer_provider()
    if isinstance(provider, TracerProvider):
        provider.add_span_processor(Last())


def scenario() -> Scenario:
    """Read the command line; with ``--otlp``, record what the providers of this process see from now on."""
    parser = argparse.ArgumentParser()
    parser.add_argument("scenario", choices=("ok", "fail", "abandoned"))
    parser.add_argument("--store", type=Path, default=Path(".otel-gate"))
    parser.add_argument("--otlp", type=Path)
    given = parser.parse_args()
    if given.otlp is not None:
        sys.path.append(str(TOOLS))
        importlib.import_module("record_trace").record(given.otlp)
    return Scenario(given.scenario, given.store)
