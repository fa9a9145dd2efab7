"""OpenLLMetry: the decorators of its SDK, and its instrumentations that write arguments in a wrapper of their own.

LangChain's arguments are an envelope with a Python text of them, tags, metadata, and ``inputs``: only those are
arguments. Scopes are shared with other packages of the same name, so its mark must be there. LlamaIndex's tools are
marked as tasks, and known by their names; what they are called is in their output.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_gate.conventions import arguments, genai, langgraph
from otel_gate.conventions.meaning import NOTHING, Arguments, Convention, Found, Meaning
from otel_gate.conventions.run_ids import identifier

if TYPE_CHECKING:
    from otel_gate.conventions.meaning import Operation, Seen

SWITCH = "TRACELOOP_TRACE_CONTENT=true"
KIND, INPUT, OUTPUT = "traceloop.span.kind", "traceloop.entity.input", "traceloop.entity.output"
WORKFLOW = "traceloop.workflow.name"  # on every span inside one
KINDS: dict[str, Operation] = {"tool": "tool", "agent": "agent", "workflow": "agent"}
IDS = tuple(
    f"traceloop.association.properties.{name}"
    for name in ("run_id", "session_id", "thread_id", "conversation_id", "chat_id")
)
DECORATORS = ("traceloop.tracer", "@traceloop/node-server-sdk")
MCP = ("opentelemetry.instrumentation.mcp*",)
TASK, ENVELOPE = "Tool.task", "input_str"


def recognise(seen: Seen) -> Meaning | None:
    """Read a span that says its kind."""
    if KIND not in seen.span.attributes and WORKFLOW not in seen.span.attributes:
        return None
    operation, conversation = _operation(seen), identifier(seen, genai.CONVERSATION, *IDS)
    if operation != "tool":
        return Meaning(operation, conversation=conversation)
    given = arguments.required(seen, genai.ARGUMENTS, INPUT)
    return Meaning("tool", _name(seen), given, genai.call_id(seen), conversation=conversation)


def decorated(seen: Seen) -> Meaning | None:
    """Read a span of the SDK's decorators, whose input is ``{"args": […], "kwargs": {…}}``."""
    meaning = recognise(seen)
    if meaning is None or meaning.arguments is None:
        return meaning
    return meaning._replace(arguments=arguments.called(meaning.arguments))


def mcp(seen: Seen) -> Meaning | None:
    """Read a call that is carried to an MCP server, whose input is ``{"tool_name": …, "arguments": {…}}``."""
    meaning = recognise(seen)
    if meaning is None or meaning.arguments is None:
        return meaning
    given = meaning.arguments
    value: Any = None if given.unhashed else arguments.parsed(given.value)
    if isinstance(value, dict) and "tool_name" in value:  # a call without arguments has null there
        inner = value.get("arguments")
        given = arguments.inner(given, {} if inner is None else inner, "arguments")
    return meaning._replace(arguments=given, transport=True)


def langchain(seen: Seen) -> Meaning | None:
    """Read a span of LangChain or LangGraph."""
    if KIND not in seen.span.attributes and INPUT not in seen.span.attributes:
        return None
    operation = genai.operation(seen) or _operation(seen)
    conversation = identifier(seen, genai.CONVERSATION, *IDS)
    if operation == "tool":
        given, call_id = _of_envelope(arguments.required(seen, genai.ARGUMENTS, INPUT))
        return Meaning("tool", _name(seen), given, call_id, conversation=conversation)
    calls = langgraph.calls(seen, "gen_ai.task.input", INPUT) if operation == "other" else ()
    return Meaning(operation, conversation=conversation, calls=calls)


def llama_index(seen: Seen) -> Meaning | None:
    """Read a span of LlamaIndex, tools among them by name."""
    meaning = recognise(seen)
    if meaning is None or meaning.operation != "other" or not seen.span.name.endswith(TASK):
        return meaning
    name = arguments.unwrapped(arguments.required(seen, OUTPUT), "tool_name")
    found = Found(name.value, name.where) if isinstance(name.value, str) and name.value.strip() else NOTHING
    given = arguments.called(arguments.required(seen, INPUT))
    return Meaning("tool", found, given, conversation=meaning.conversation)


def _operation(seen: Seen) -> Operation | None:
    kind = seen.mark(KIND)
    return KINDS.get(kind, "other") if kind else None


def _name(seen: Seen) -> Found:
    return seen.text("traceloop.entity.name", genai.TOOL_NAME)


def _of_envelope(given: Arguments) -> tuple[Arguments, Found]:
    """Return the inputs of an envelope, or its one text when there are none; anything else as it stands."""
    value: Any = None if given.unhashed else arguments.parsed(given.value)
    if not isinstance(value, dict) or ENVELOPE not in value:
        return given, NOTHING
    key = "inputs" if value.get("inputs") is not None else ENVELOPE
    keywords = value.get("kwargs")
    call_id = keywords.get("tool_call_id") if isinstance(keywords, dict) else None
    found = Found(call_id, f"{given.where}.kwargs.tool_call_id") if isinstance(call_id, str) else NOTHING
    return arguments.inner(given, value[key], key), found


EMITTERS = (Convention("langchain_openllmetry", langchain, ("opentelemetry.instrumentation.langchain",), SWITCH),)
CONVENTIONS = (
    Convention("traceloop", decorated, DECORATORS, SWITCH, covers=(recognise,)),
    Convention(
        "llama_index_openllmetry",
        llama_index,
        ("opentelemetry.instrumentation.llamaindex*",),
        SWITCH,
        covers=(recognise,),
    ),
    Convention("mcp_openllmetry", mcp, MCP, SWITCH, covers=(recognise,)),
    Convention("openllmetry", recognise, switch=SWITCH, marks=(KIND,), also=(WORKFLOW,)),
)
