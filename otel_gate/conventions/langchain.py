"""LangChain and LangGraph, by OpenInference, OpenTelemetry and LangSmith (``openllmetry`` has the fourth).

OpenInference writes a single text argument bare, without its key. The calls that a ``tools`` node was given are in that
node's input: there are the ids, and what a tool span doesn't hold itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.conventions import genai, langgraph, openinference
from otel_gate.conventions.meaning import Convention, Meaning
from otel_gate.conventions.run_ids import identifier

if TYPE_CHECKING:
    from otel_gate.conventions.meaning import Operation, Seen

OPENINFERENCE = ("openinference.instrumentation.langchain*", "@arizeai/openinference-instrumentation-langchain*")
OPENTELEMETRY = ("opentelemetry.instrumentation.genai.langchain*", "opentelemetry.instrumentation.langchain")
KIND, PROMPT = "langsmith.span.kind", "gen_ai.prompt"
KINDS: dict[str, Operation] = {"tool": "tool", "llm": "model", "embedding": "model"}
SESSIONS = tuple(f"langsmith.metadata.{name}" for name in ("session_id", "thread_id", "conversation_id"))


def by_openinference(seen: Seen) -> Meaning | None:
    """Read a span by its kind, and the calls that it lists."""
    meaning = openinference.recognise(seen)
    if meaning is None or meaning.operation != "other":
        return meaning
    return meaning._replace(calls=langgraph.calls(seen, openinference.INPUT))


def by_langsmith(seen: Seen) -> Meaning | None:
    """Read a span of LangSmith's exporter: the GenAI conventions, with the arguments in ``gen_ai.prompt``."""
    kind = seen.mark(KIND)
    named = genai.recognise(seen) or Meaning()
    operation = "tool" if "tool" in (kind, named.operation) else named.operation
    if kind:
        operation = KINDS.get(kind, operation or "other")
    session = identifier(seen, *SESSIONS)
    conversation = session if session.value else named.conversation
    if operation == "tool":
        return genai.tool(seen, PROMPT, genai.ARGUMENTS)._replace(conversation=conversation)
    calls = langgraph.calls(seen, PROMPT) if operation == "other" else ()
    return Meaning(operation, conversation=conversation, calls=calls)


BY_OPENINFERENCE = (
    Convention(
        "langchain_openinference", by_openinference, OPENINFERENCE, openinference.SWITCH,
        covers=(openinference.recognise,),
    ),
)  # fmt: skip
BY_GENAI = (
    Convention("langsmith", by_langsmith, ("langsmith*",), "LANGSMITH_HIDE_INPUTS=false", covers=(genai.recognise,)),
    Convention("langchain", genai.recognise, OPENTELEMETRY, genai.SWITCH),
)
