"""What a model is asked, as a value: any callable that takes it and returns an ``Answer`` is a model, sync or async.

The dialogue is the caller's own, in the provider's form, and is never changed; what is added to it is ``prompt``, one
message of the user's after the last one. A model adapter knows the provider's form; nothing else here does.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from otel_gate.errors import GateError
from otel_gate.toolcalls.model import Answer, Tool

Output: TypeAlias = Literal["call", "json"]
"""How a model writes a call: as the provider's tool call, or as JSON in its text."""


class Request(Struct, frozen=True):
    """One request to a model.

    ``prompt`` is added as the last message ("" adds none). A call of one of ``tools`` is due when ``call_required``,
    and of ``tool`` alone when that is named. With ``force`` the provider is told so (``tool_choice``), else only the
    prompt says it. ``max_tokens`` None is the provider's own limit.
    """

    messages: tuple[Any, ...]
    tools: tuple[Tool, ...]
    prompt: str = ""
    call_required: bool = False
    tool: str = ""
    force: bool = True
    max_tokens: int | None = None
    output: Output = "call"


class ChoiceRefused(GateError):  # noqa: N818 - said of the choice
    """The provider does not take a forced ``tool_choice``; the same request is sent once more without it."""

    http_status = 502


Model: TypeAlias = Callable[[Request], Answer | Awaitable[Answer]]
"""A model: takes a request and returns its answer, or something that can be awaited for it."""
