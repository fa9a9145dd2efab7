"""The doors inside the agent's process: a span processor, a span exporter, ``install`` and ``tool_span``."""

from otel_gate.sdk.exporter import GateSpanExporter
from otel_gate.sdk.processor import GateSpanProcessor
from otel_gate.sdk.provider import Gate, install
from otel_gate.sdk.tool import tool_span

__all__ = ["Gate", "GateSpanExporter", "GateSpanProcessor", "install", "tool_span"]
