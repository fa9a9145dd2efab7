"""Tool spans of the emitters of which traces are recorded: their versions, switches and oddities, one a line."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from otel_gate.conventions import autogen, mcp, mlflow, strands
from otel_gate.conventions.recognise import REMEDIES
from tests.conventions.spans import CALL, GIVEN, NAME, TEXT, tool

BARE = tool(call_id=CALL)
GENAI = tool(arguments=TEXT, call_id=CALL)
INPUT = "input.value"
KIND: dict[str, Any] = {"openinference.span.kind": "TOOL", "tool.name": NAME}
OPENINFERENCE: dict[str, Any] = {**KIND, INPUT: TEXT}
HIDE = "OPENINFERENCE_HIDE_INPUTS=false"
CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY"
SENSITIVE = "RunConfig(trace_include_sensitive_data=True)"
TRACELOOP = "TRACELOOP_TRACE_CONTENT=true"
V1 = "gcp.vertex.agent."
OFF = "ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS=true"
POSITIONAL = {"args": ["A-1"], "kwargs": {"include_items": True}}
LONG_KIND = {"traceloop.span.kind": "tool", "traceloop.entity.name": NAME}
ENVELOPE = {"input_str": "{'order_id': 'A-1'}", "inputs": GIVEN, "tags": [], "kwargs": {"tool_call_id": CALL}}
LANGCHAIN = "opentelemetry.instrumentation.langchain"
TASK = {"traceloop.span.kind": "task", "traceloop.entity.input": json.dumps({"kwargs": GIVEN})}
OUTPUT = {"traceloop.entity.output": json.dumps({"tool_name": NAME})}
ALTERED = {"logfire.scrubbed": '[{"path": ["attributes", "gen_ai.tool.call.arguments"]}]'}
MESSAGES = json.dumps([{"role": "tool", "parts": [{"type": "tool_call", "arguments": GIVEN, "name": NAME}]}])


class Case(NamedTuple):
    """A tool span in an emitter's scope, and what has to be read of it."""

    emitter: str
    scope: str
    attributes: dict[str, Any]
    given: Any = GIVEN
    unhashed: str = ""
    switch: str = ""
    name: str = NAME
    call_id: str = CALL
    span: str = "x"
    events: dict[str, dict[str, Any]] = {}  # noqa: RUF012 - nobody changes it


def without(emitter: str, scope: str, attributes: dict[str, Any], switch: str, **more: Any) -> Case:
    """Return a case whose arguments are absent."""
    return Case(emitter, scope, attributes, unhashed="absent", switch=switch, **more)


def wrapped(**value: Any) -> dict[str, Any]:
    """Return a TOOL span with a wrapper as its input."""
    return {**KIND, INPUT: json.dumps(value)}


OI_LANGCHAIN, CLAUDE = "openinference.instrumentation.langchain", "openinference.instrumentation.claude_agent_sdk"
LONG_MCP, OBSERVATION = "opentelemetry.instrumentation.mcp.instrumentation", "langfuse.observation.input"
SMOLAGENTS = "openinference.instrumentation.smolagents"
LLAMA_INDEX, LLAMAINDEX = "openinference.instrumentation.llama_index", "opentelemetry.instrumentation.llamaindex"
ADK, OI_ADK = "gcp.vertex.agent", "openinference.instrumentation.google_adk"
STRANDS, LANGFUSE, MLFLOW = "strands.telemetry.tracer", "langfuse-sdk", "mlflow.tracing.provider"
AGENTS = "opentelemetry.instrumentation.openai_agents"
OI_AGENTS = "openinference.instrumentation.openai_agents"
OBSERVED = {"langfuse.observation.type": "tool"}
LOGFIRE: dict[str, Any] = {"logfire.msg_template": "Function: {name}", "name": NAME}
MLFLOW_TOOL = {"mlflow.spanType": '"TOOL"', "mlflow.traceRequestId": '"tr-1"'}
AI = {"ai.operationId": "ai.toolCall", "ai.toolCall.name": NAME, "ai.toolCall.id": CALL}
HAYSTACK = {"haystack.tool.name": NAME}
STEP = "haystack.agent.step.tool"
ENTITY = "traceloop.entity.input"

