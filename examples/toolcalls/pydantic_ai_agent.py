"""Pydantic AI: a capability by which every tool call is judged before it is validated, repaired once, and traced.

pip install 'otel-gate[tools,openai]' pydantic-ai-slim[openai]
agent = Agent("openai:gpt-4.1-mini", tools=[weather], capabilities=[Guarded(guard)])
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic_ai import ModelRetry
from pydantic_ai.capabilities import AbstractCapability

from otel_gate.toolcalls.model import Call
from otel_gate.toolcalls.told import told

if TYPE_CHECKING:
    from otel_gate import ToolGuard
    from otel_gate.toolcalls.repair import Outcome


class Guarded(AbstractCapability[Any]):
    """A guard in an agent; its catalogue has the agent's tools."""

    def __init__(self, guard: ToolGuard) -> None:
        """Take the guard."""
        self._guard, self._outcomes = guard, dict[str, Any]()

    async def before_tool_validate(self, ctx: Any, *, call: Any, tool_def: Any, args: Any) -> Any:  # noqa: ARG002
        """Repair the arguments, or give the model its issues."""
        dialogue = [{"role": "user", "content": str(ctx.prompt)}]
        received = Call(call.tool_name, args, call.tool_call_id)
        outcome: Outcome = (await self._guard.acheck(dialogue, received)).outcomes[0]
        if outcome.call is None:
            with self._guard.span(outcome):  # nothing is executed; the span says why
                pass
            raise ModelRetry(told(outcome.received, outcome.issues))
        self._outcomes[call.tool_call_id] = outcome
        return outcome.call.arguments

    async def wrap_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any, handler: Any) -> Any:  # noqa: ARG002
        """Execute the tool in its span."""
        with self._guard.span(self._outcomes.pop(call.tool_call_id)):
            return await handler(args)
