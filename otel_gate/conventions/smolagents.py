"""smolagents, by OpenInference: a call's input is ``{"args": […], "sanitize_inputs_outputs": …, "kwargs": {…}}``.

A tool's span is named after its class. Code agents give arguments by position: those are hashed with the keywords, as
``{"args": […], "kwargs": {…}}``. OpenTelemetry's package exports no span for a tool that ran.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.conventions import arguments, genai, openinference
from otel_gate.conventions.meaning import Convention

if TYPE_CHECKING:
    from otel_gate.conventions.meaning import Meaning, Seen

BESIDE = "sanitize_inputs_outputs"


def recognise(seen: Seen) -> Meaning | None:
    """Read a span by its kind."""
    meaning = openinference.recognise(seen)
    if meaning is None or meaning.arguments is None:
        return meaning
    return meaning._replace(arguments=arguments.called(meaning.arguments, BESIDE))


BY_OPENINFERENCE = (
    Convention(
        "smolagents",
        recognise,
        ("openinference.instrumentation.smolagents*",),
        openinference.SWITCH,
        covers=(openinference.recognise,),
    ),
)
BY_GENAI = (
    Convention("smolagents_genai", genai.recognise, ("opentelemetry.instrumentation.genai.smolagents*",), genai.SWITCH),
)
