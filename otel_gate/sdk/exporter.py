"""The span exporter, for set-ups that take exporters only (``OTEL_TRACES_EXPORTER=otel_gate``, declarative files).

Behind a batch processor a trace arrives in pieces, and what that processor dropped is never seen: the trace is put
together by quiet time, and its record says so.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from otel_gate.core.model import Note
from otel_gate.pipeline.messages import Arrived, Refused
from otel_gate.sdk.convert import Lines
from otel_gate.sdk.door import Door
from otel_gate.sdk.private import private

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opentelemetry.sdk.trace import ReadableSpan

    from otel_gate.pipeline import Accounts

BEHIND = Note("behind_exporter", 1, "assembled by quiet time: spans that a batch processor dropped are not seen")


class GateSpanExporter(SpanExporter):
    """Gate what a simple or batch span processor exports. Without arguments it is configured by the environment."""

    def __init__(self, **settings: Any) -> None:
        """Take settings as keywords, else from ``OTEL_GATE_*``, a file, or the defaults.

        Raises:
            SettingsError: a keyword is unknown or has a value that it can't have.
        """
        self.door = Door("exporter", settings, (BEHIND,))
        self._lines = Lines(self.door.pipeline.resources, self.door.pipeline.scopes, private(self.door.pipeline))

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Take a batch; SUCCESS means that every span of it is accounted for."""
        try:
            for span in spans:
                self._take(span)
        except Exception as error:  # noqa: BLE001 - a hook never raises into the agent
            self._fault("export", error)
            return SpanExportResult.FAILURE
        return SpanExportResult.SUCCESS

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Return True when every trace whose root has arrived has a record."""
        try:
            return self.door.pipeline.flush(timeout_millis / 1000)
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
        """Return the accounts of the spans that were exported to this gate."""
        return self.door.status()

    def _take(self, span: ReadableSpan) -> None:
        context, parent = span.context, span.parent
        span_id, key, root = f"{context.span_id:016x}", f"{context.trace_id:032x}", parent is None or parent.is_remote
        pipeline = self.door.pipeline
        try:
            encoded = self._lines.encode(span, context, span_id, parent)
            run_id = (self.door.run_id_of(span) or self.door.draw()) if root else ""
        except Exception as error:  # noqa: BLE001 - the trace has to say that a span of it is missing
            self._fault("export", error)
            pipeline.put(Refused(key, span_id))
            return
        pipeline.put(Arrived(key, span_id, encoded, root, run_id))

    def _fault(self, hook: str, error: Exception) -> None:
        with contextlib.suppress(Exception):  # a logging handler may raise too
            self.door.fault(hook, error)
