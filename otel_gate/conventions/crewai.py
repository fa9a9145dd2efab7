"""CrewAI, by OpenInference (wrappers or event listener) and OpenLLMetry: each retry of a call is a span of its own.

OpenLLMetry and OpenInference's wrappers export no span for a tool that ran.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.conventions import genai, openinference, openllmetry
from otel_gate.conventions.meaning import Convention, Meaning
from otel_gate.conventions.run_ids import identifier

if TYPE_CHECKING:
    from otel_gate.conventions.meaning import Seen

CREWS = ("crew_id", "flow_id", "kickoff_id")


def by_openinference(seen: Seen) -> Meaning | None:
    """Read a span by its kind, and the id of its crew."""
    meaning, crew = openinference.recognise(seen), identifier(seen, *CREWS)
    return (meaning or Meaning())._replace(conversation=crew) if crew.value else meaning


def by_openllmetry(seen: Seen) -> Meaning | None:
    """Read a span that names its operation, and the id of its crew."""
    meaning, crew = genai.recognise(seen), identifier(seen, "crewai.crew.id")
    return (meaning or Meaning())._replace(conversation=crew) if crew.value else meaning


BY_OPENINFERENCE = (
    Convention(
        "crewai",
        by_openinference,
        ("openinference.instrumentation.crewai*",),
        openinference.SWITCH,
        covers=(openinference.recognise,),
    ),
)
BY_GENAI = (
    Convention(
        "crewai_openllmetry",
        by_openllmetry,
        ("opentelemetry.instrumentation.crewai*",),
        openllmetry.SWITCH,
        covers=(genai.recognise,),
    ),
)
