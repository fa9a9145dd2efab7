"""Pydantic AI: the GenAI conventions, and a run id on every span.

Instrumentation format 2 names the arguments ``tool_arguments``; spans older than that don't name their operation. What
a model wrote that is no JSON stands as ``{"INVALID_JSON": …}``, and is hashed as such.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.conventions import genai
from otel_gate.conventions.meaning import Convention, Meaning
from otel_gate.conventions.run_ids import identifier

if TYPE_CHECKING:
    from otel_gate.conventions.meaning import Seen

SCOPE, SWITCH = "pydantic-ai", "InstrumentationSettings(include_content=True)"
RUN_ID, FORMAT_2, OLD_NAME = "gen_ai.agent.call.id", "tool_arguments", "running tool"


def recognise(seen: Seen) -> Meaning:
    """Read a span that names its operation, and the id of its run."""
    operation = "tool" if _is_old(seen) else genai.operation(seen)
    run_id = identifier(seen, RUN_ID)
    if operation == "tool":
        return genai.tool(seen, genai.ARGUMENTS, FORMAT_2)._replace(run_id=run_id)
    return Meaning(operation, run_id=run_id, conversation=identifier(seen, genai.CONVERSATION))


def _is_old(seen: Seen) -> bool:
    attributes = seen.span.attributes
    return seen.span.name == OLD_NAME and genai.OPERATION not in attributes and genai.TOOL_NAME in attributes


CONVENTIONS = (Convention("pydantic_ai", recognise, (SCOPE,), SWITCH, covers=(genai.recognise,)),)
