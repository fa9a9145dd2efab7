"""The conventions, in the order in which they are asked: strongest marker first, an emitter's own before a general one.

To add one: a file with ``CONVENTIONS``, a line here, and a recorded trace (CONTRIBUTING says how).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_gate.conventions import (
    ag2,
    agent_framework,
    agentscope,
    agno,
    anthropic_sdk,
    any_agent,
    autogen,
    claude_agent_sdk,
    claude_code,
    crewai,
    dspy,
    genai,
    genkit,
    google_adk,
    haystack,
    langchain,
    langfuse,
    llama_index,
    logfire,
    mastra,
    mcp,
    mlflow,
    native,
    openai_agents,
    openinference,
    openllmetry,
    plumbing,
    pydantic_ai,
    semantic_kernel,
    smolagents,
    strands,
    strands_ts,
    vercel,
    vercel_metadata,
    voltagent,
)
from otel_gate.conventions.own import of_user
from otel_gate.conventions.recognise import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

CONVENTIONS = (
    *agno.CONVENTIONS,
    *autogen.BY_OPENINFERENCE,
    *claude_agent_sdk.CONVENTIONS,
    *crewai.BY_OPENINFERENCE,
    *dspy.CONVENTIONS,
    *google_adk.CONVENTIONS,
    *langchain.BY_OPENINFERENCE,
    *llama_index.CONVENTIONS,
    *openai_agents.BY_OPENINFERENCE,
    *smolagents.BY_OPENINFERENCE,
    *openinference.CONVENTIONS,
    *ag2.CONVENTIONS,
    *agent_framework.CONVENTIONS,
    *agentscope.CONVENTIONS,
    *anthropic_sdk.CONVENTIONS,
    *any_agent.CONVENTIONS,
    *autogen.BY_GENAI,
    *crewai.BY_GENAI,
    *mastra.CONVENTIONS,
    *openllmetry.EMITTERS,
    *langchain.BY_GENAI,
    *openai_agents.BY_GENAI,
    *pydantic_ai.CONVENTIONS,
    *semantic_kernel.CONVENTIONS,
    *smolagents.BY_GENAI,
    *strands.CONVENTIONS,
    *strands_ts.CONVENTIONS,
    *vercel.BY_GENAI,
    *mcp.CONVENTIONS,
    *genai.CONVENTIONS,
    *openllmetry.CONVENTIONS,
    *claude_code.CONVENTIONS,
    *genkit.CONVENTIONS,
    *haystack.CONVENTIONS,
    *langfuse.CONVENTIONS,
    *logfire.CONVENTIONS,
    *mlflow.CONVENTIONS,
    *vercel.CONVENTIONS,
    *vercel_metadata.CONVENTIONS,
    *voltagent.CONVENTIONS,
    *plumbing.CONVENTIONS,
    *native.CONVENTIONS,
)
TABLE = Table(CONVENTIONS)


def table(values: Sequence[Any] = ()) -> Table:
    """Return our conventions, and before them those that values of the setting ``conventions`` stand for.

    Raises:
        SettingsError: a value stands for something that is no convention.
    """
    return Table((*of_user(values), *CONVENTIONS)) if values else TABLE
