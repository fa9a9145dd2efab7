"""The words by which a span is known as a tool call (DESIGN section 4), and those of which only a convention can tell.

``MARKS`` are the attributes that the general conventions go by, but for the GenAI operation: a span that carries none
of them, of a scope that no convention reads, is what it says itself.
"""

TOOL_PREFIX = "tool."
TOOL_ATTRIBUTES = frozenset({"tool.name", "input.sha256"})
OPERATION, EXECUTE_TOOL = "gen_ai.operation.name", "execute_tool"
MARKS = frozenset({
    "ai.operationId", "haystack.agent.step.tool.input", "haystack.tool.name", "langfuse.observation.type",
    "mcp.method.name", "mlflow.spanType", "mlflow.traceRequestId", "openinference.span.kind", "traceloop.span.kind",
})  # fmt: skip
OF_TOOLS = frozenset({
    "gen_ai.tool.name", "gen_ai.tool.call.id", "gen_ai.tool.call.arguments", "gen_ai.tool.call.result",
    "gen_ai.tool.args",
})  # fmt: skip
"""Attributes that only tool calls have: without a mark they are a note."""
BESIDE_NAME = frozenset({"input.value", "tool.arguments", "tool.parameters", "tool.args", "tool.input"})
"""With the name of a tool beside them, what a tool was called with."""
