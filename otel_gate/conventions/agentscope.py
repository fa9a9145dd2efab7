"""AgentScope: the GenAI conventions, and the id of the reply that a run gives.

A failing tool is told by ``"state":"error"`` inside its result alone: its status stays ok, and so it stays here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.conventions import genai
from otel_gate.conventions.meaning import Convention, Meaning

if TYPE_CHECKING:
    from otel_gate.conventions.meaning import Seen


SWITCH = "AgentScope records arguments by default: remove what takes gen_ai.tool.call.arguments off its spans"


def recognise(seen: Seen) -> Meaning:
    """Read a span that names its operation, and the id of its run."""
    return (genai.recognise(seen) or Meaning())._replace(run_id=seen.text("agentscope.agent.reply_id"))


CONVENTIONS = (Convention("agentscope", recognise, ("agentscope",), SWITCH, covers=(genai.recognise,)),)
