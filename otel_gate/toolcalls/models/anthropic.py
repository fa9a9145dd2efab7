"""The messages form as a model, through the official client (extra ``anthropic``), sync or async alike.

For one field name outside the provider's alphabet a whole request is refused, so tools go out under aliases and calls
come back in the catalogue's names. A choice can't be forced while the model thinks: that refusal is ``ChoiceRefused``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_gate.toolcalls.forms import to_anthropic
from otel_gate.toolcalls.models.exchange import Forcing, answered, prompted

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from otel_gate.toolcalls.forms.translation import Translation
    from otel_gate.toolcalls.model import Answer
    from otel_gate.toolcalls.request import Request

USUAL_TOKENS = 1_024  # the provider has no default of its own


class AnthropicModel:
    """``anthropic.Anthropic`` or ``AsyncAnthropic`` as a model; ``options`` go with every request (``system="…"``).

    The dialogue is in the messages form, without its system prompt.
    """

    def __init__(self, client: Any, model: str, **options: Any) -> None:
        """Take the client as it is: address, key, time-outs and retries are its own."""
        self._client, self._model, self._options = client, model, options
        self._forcing = Forcing()

    def __call__(self, request: Request) -> Answer | Awaitable[Answer]:
        """Send a request; the answer, or what is awaited for it, as the client is.

        Raises:
            ChoiceRefused: the provider does not take the forced choice.
        """
        body, names = self._body(request)
        forced = body.get("tool_choice", {}).get("type") in ("any", "tool")
        return self._forcing.sent(
            lambda: self._client.messages.create(**body), lambda found: answered(found, names), forced=forced
        )

    def _body(self, request: Request) -> tuple[dict[str, Any], Translation]:
        written = to_anthropic(request.tools)
        body: dict[str, Any] = {
            "model": self._model,
            "messages": prompted(request, written.names),
            "max_tokens": USUAL_TOKENS,
            **self._options,
        }
        if request.max_tokens:
            body["max_tokens"] = request.max_tokens
        if written.tools and request.output == "call":
            body |= {"tools": written.tools, "tool_choice": self._choice(request, written.names)}
        return body, written.names

    def _choice(self, request: Request, names: Translation) -> dict[str, Any]:
        if not (request.call_required and request.force and self._forcing.works):
            return {"type": "auto"}
        return {"type": "tool", "name": names.alias(request.tool)} if request.tool else {"type": "any"}