CASES = (
    Case("pydantic_ai", "pydantic-ai", GENAI),
    Case("pydantic_ai", "pydantic-ai", {**BARE, "tool_arguments": TEXT}),
    Case(
        "pydantic_ai",
        "pydantic-ai",
        {"gen_ai.tool.name": NAME, "tool_arguments": TEXT},
        span="running tool",
        call_id="",
    ),
    Case("pydantic_ai", "pydantic-ai", {**BARE, "tool_arguments": '{"INVALID_JSON":"{"}'}, {"INVALID_JSON": "{"}),
    Case("pydantic_ai", "pydantic-ai", {**GENAI, **ALTERED}, None, "scrubbed", REMEDIES["scrubbed"]),
    without("pydantic_ai", "pydantic-ai", BARE, "InstrumentationSettings(include_content=True)"),
    Case("logfire", "logfire.openai_agents", {**LOGFIRE, "input": TEXT}, call_id=""),
    Case("logfire", "logfire.openai_agents", {"name": NAME, "input": TEXT}, span="Function: {name}", call_id=""),
    Case("logfire", "logfire.openai_agents", {**LOGFIRE, "input": "null"}, None, "placeholder", SENSITIVE, call_id=""),
    without("logfire", "logfire.openai_agents", LOGFIRE, SENSITIVE, call_id=""),
    Case("langchain_openinference", OI_LANGCHAIN, OPENINFERENCE, call_id=""),
    Case("langchain_openinference", OI_LANGCHAIN, {**KIND, INPUT: "A-1"}, "A-1", call_id=""),
    Case("langchain_openinference", OI_LANGCHAIN, wrapped(inputs=GIVEN), {"inputs": GIVEN}, call_id=""),
    without("langchain_openinference", OI_LANGCHAIN, KIND, HIDE, call_id=""),
    Case("langsmith", "langsmith", {**BARE, "langsmith.span.kind": "tool", "gen_ai.prompt": TEXT}),
    Case(
        "langsmith",
        "langsmith",
        {"langsmith.span.kind": "tool", "gen_ai.tool.name": NAME, "gen_ai.prompt": TEXT},
        call_id="",
    ),
    without("langsmith", "langsmith", BARE, "LANGSMITH_HIDE_INPUTS=false"),
    Case("langchain", "opentelemetry.instrumentation.genai.langchain", GENAI),
    Case("langchain", LANGCHAIN, tool(arguments=json.dumps({"inputs": GIVEN}), call_id=CALL), {"inputs": GIVEN}),
    without("langchain", "opentelemetry.instrumentation.genai.langchain", BARE, CAPTURE),
    Case("langchain_openllmetry", LANGCHAIN, {**tool(arguments=json.dumps(ENVELOPE)), **LONG_KIND}),
    Case("langchain_openllmetry", LANGCHAIN, {**LONG_KIND, ENTITY: json.dumps(ENVELOPE)}),
    Case(
        "langchain_openllmetry",
        LANGCHAIN,
        {**LONG_KIND, ENTITY: '{"input_str":"A-1","inputs":null}'},
        "A-1",
        call_id="",
    ),
    Case("langchain_openllmetry", LANGCHAIN, {**LONG_KIND, ENTITY: TEXT}, call_id=""),
    Case(
        "langchain_openllmetry",
        LANGCHAIN,
        {**LONG_KIND, ENTITY: '{"input_str": "', **tool(arguments="__REDACTED__")},
        None,
        "placeholder",
        TRACELOOP,
        call_id="",
    ),
    Case(
        "langchain_openllmetry",
        LANGCHAIN,
        {**LONG_KIND, ENTITY: '{"input_str":"x","inputs":"__REDACTED__"}'},
        None,
        "placeholder",
        TRACELOOP,
        call_id="",
    ),
    without("langchain_openllmetry", LANGCHAIN, LONG_KIND, TRACELOOP, call_id=""),
    Case("openai_agents_openinference", OI_AGENTS, OPENINFERENCE, call_id=""),
    without("openai_agents_openinference", OI_AGENTS, KIND, f"{SENSITIVE}, {HIDE}", call_id=""),
    Case("openai_agents", AGENTS, GENAI),
    Case("openai_agents", f"{AGENTS}_v2", GENAI),
    without("openai_agents", "opentelemetry.instrumentation.genai.openai_agents", BARE, f"{CAPTURE}, {SENSITIVE}"),
    Case("openai_agents_openllmetry", AGENTS, {**GENAI, "traceloop.span.kind": "tool"}),
    without("openai_agents_openllmetry", AGENTS, {**BARE, "traceloop.span.kind": "tool"}, f"{TRACELOOP}, {SENSITIVE}"),
    Case("google_adk", ADK, GENAI),
    Case("google_adk", ADK, tool(arguments="{}", call_id="<not specified>"), {}, call_id=""),
    without("google_adk", ADK, BARE, CAPTURE),
    Case("google_adk_1", ADK, {**BARE, f"{V1}tool_call_args": TEXT}),
    Case("google_adk_1", ADK, {**BARE, f"{V1}tool_call_args": "{}", f"{V1}tool_response": '{"result": null}'}, {}),
    Case(
        "google_adk_1", ADK, {**BARE, f"{V1}tool_call_args": "{}", f"{V1}tool_response": "{}"}, None, "placeholder", OFF
    ),
    Case("google_adk_1", ADK, {**BARE, f"{V1}tool_call_args": "{}"}, None, "placeholder", OFF),
    Case("google_adk_1", OI_ADK, {**BARE, f"{V1}tool_call_args": "{}", **OPENINFERENCE}),
    Case("google_adk", OI_ADK, {**BARE, **OPENINFERENCE, "tool.parameters": '{"x":1}'}),
    Case("strands", STRANDS, BARE, events={"gen_ai.tool.message": {"role": "tool", "content": TEXT, "id": CALL}}),
    Case("strands", STRANDS, GENAI, events={"gen_ai.tool.message": {"content": '{"x":1}'}}),
    Case(
        "strands",
        STRANDS,
        BARE,
        events={"gen_ai.client.inference.operation.details": {"gen_ai.input.messages": MESSAGES}},
    ),
    Case(
        "strands", STRANDS, BARE, None, "cut", REMEDIES["cut"], events={"gen_ai.tool.message": {"content": TEXT[:20]}}
    ),
    without("strands", STRANDS, BARE, strands.SWITCH, events={"gen_ai.choice": {"message": "x"}}),
    Case("openinference", STRANDS, {**BARE, **OPENINFERENCE, "tool.call_id": CALL}),
    Case("crewai", "openinference.instrumentation.crewai._event_listener", OPENINFERENCE, call_id=""),
    Case("crewai", "openinference.instrumentation.crewai", OPENINFERENCE, call_id=""),
    without("autogen", "autogen-core", BARE, autogen.SWITCH),
    Case("autogen", "autogen-core", GENAI),
    Case("autogen_openinference", "openinference.instrumentation.autogen_agentchat", OPENINFERENCE, call_id=""),
    Case("agent_framework", "agent_framework", {**GENAI, "gen_ai.tool.call.id": "unknown"}, call_id=""),
    without("agent_framework", "agent_framework", BARE, "ENABLE_SENSITIVE_DATA=true"),
    Case("smolagents", SMOLAGENTS, wrapped(args=[], sanitize_inputs_outputs=True, kwargs=GIVEN), call_id=""),
    Case("smolagents", SMOLAGENTS, wrapped(sanitize_inputs_outputs=False, **POSITIONAL), POSITIONAL, call_id=""),
    Case("smolagents", SMOLAGENTS, {**KIND, INPUT: "__REDACTED__"}, None, "placeholder", HIDE, call_id=""),
    Case("llama_index", LLAMA_INDEX, wrapped(kwargs=GIVEN), call_id=""),
    Case("llama_index", LLAMA_INDEX, wrapped(kwargs={"kwargs": {"x": 1}}), {"kwargs": {"x": 1}}, call_id=""),
    Case("llama_index", LLAMA_INDEX, wrapped(input="x"), {"input": "x"}, call_id=""),
    Case("llama_index_openllmetry", LLAMAINDEX, {**TASK, **OUTPUT}, span="FunctionTool.task", call_id=""),
    Case("llama_index_openllmetry", LLAMAINDEX, {**TASK, **OUTPUT}, span="QueryEngineTool.task", call_id=""),
    Case(
        "openinference", "openinference.instrumentation.haystack", wrapped(kwargs=GIVEN), {"kwargs": GIVEN}, call_id=""
    ),
    Case("haystack", "haystack", {**HAYSTACK, f"{STEP}.input": TEXT}, span=STEP, call_id=""),
    Case("haystack", "my_application", {**HAYSTACK, f"{STEP}.input": TEXT}, span=STEP, call_id=""),
    without("haystack", "haystack", HAYSTACK, "HAYSTACK_CONTENT_TRACING_ENABLED=true", span=STEP, call_id=""),
    Case("langfuse", LANGFUSE, {**OBSERVED, OBSERVATION: json.dumps(POSITIONAL)}, POSITIONAL, span=NAME, call_id=""),
    Case(
        "langfuse",
        LANGFUSE,
        {**OBSERVED, OBSERVATION: json.dumps({"args": [], "kwargs": GIVEN})},
        span=NAME,
        call_id="",
    ),
    Case("langfuse", LANGFUSE, {**OBSERVED, OBSERVATION: TEXT}, span=NAME, call_id=""),
    Case(
        "langfuse",
        LANGFUSE,
        {**OBSERVED, OBSERVATION: '{"kwargs":{"x":1}}'},
        {"kwargs": {"x": 1}},
        span=NAME,
        call_id="",
    ),
    Case(
        "langfuse",
        LANGFUSE,
        {
            **OBSERVED,
            OBSERVATION: json.dumps({"args": [], "kwargs": GIVEN}),
            "langfuse.observation.metadata.tool_call_id": f'"{CALL}"',
        },
        {"args": [], "kwargs": GIVEN},
        span=NAME,
    ),
    Case(
        "langfuse",
        "another",
        {**OBSERVED, OBSERVATION: json.dumps({"args": [], "kwargs": GIVEN})},
        {"args": [], "kwargs": GIVEN},
        span=NAME,
        call_id="",
    ),
    without(
        "langfuse", LANGFUSE, OBSERVED, "LANGFUSE_OBSERVE_DECORATOR_IO_CAPTURE_ENABLED=true", span=NAME, call_id=""
    ),
    Case("mlflow", MLFLOW, {**MLFLOW_TOOL, "mlflow.spanInputs": TEXT}, span=NAME, call_id=""),
    Case(
        "mlflow", MLFLOW, {**MLFLOW_TOOL, "mlflow.spanInputs": json.dumps(TEXT), "tool_call_id": f'"{CALL}"'}, span=NAME
    ),
    Case("mlflow", MLFLOW, {"mlflow.spanType": "TOOL", "mlflow.spanInputs": TEXT}, span=NAME, call_id=""),
    Case(
        "mlflow",
        MLFLOW,
        {**MLFLOW_TOOL, "mlflow.spanInputs": "null"},
        None,
        "placeholder",
        mlflow.SWITCH,
        span=NAME,
        call_id="",
    ),
    Case("vercel", "gen_ai", GENAI),
    without("vercel", "gen_ai", BARE, "recordInputs: true"),
    Case("vercel_legacy", "ai", {**AI, "ai.toolCall.args": TEXT}),
    Case("vercel_legacy", "my-tracer", {**AI, "ai.toolCall.args": TEXT}),
    Case(
        "vercel_legacy",
        "ai",
        {"ai.toolCall.name": NAME, "ai.toolCall.args": TEXT},
        span="ai.toolCall order-agent",
        call_id="",
    ),
    without("vercel_legacy", "ai", AI, "recordInputs: true"),
    Case("anthropic_sdk", "com.anthropic.sdk.python", GENAI),
    Case("anthropic_sdk", "com.anthropic.sdk.python", {**GENAI, "anthropic.content.truncated": True}),
    Case(
        "anthropic_sdk",
        "com.anthropic.sdk.python",
        {**tool(arguments="a text", call_id=CALL), "anthropic.content.truncated": True},
        None,
        "cut",
        REMEDIES["cut"],
    ),
    without(
        "anthropic_sdk", "com.anthropic.sdk.typescript", BARE, "ANTHROPIC_OPEN_TELEMETRY_TRACES_CONTENT_MODE=content"
    ),
    Case("claude_agent_sdk", CLAUDE, {**OPENINFERENCE, "tool.id": CALL}),
    without("claude_agent_sdk", CLAUDE, {**KIND, "tool.parameters": TEXT}, HIDE, call_id=""),
    Case("traceloop", "traceloop.tracer", {**LONG_KIND, ENTITY: json.dumps({"args": [], "kwargs": GIVEN})}, call_id=""),
    Case(
        "traceloop", "@traceloop/node-server-sdk", {**LONG_KIND, ENTITY: json.dumps(POSITIONAL)}, POSITIONAL, call_id=""
    ),
    Case("openllmetry", "another", {**LONG_KIND, ENTITY: json.dumps({"kwargs": GIVEN})}, {"kwargs": GIVEN}, call_id=""),
    without("traceloop", "traceloop.tracer", LONG_KIND, TRACELOOP, call_id=""),
    Case(
        "mcp_openllmetry",
        LONG_MCP,
        {**LONG_KIND, ENTITY: json.dumps({"tool_name": NAME, "arguments": GIVEN})},
        call_id="",
    ),
    Case(
        "mcp_openllmetry",
        LONG_MCP,
        {**LONG_KIND, ENTITY: json.dumps({"tool_name": NAME, "arguments": None})},
        {},
        call_id="",
    ),
    without(
        "mcp_sdk",
        "mcp-python-sdk",
        {"mcp.method.name": "tools/call"},
        mcp.SDK_SWITCH,
        span=f"MCP send tools/call {NAME}",
        call_id="",
    ),
    without("mcp_sdk", "mcp-python-sdk", {}, mcp.SDK_SWITCH, span=f"MCP send tools/call {NAME}", call_id=""),
    without("mcp_sdk", "mcp-python-sdk", {**tool(), "mcp.method.name": "tools/call"}, mcp.SDK_SWITCH, call_id=""),
    without("fastmcp", "fastmcp", {**tool(), "mcp.method.name": "tools/call"}, mcp.FASTMCP_SWITCH, call_id=""),
    Case("mcp", "another", {**GENAI, "mcp.method.name": "tools/call"}),
)
