"""OpenAI Agents, by OpenInference, OpenLLMetry and both of OpenTelemetry's packages.

OpenInference marks a handoff to another agent as a tool; it is none, and known by its span's name alone. OpenLLMetry
and OpenTelemetry's older package share a scope.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.conventions import genai, openinference, openllmetry
from otel_gate.conventions.meaning import Convention, Meaning

if TYPE_CHECKING:
    from otel_gate.conventions.meaning import Seen

HANDOFF = "handoff to "
SENSITIVE = "RunConfig(trace_include_sensitive_data=True)"
SHARED = "opentelemetry.instrumentation.openai_agents"


def by_openinference(seen: Seen) -> Meaning | None:
    """Read a span by its kind, unless it is a handoff."""
    meaning = openinference.recognise(seen)
    if meaning is not None and meaning.operation == "tool" and seen.span.name.startswith(HANDOFF):
        return Meaning("other", conversation=meaning.conversation)
    return meaning


def by_openllmetry(seen: Seen) -> Meaning | None:
    """Read a span that names its operation and bears the mark of OpenLLMetry."""
    return genai.recognise(seen) if openllmetry.KIND in seen.span.attributes else None


BY_OPENINFERENCE = (
    Convention(
        "openai_agents_openinference", by_openinference,
        ("openinference.instrumentation.openai_agents*", "@arizeai/openinference-instrumentation-openai-agents*"),
        f"{SENSITIVE}, {openinference.SWITCH}", covers=(openinference.recognise,),
    ),
)  # fmt: skip
BY_GENAI = (
    Convention("openai_agents_openllmetry", by_openllmetry, (SHARED,), f"{openllmetry.SWITCH}, {SENSITIVE}"),
    Convention(
        "openai_agents", genai.recognise,
        (SHARED, f"{SHARED}_v2*", "opentelemetry.instrumentation.genai.openai_agents*"), f"{genai.SWITCH}, {SENSITIVE}",
    ),
)  # fmt: skip
