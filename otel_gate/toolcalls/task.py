"""What an answer was given to, and how its calls are judged and repaired."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from msgspec import Struct

from otel_gate.errors import UsageError
from otel_gate.toolcalls.prompts import Prompts, prompts
from otel_gate.toolcalls.request import Output
from otel_gate.toolcalls.strictness import Strictness, strictness_of
from otel_gate.toolcalls.texts import language_of
from otel_gate.toolcalls.transitions import MOST_REQUESTS

if TYPE_CHECKING:
    from otel_gate.toolcalls.model import Tool

LEAST_BUDGET, USUAL_BUDGET = 512, 1_024


class Policy(Struct, frozen=True):
    """How calls are judged and repaired; what it can't be is a ``UsageError`` when it is made.

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

    def __post_init__(self) -> None:
        """Refuse what no request could be made by.

        Raises:
            UsageError: it names which part, what was expected and what was got.
        """
        strictness_of(self.strictness)
        language_of(self.language)
        for name, expected, fits in (
            ("prompts", "Prompts (load_prompts reads a file), or None", isinstance(self.prompts, Prompts | None)),
            ("output", " or ".join(map(repr, get_args(Output))), self.output in get_args(Output)),
            ("budget", "a whole number of tokens from 1, or None", self.budget is None or _is_whole(self.budget, 1)),
            ("most_requests", "a whole number from 0", _is_whole(self.most_requests, 0)),
        ):
            if not fits:
                raise UsageError(which=f"Policy, {name}", expected=expected, got=repr(getattr(self, name))[:80])

    def texts(self) -> Prompts:
        """Return the prompts: one's own, or those of the language.

        Raises:
            UsageError: there are none in this language.
        """
        return self.prompts or prompts(language_of(self.language))

    def tokens(self, first: int) -> int:
        """Return the budget of a request, when the first one had ``first`` tokens (0: not known)."""
        return max(USUAL_BUDGET, 2 * first) if self.budget is None else max(LEAST_BUDGET, self.budget)


def _is_whole(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


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
