"""``install``: the gate in an agent's OTel set-up, in one line; and what else in that set-up passes it by."""

from __future__ import annotations

import logging
import weakref
from functools import partial
from typing import TYPE_CHECKING, Any

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider

from otel_gate.sdk.processor import GateSpanProcessor

if TYPE_CHECKING:
    from otel_gate.pipeline import Accounts

logger = logging.getLogger("otel_gate")
_gates: weakref.WeakKeyDictionary[Any, Gate] = weakref.WeakKeyDictionary()


class Gate:
    """A handle on an installed gate."""

    def __init__(self, processor: GateSpanProcessor) -> None:
        """Hold the processor that was added."""
        self.processor = processor

    def flush(self, timeout_s: float = 30.0) -> bool:
        """Record what is complete and deliver what is owed; False when ``timeout_s`` seconds were not enough."""
        return self.processor.door.flush(timeout_s)

    def shutdown(self, timeout_s: float | None = None) -> bool:
        """Record everything, try once to deliver what is owed, and stop; False when there was not enough time."""
        return self.processor.door.shutdown(timeout_s)

    def status(self) -> Accounts:
        """Return the accounts of the spans of this process."""
        return self.processor.status()


def install(**settings: Any) -> Gate:
    """Put the gate into the global tracer provider, making one when none is set yet, and return a handle.

    Settings are those of DESIGN section 7. After this, an application's own ``set_tracer_provider`` is ignored by the
    SDK: where the application makes its own provider, call ``install`` afterwards. A second call on one provider
    returns the first handle.

    Raises:
        SettingsError: a keyword is unknown or has a value that it can't have.
    """
    provider = trace.get_tracer_provider()
    if isinstance(provider, trace.ProxyTracerProvider):
        provider = TracerProvider()
        trace.set_tracer_provider(provider)
    gate = _gates.get(provider)
    if gate is not None:
        logger.warning("otel-gate: this provider has a gate already; its settings stay")
        return gate
    gate = _gates[provider] = Gate(GateSpanProcessor(**settings))
    add = getattr(provider, "add_span_processor", None)
    if add is None:
        kind = type(provider).__name__
        logger.error("otel-gate: the tracer provider (%s) takes no span processors; the gate sees nothing", kind)
        return gate
    named: set[str] = set()
    _warn(provider, named)
    gate.processor.at_first_root = partial(_warn, provider, named)
    add(gate.processor)
    return gate


def _warn(provider: Any, named: set[str]) -> None:
    """Name what passes the gate by, each once: when the gate is installed, and when the first run begins."""
    for name in bypasses(provider):
        if name not in named:
            named.add(name)
            logger.warning(
                "otel-gate: %s sits in the same tracer provider: its spans leave without passing the gate. Remove it "
                "(with the OpenTelemetry distro: OTEL_TRACES_EXPORTER=none), the gate forwards by itself",
                name,
            )


def bypasses(provider: Any) -> list[str]:
    """Name the processors of a provider that export spans past the gate."""
    multi = getattr(provider, "_active_span_processor", None)
    processors = getattr(multi, "_span_processors", ())
    named = []
    for processor in processors:
        exporter = getattr(processor, "span_exporter", None)
        exports = exporter is not None or "Export" in type(processor).__name__
        if exports and type(exporter).__name__ != "GateSpanExporter" and not isinstance(processor, GateSpanProcessor):
            inner = f" with {type(exporter).__name__}" if exporter is not None else ""
            named.append(type(processor).__name__ + inner)
    return named
