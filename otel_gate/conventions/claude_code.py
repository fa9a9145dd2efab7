"""Claude Code's own traces (beta): a span a call; the wait for permission and the execution below it are no calls.

With ``OTEL_LOG_TOOL_DETAILS`` it records single fields of some tools (``file_path``, ``full_command``). They are not
the arguments: a hash of them would say that two calls are equal which were not. So the arguments are absent either way,
unless a release records them as the GenAI conventions do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.conventions import arguments, genai
from otel_gate.conventions.meaning import Arguments, Convention, Meaning

if TYPE_CHECKING:
    from otel_gate.conventions.meaning import Operation, Seen

SWITCH = (
    "Claude Code never records arguments (OTEL_LOG_TOOL_DETAILS=1 adds single fields of some tools): "
    "run it by the Claude Agent SDK with openinference-instrumentation-claude-agent-sdk"
)
OPERATIONS: dict[str, Operation] = {
    "claude_code.tool": "tool", "claude_code.interaction": "agent", "claude_code.llm_request": "model",
}  # fmt: skip
DETAILS = ("file_path", "full_command", "skill_name", "subagent_type", "user_prompt")
ABSENT = Arguments(unhashed="absent")


def recognise(seen: Seen) -> Meaning | None:
    """Read a span by its name, which has this form in no other scope."""
    name = seen.span.name
    if not name.startswith("claude_code."):
        return None
    session = seen.text("session.id")
    operation = OPERATIONS.get(name, "other")
    if operation != "tool":
        return Meaning(operation, conversation=session)
    call_id = seen.text("gen_ai.tool.call.id", "tool_use_id")
    given = arguments.read(seen, genai.ARGUMENTS) or ABSENT
    return Meaning("tool", seen.text("tool_name", "gen_ai.tool.name"), given, call_id, conversation=session)


CONVENTIONS = (Convention("claude_code", recognise, ("com.anthropic.claude_code*",), SWITCH, content=DETAILS),)
