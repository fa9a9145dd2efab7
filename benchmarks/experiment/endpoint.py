"""An OpenAI-compatible endpoint as the model of the experiment; that it gives no answer is an error of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.errors import InputError, UsageError

if TYPE_CHECKING:
    from otel_gate.toolcalls.model import Answer
    from otel_gate.toolcalls.request import Model, Request


class Unanswered(InputError):  # noqa: N818 - said of a request
    """The endpoint can't be reached, or answers with an error."""


def endpoint(url: str, name: str, key: str) -> Model:
    """Return the model behind an endpoint.

    Raises:
        UsageError: the client is not installed, or the address is none.
    """
    try:
        import openai
    except ImportError as error:
        raise UsageError("--endpoint", "the client openai", "none", "pip install openai") from error

    from otel_gate.toolcalls.models.openai import OpenAIModel

    try:
        model = OpenAIModel(openai.OpenAI(base_url=url, api_key=key), name, temperature=0)
    except Exception as error:  # the client's parts raise what they like
        raise UsageError("--endpoint", "an address", repr(url)[:80], "http://127.0.0.1:8000/v1") from error

    def ask(request: Request) -> Answer:
        try:
            return model(request)  # type: ignore[return-value]  # the client is synchronous
        except openai.OpenAIError as error:
            got = f"{type(error).__name__}: {error}"[:200]
            try_ = "another --endpoint, --model or --key-from"
            raise Unanswered(which=f"endpoint {url}", expected="an answer", got=got, try_=try_) from error

    return ask
