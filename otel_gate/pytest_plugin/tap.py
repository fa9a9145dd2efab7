"""A span processor that hands the spans of a test to its fixture, and sees nothing between tests.

A provider can't give a processor back: each gets one tap, once.
"""

from __future__ import annotations

import contextlib
import weakref
from typing import TYPE_CHECKING, Any, Protocol

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, TracerProvider

from otel_gate.errors import UsageError

if TYPE_CHECKING:
    from opentelemetry.context import Context

_taps: weakref.WeakKeyDictionary[Any, Tap] = weakref.WeakKeyDictionary()


class Sink(Protocol):
    """Who takes spans."""

    def started(self, span: Span) -> None:
        """Take notice of a span that begins."""

    def ended(self, span: ReadableSpan) -> None:
        """Take a span that has ended."""


class Tap(SpanProcessor):
    """Passes spans on to the sinks that listen now."""

    def __init__(self) -> None:
        """Begin with nobody listening."""
        self.sinks: list[Sink] = []

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:  # noqa: ARG002 - the SDK's form
        """Pass on a span that begins."""
        for sink in tuple(self.sinks):
            with contextlib.suppress(Exception):  # a hook never raises into the agent
                sink.started(span)

    def on_end(self, span: ReadableSpan) -> None:
        """Pass on a span that has ended."""
        for sink in tuple(self.sinks):
            with contextlib.suppress(Exception):
                sink.ended(span)


def tap(provider: Any) -> Tap:
    """Return the tap of a provider.

    Raises:
        UsageError: it is none that takes span processors.
    """
    found = _taps.get(provider)
    if found is None:
        add = getattr(provider, "add_span_processor", None)
        if add is None:
            expected, try_ = "a tracer provider that takes span processors", "otel_gate.watch(provider) with the SDK's"
            raise UsageError("otel_gate", expected, type(provider).__name__, try_)
        found = _taps[provider] = Tap()
        add(found)
    return found


def global_provider() -> Any:
    """Return the global tracer provider, made when none is set yet."""
    provider = trace.get_tracer_provider()
    if isinstance(provider, trace.ProxyTracerProvider):
        provider = TracerProvider()
        trace.set_tracer_provider(provider)
    return provider
