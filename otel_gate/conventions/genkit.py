"""Genkit: what a span is stands in ``genkit:metadata:subtype``, its name and arguments in keys with colons too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.conventions import arguments
from otel_gate.conventions.meaning import Convention, Meaning

if TYPE_CHECKING:
    from otel_gate.conventions.meaning import Operation, Seen

SUBTYPE, INPUT, OUTPUT = "genkit:metadata:subtype", "genkit:input", "genkit:output"
SWITCH = "Genkit records arguments by default: remove what takes genkit:input off its spans"
SUBTYPES: dict[str, Operation] = {"tool": "tool", "model": "model", "embedder": "model"}


def recognise(seen: Seen) -> Meaning | None:
    """Read a span that says its subtype."""
    subtype = seen.mark(SUBTYPE)
    if not subtype:
        return None
    operation = SUBTYPES.get(subtype, "other")
    if operation != "tool":
        return Meaning(operation)
    return Meaning("tool", seen.text("genkit:name"), arguments.required(seen, INPUT))


CONVENTIONS = (Convention("genkit", recognise, ("genkit-tracer",), SWITCH, content=(INPUT, OUTPUT)),)
