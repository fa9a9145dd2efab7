"""LlamaIndex, by OpenInference: a tool's span is named after a method, and its input is ``{"kwargs": {…}}``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.conventions import arguments, openinference
from otel_gate.conventions.meaning import Convention

if TYPE_CHECKING:
    from otel_gate.conventions.meaning import Meaning, Seen

SCOPES = ("openinference.instrumentation.llama_index*",)


def recognise(seen: Seen) -> Meaning | None:
    """Read a span by its kind."""
    meaning = openinference.recognise(seen)
    if meaning is None or meaning.arguments is None:
        return meaning
    return meaning._replace(arguments=arguments.called(meaning.arguments))


CONVENTIONS = (Convention("llama_index", recognise, SCOPES, openinference.SWITCH, covers=(openinference.recognise,)),)
