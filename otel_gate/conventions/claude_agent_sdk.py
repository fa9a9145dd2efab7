"""Claude Agent SDK, by OpenInference: each message of a tool use becomes a span, named as the model names the tool."""

from __future__ import annotations

from otel_gate.conventions import openinference
from otel_gate.conventions.meaning import Convention

SCOPES = ("openinference.instrumentation.claude_agent_sdk*",)

CONVENTIONS = (Convention("claude_agent_sdk", openinference.recognise, SCOPES, openinference.SWITCH),)
