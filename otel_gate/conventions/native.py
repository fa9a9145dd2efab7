"""Our own spans, named ``tool.*``: asked last, for a known emitter may use such names too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.conventions.meaning import Convention, Meaning, says_nothing
from otel_gate.core.tool_words import TOOL_PREFIX

if TYPE_CHECKING:
    from otel_gate.conventions.meaning import Seen

NATIVE = "native"
SCOPES = ("otel_gate",)


def recognise(seen: Seen) -> Meaning | None:
    """Recognise a tool call by its span's name."""
    return Meaning("tool", seen.text("tool.name")) if seen.span.name.startswith(TOOL_PREFIX) else None


CONVENTIONS = (Convention(NATIVE, recognise), Convention("otel-gate", says_nothing, SCOPES))
