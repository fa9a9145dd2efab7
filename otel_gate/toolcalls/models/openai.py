"""Any OpenAI-compatible endpoint as a model, through the official client (extra ``openai``), sync or async alike.

Tools go out in the provider's names and come back in the catalogue's. A forced choice that the endpoint refuses is
``ChoiceRefused``, and not tried again with this model: from then on the prompt alone says which tool is due.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_gate.toolcalls.forms import to_openai
from otel_gate.toolcalls.models.exchange import Forcing, answered, prompted

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from otel_gate.toolcalls.forms.translation import Translation
    from otel_gate.toolcalls.model import Answer
    from otel_gate.toolcalls.request import Request


class OpenAIModel:
    """``openai.OpenAI`` or ``openai.AsyncOpenAI`` as a model; ``options`` go with every request (``temperature=0``).

    The dialogue is in the form of chat completions. ``tokens`` names the parameter of the budget: newer models of
    OpenAI's want ``max_completion_tokens``, most others know ``max_tokens`` only. ``strict``: schemas are sent as such.
    """

    def __init__(
        self, client: Any, model: str, *, tokens: str = "max_tokens", strict: bool = False, **options: Any
    ) -> None:
        """Take the client as it is: address, key, time-outs and retries are its own."""
        self._client, self._model, self._tokens, self._strict, self._options = client, model, tokens, strict, options
        self._forcing = Forcing()

    def __call__(self, request: Request) -> Answer | Awaitable[Answer]:
        """Send a request; the answer, or what is awaited for it, as the client is.

        Raises:
            ChoiceRefused: the endpoint does not take the forced choice.
        """
        body, names = self._body(request)
        forced = isinstance(body.get("tool_choice"), dict) or body.get("tool_choice") == "required"
        return self._forcing.sent(
            lambda: self._client.chat.completions.create(**body), lambda found: answered(found, names), forced=forced
        )

    def _body(self, request: Request) -> tuple[dict[str, Any], Translation]:
        written = to_openai(request.tools, strict=self._strict)
        body: dict[str, Any] = {"model": self._model, "messages": prompted(request, written.names), **self._options}
        if written.tools and request.output == "call":
            body |= {"tools": written.tools, "tool_choice": self._choice(request, written.names)}
        if request.max_tokens:
            body[self._tokens] = request.max_tokens
        return body, written.names

    def _choice(self, request: Request, names: Translation) -> Any:
        if not (request.call_required and request.force and self._forcing.works):
            return "auto"
        if request.tool:
            return {"type": "function", "function": {"name": names.alias(request.tool)}}
        return "required"
