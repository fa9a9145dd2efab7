"""The span processor: it sees every start and every end, so it knows when a trace of this process is whole."""

from __future__ import annotations

import contextlib
from time import monotonic_ns, time_ns
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor

from otel_gate.otlp.text import scrubbed
from otel_gate.pipeline.lines import LAST_NS
from otel_gate.pipeline.messages import Ended, Refused, Started
from otel_gate.sdk.convert import Lines
from otel_gate.sdk.door import Door
from otel_gate.sdk.private import private

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry.context import Context

    from otel_gate.pipeline import Accounts


NOW_NS = 10_000_000
IN_PROCESS = "in this process"  # such a parent is never looked up


class GateSpanProcessor(SpanProcessor):
    """Gate the spans of this process: ``provider.add_span_processor(GateSpanProcessor(**settings))``.

    Settings are those of DESIGN section 7. Hooks never raise, never wait for a disk or a network. Put no
    ``BatchSpanProcessor`` in front: it drops children first.
    """

    def __init__(self, **settings: Any) -> None:
        """Take settings as keywords, else from ``OTEL_GATE_*``, a file, or the defaults.

        Raises:
            SettingsError: a keyword is unknown or has a value that it can't have.
        """
        self.door = Door("sdk", settings)
        self.at_first_root: Callable[[], None] | None = None
        self._pipeline = self.door.pipeline
        self._lines = Lines(self._pipeline.resources, self._pipeline.scopes, private(self._pipeline))

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:  # noqa: ARG002 - the SDK's form
        """Note that a span has started; a local root draws its run id here."""
        try:
            context, parent = span.get_span_context(), span.parent
            if context is None or not context.trace_flags & 1:
                self.door.unsampled += 1
                return
            run_id, parent_id, remote = "", IN_PROCESS, False
            if parent is None:
                run_id, parent_id = self.door.run_id_at_start(span), ""
            elif parent.is_remote:
                run_id, parent_id, remote = self.door.run_id_at_start(span), f"{parent.span_id:016x}", True
            span_id, start_ns = f"{context.span_id:016x}", span.start_time or 0
            by_clock = abs(time_ns() - start_ns) < NOW_NS  # else the agent has set it
            self._pipeline.began[span_id] = monotonic_ns() if by_clock else 0
            self._started(Started(f"{context.trace_id:032x}", span_id, span.name, start_ns, run_id, parent_id, remote))
            if parent is None and self.at_first_root is not None:
                look, self.at_first_root = self.at_first_root, None
                look()
        except Exception as error:  # noqa: BLE001 - a hook never raises into the agent
            self._fault("on_start", error)

    def on_end(self, span: ReadableSpan) -> None:
        """Encode an ended span and hand it to the worker."""
        try:
            context, parent = span.context, span.parent
            if not context.trace_flags & 1:
                return
            span_id, key = f"{context.span_id:016x}", f"{context.trace_id:032x}"
            began = self._pipeline.began.pop(span_id, None)
            if began is None and span_id in self._pipeline.inherited:  # the process that started it owns it
                return
            try:
                encoded = self._lines.encode(span, context, span_id, parent, began or 0)
                run_id = self.door.run_id_of(span) if parent is None or parent.is_remote else ""
            except Exception as error:  # noqa: BLE001 - the trace has to say that a span of it is missing
                self._fault("on_end", error)
                self._pipeline.put(Refused(key, span_id))
                return
            self._pipeline.put(Ended(key, span_id, encoded, parent is None, run_id))
        except Exception as error:  # noqa: BLE001
            self._fault("on_end", error)

    def _started(self, message: Started) -> None:
        name, start_ns = message.name, message.start_ns
        if type(name) is str and type(start_ns) is int and 0 <= start_ns <= LAST_NS:
            try:
                self._pipeline.put(message)
            except UnicodeEncodeError:
                pass
            else:
                return
        time = start_ns if type(start_ns) is int and 0 <= start_ns <= LAST_NS else 0
        self._pipeline.put(replace(message, name=scrubbed(str(name)), start_ns=time))

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Return True when what is complete has a record; the grace after a root's end is over at once."""
        try:
            return self._pipeline.flush(timeout_millis / 1000)
        except Exception as error:  # noqa: BLE001
            self._fault("force_flush", error)
            return False

    def shutdown(self, timeout_s: float | None = None) -> None:
        """Record everything and stop, within ``timeout_s`` seconds (10, and 2 for deliveries)."""
        try:
            self.door.shutdown(timeout_s)
        except Exception as error:  # noqa: BLE001
            self._fault("shutdown", error)

    def status(self) -> Accounts:
        """Return the accounts of the spans of this process."""
        return self.door.status()

    def _fault(self, hook: str, error: Exception) -> None:
        with contextlib.suppress(Exception):  # a logging handler may raise too
            self.door.fault(hook, error)
