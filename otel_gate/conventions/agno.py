"""Agno, by OpenInference: the run has an id of its own, and arguments stand in two places.

``hide_inputs`` takes them from ``input.value`` alone. What somebody asked to withhold is not read from the copy that
was left; ``tool.parameters`` is read where there is no ``input.value`` at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.conventions import arguments, openinference
from otel_gate.conventions.meaning import Convention, Meaning

if TYPE_CHECKING:
    from otel_gate.conventions.meaning import Seen

PARAMETERS = "tool.parameters"


def recognise(seen: Seen) -> Meaning:
    """Read a span by its kind, and the id of its run."""
    meaning = (openinference.recognise(seen) or Meaning())._replace(run_id=seen.text("agno.run.id"))
    if meaning.operation != "tool":
        return meaning
    return meaning._replace(arguments=arguments.required(seen, openinference.INPUT, PARAMETERS))


CONVENTIONS = (
    Convention(
        "agno",
        recognise,
        ("openinference.instrumentation.agno",),
        openinference.SWITCH,
        content=(PARAMETERS,),
        covers=(openinference.recognise,),
    ),
)
