"""What an answer was given to, and how its calls are judged and repaired."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from otel_gate.toolcalls.prompts import Prompts, prompts
from otel_gate.toolcalls.transitions import MOST_REQUESTS

if TYPE_CHECKING:
    from otel_gate.toolcalls.model import Tool
    from otel_gate.toolcalls.request import Output
    from otel_gate.toolcalls.strictness import Strictness

LEAST_BUDGET, USUAL_BUDGET = 512, 1_024


class Policy(Struct, frozen=True):
    """How calls are judged and repaired.

    ``card``: the tool's card stands in the repair prompt, else its schema is named. ``force``: the provider is told
    which tool is due. ``output``: the model calls tools ("call") or writes JSON ("json"). ``budget``: tokens of a
    request, 512 at least; by default twice the first one's and 1,024 at least. ``most_requests``: 3 at most.
    """

    strictness: str | Strictness = "default"
    language: str = "en"
    prompts: Prompts | None = None
    card: bool = True
    force: bool = True
    output: Output = "call"
    budget: int | None = None
    most_requests: int = MOST_REQUESTS

    def texts(self) -> Prompts:
        """Return the prompts: one's own, or those of the language.

        Raises:
            UsageError: there are none in this language.
        """
        return self.prompts or prompts(self.language)

    def tokens(self, first: int) -> int:
        """Return the budget of a request, when the first one had ``first`` tokens (0: not known)."""
        return max(USUAL_BUDGET, 2 * first) if self.budget is None else max(LEAST_BUDGET, self.budget)


class Task(Struct, frozen=True):
    """What an answer was given to: the dialogue, the visible tools, whether a call was due, and the token budget."""

    messages: tuple[Any, ...]
    tools: tuple[Tool, ...]
    call_required: bool = False
    max_tokens: int | None = None
    policy: Policy = Policy()

    def named(self, name: str) -> Tool | None:
        """Return the visible tool of a name, or None."""
        return next((tool for tool in self.tools if tool.name == name), None)
