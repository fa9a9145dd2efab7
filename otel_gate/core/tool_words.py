"""The words by which a span is known as a tool call (DESIGN section 4)."""

TOOL_PREFIX = "tool."
TOOL_ATTRIBUTES = frozenset({"tool.name", "input.sha256"})
