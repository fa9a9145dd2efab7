"""Microsoft's Agent Framework: the GenAI conventions, content off by default."""

from __future__ import annotations

from otel_gate.conventions import genai
from otel_gate.conventions.meaning import Convention

SWITCH = "ENABLE_SENSITIVE_DATA=true"

CONVENTIONS = (Convention("agent_framework", genai.recognise, ("agent_framework*",), SWITCH),)
