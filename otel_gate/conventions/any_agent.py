"""any-agent (mozilla-ai): the GenAI conventions, with the arguments in ``gen_ai.tool.args``; ``call_llm`` is a model.

The trace that it returns and writes names no scope: there the general convention reads the same attributes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.conventions import genai
from otel_gate.conventions.meaning import Convention

if TYPE_CHECKING:
    from otel_gate.conventions.meaning import Meaning, Seen

SWITCH = "any-agent records arguments by default: remove what takes gen_ai.tool.args off its spans"
MODEL = "call_llm"


def recognise(seen: Seen) -> Meaning | None:
    """Read a span that names its operation."""
    meaning = genai.recognise(seen)
    if meaning is None or seen.mark(genai.OPERATION) != MODEL:
        return meaning
    return meaning._replace(operation="model")


CONVENTIONS = (Convention("any_agent", recognise, ("any_agent",), SWITCH, covers=(genai.recognise,)),)
