"""AG2's ``TelemetryMiddleware``: the GenAI conventions, with a switch of its own."""

from __future__ import annotations

from otel_gate.conventions import genai
from otel_gate.conventions.meaning import Convention

SWITCH = "TelemetryMiddleware(capture_content=True)"
CONVENTIONS = (Convention("ag2", genai.recognise, ("opentelemetry.instrumentation.ag2",), SWITCH),)
