"""AutoGen: its own spans never hold arguments; with OpenInference around them they do."""

from __future__ import annotations

from otel_gate.conventions import genai, openinference
from otel_gate.conventions.meaning import Convention

SWITCH = "AutoGen never records arguments: wrap the tool in otel_gate.tool_span"

BY_OPENINFERENCE = (
    Convention(
        "autogen_openinference", openinference.recognise, ("openinference.instrumentation.autogen*",),
        openinference.SWITCH,
    ),
)  # fmt: skip
BY_GENAI = (Convention("autogen", genai.recognise, ("autogen-core", "autogen_core*"), SWITCH),)
