"""What the adapters share: names on the way out and back, and a forced choice that the provider may refuse."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from otel_gate.toolcalls.received import read
from otel_gate.toolcalls.request import ChoiceRefused

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from otel_gate.toolcalls.forms.translation import Translation
    from otel_gate.toolcalls.model import Answer
    from otel_gate.toolcalls.request import Request

REFUSED = frozenset({400, 404, 422, 501})
"""HTTP statuses by which endpoints refuse a parameter; 404 is a router's "no endpoint supports it"."""
CRASHED = frozenset({500})
"""Small servers fall over a choice that they don't know; this time is taken for a refusal, but not remembered."""


def prompted(request: Request, names: Translation) -> list[dict[str, Any]]:
    """Return the messages of a request: the dialogue as it is, then the prompt, in the provider's names."""
    if not request.prompt:
        return list(request.messages)
    return [*request.messages, {"role": "user", "content": _in_its_names(request, names)}]


def _in_its_names(request: Request, names: Translation) -> str:
    """Return the prompt as the provider's schemas speak; a field's name prevails over a tool's, whole words only."""
    said = {one.tool.name: one.alias for one in names.tools}
    for one in names.tools:
        if one.tool.name == request.tool:
            said |= one.fields
    foreign = [name for name, alias in said.items() if name != alias and name in request.prompt]
    if not foreign:
        return request.prompt
    words = "|".join(map(re.escape, sorted(foreign, key=len, reverse=True)))
    return re.sub(rf"(?<!\w)(?:{words})(?!\w)", lambda found: said[found[0]], request.prompt)


def answered(found: Any, names: Translation) -> Answer:
    """Return a client's response as an answer whose calls are in the catalogue's names."""
    answer = read(found)
    return replace(answer, calls=tuple(names.returned(call) for call in answer.calls))


class Forcing:
    """Whether a provider takes a forced choice: yes, until it refused one."""

    def __init__(self) -> None:
        self.works = True

    def sent(
        self, send: Callable[[], Any], answer: Callable[[Any], Answer], *, forced: bool
    ) -> Answer | Awaitable[Answer]:
        """Send a request and read its answer, at once or when it is awaited.

        Raises:
            ChoiceRefused: the choice was forced, and the provider refuses it.
        """
        try:
            found = send()
        except Exception as error:
            self._refused(error, forced=forced)
            raise
        return self._awaited(found, answer, forced=forced) if inspect.isawaitable(found) else answer(found)

    async def _awaited(self, found: Awaitable[Any], answer: Callable[[Any], Answer], *, forced: bool) -> Answer:
        try:
            return answer(await found)
        except Exception as error:
            self._refused(error, forced=forced)
            raise

    def _refused(self, error: Exception, *, forced: bool) -> None:
        status = getattr(error, "status_code", None)
        if forced and status in REFUSED | CRASHED:
            self.works = self.works and status in CRASHED
            raise ChoiceRefused("tool_choice", "a choice that may be forced", f"status {status}") from error
