"""DSPy, by OpenInference: a tool has the name of its span, without the method, and its arguments are in ``kwargs``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.conventions import arguments, openinference
from otel_gate.conventions.meaning import NOTHING, Convention, Found, Meaning

if TYPE_CHECKING:
    from otel_gate.conventions.meaning import Seen

METHOD = ".__call__"


def recognise(seen: Seen) -> Meaning | None:
    """Read a span by its kind."""
    meaning = openinference.recognise(seen)
    if meaning is None or meaning.operation != "tool":
        return meaning
    given = arguments.called(arguments.required(seen, openinference.INPUT))
    return meaning._replace(name=meaning.name if meaning.name.value else _name(seen.span.name), arguments=given)


def _name(span: str) -> Found:
    name = span.removesuffix(METHOD)
    return Found(name, "name") if name.strip() else NOTHING


CONVENTIONS = (
    Convention(
        "dspy",
        recognise,
        ("openinference.instrumentation.dspy",),
        openinference.SWITCH,
        covers=(openinference.recognise,),
    ),
)
