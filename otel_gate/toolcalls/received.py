"""What a model answered, in whatever form it came, as an ``Answer``: one table of forms, the first that fits reads it.

Read are whole responses, messages, lists of blocks and single calls of OpenAI (chat, legacy functions, responses API),
Anthropic, Gemini and MCP, messages of LangChain and Pydantic AI, ``{name, arguments}``, bare arguments, and text with
JSON in it. Arguments that are no JSON stay the text that they are, and no form invents a call: text inside a provider's
message is a call only when it is nothing else, because an answer may well speak about JSON.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from otel_gate.toolcalls import received_calls, received_text
from otel_gate.toolcalls.model import Answer, Call
from otel_gate.toolcalls.received_calls import bare, first, is_named, mapping, named

if TYPE_CHECKING:
    from collections.abc import Callable

_Object = dict[str, Any]
MOST_LAYERS = 8


def read(received: Any, *, tool: str = "") -> Answer:
    """Return the calls, the text, the reason for stopping and the tokens of what was received.

    ``received`` is a JSON value, text, bytes, or an object with ``model_dump`` (the official clients' responses).
    ``tool`` is whom arguments without a tool's name belong to. What is in no form that is known is an answer without
    a call, and None is an empty one.
    """
    return _read(received, tool, 0)


def _read(received: Any, tool: str, layer: int) -> Answer:
    if isinstance(received, Answer):
        return received
    if isinstance(received, Call):
        return Answer((received,))
    if isinstance(received, bytes | bytearray):
        received = bytes(received).decode("utf-8", "replace")
    if isinstance(received, str):
        return _of_text(received, tool)
    value = mapping(received)
    if isinstance(value, list):
        return _of_list(value, tool, layer)
    if not isinstance(value, dict) or layer > MOST_LAYERS:
        return Answer()
    form = next((form for form in FORMS if form.fits(value)), None)
    return form.read(value, layer) if form else Answer((bare(value, tool),) if value or tool else ())


def _of_text(text: str, tool: str) -> Answer:
    calls = received_text.calls(text, tool)
    return Answer(tuple(calls), text="" if calls else text)


def _of_list(items: list[Any], tool: str, layer: int) -> Answer:
    """Join what stands in a list: calls, blocks of a message, items of an output, or messages."""
    answers = [_block(item) or _part(item) or _read(item, tool, layer + 1) for item in map(mapping, items)]
    calls = tuple(call for one in answers for call in one.calls)
    texts = [one.text for one in answers if one.text]
    reason = next((one.finish_reason for one in reversed(answers) if one.finish_reason), "")
    return Answer(calls, "\n".join(texts), reason)


def _block(item: Any) -> Answer | None:
    """Read one block of a message, or one item of an output; None when it is neither."""
    if isinstance(item, str):
        return Answer(text=item)
    if not isinstance(item, dict):
        return Answer()
    for key in ("functionCall", "function_call"):
        if isinstance(item.get(key), dict):
            return Answer((named(item[key]),))
    kind = item.get("type", item.get("part_kind"))
    return _typed(item, kind) if isinstance(kind, str) else None


def _typed(item: _Object, kind: str) -> Answer | None:
    if kind in CALLS:
        return Answer((named(item),))
    if kind in TEXTS and (texts := item.keys() & TEXT_KEYS):
        return Answer(text=_text(item[min(texts)]))
    return Answer() if kind in PASSED_OVER else None


def _part(item: Any) -> Answer | None:
    """Read a part that has no type: text, perhaps a thought."""
    if not isinstance(item, dict) or "text" not in item or not item.keys() <= UNTYPED:
        return None
    return Answer(text="" if item.get("thought") is True else _text(item["text"]))


CALLS = frozenset({"tool_use", "function_call", "custom_tool_call", "tool_call", "invalid_tool_call", "tool-call"})
TEXTS = frozenset({"text", "output_text", "refusal"})
TEXT_KEYS = frozenset({"text", "content", "refusal"})
UNTYPED = frozenset({"text", "thought", "thoughtSignature", "thought_signature"})
SPEAKERS = frozenset({"assistant", "model", "ai", "response"})
PASSED_OVER = frozenset({
    "code_interpreter_call", "computer_call", "file_search_call", "function_call_output", "image", "image_url",
    "mcp_call", "mcp_list_tools", "mcp_tool_result", "mcp_tool_use", "reasoning", "redacted_thinking",
    "server_tool_use", "thinking", "tool_result", "tool-return", "web_search_call", "web_search_tool_result",
})  # fmt: skip
"""Blocks that hold no call for the agent: thoughts, results, and calls that the provider makes itself."""


def _of_chat(value: _Object, layer: int) -> Answer:
    choices = value["choices"]
    choice = mapping(choices[0]) if choices else {}
    if not isinstance(choice, dict):
        return Answer()
    message = mapping(first(choice, "message", "delta")) or {"content": choice.get("text")}
    answer = _of_message(message, layer) if isinstance(message, dict) else Answer()
    return _with(answer, choice.get("finish_reason"), value.get("usage"))


def _of_message(value: _Object, layer: int) -> Answer:
    calls = [named(one) for key in ("tool_calls", "invalid_tool_calls") for one in _items(value.get(key))]
    if isinstance(value.get("function_call"), dict):
        calls.append(named(value["function_call"]))
    inner = _content(first(value, "content", "parts"), layer)
    if calls:
        # LangChain repeats Anthropic's blocks beside its own list of calls
        return _with(Answer(tuple(calls), inner.text), *_end(value))
    return _with(inner, *_end(value))


def _content(content: Any, layer: int) -> Answer:
    if isinstance(content, list):
        return _of_list(content, "", layer + 1)
    text = _text(content)
    calls = received_text.only_calls(text)
    return Answer(tuple(calls), "" if calls else text)


def _of_output(value: _Object, layer: int) -> Answer:
    details = value.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, dict) else value.get("status")
    return _with(_of_list(value["output"], "", layer + 1), reason, value.get("usage"))


def _of_candidates(value: _Object, layer: int) -> Answer:
    candidates = value["candidates"]
    one = mapping(candidates[0]) if candidates else {}
    if not isinstance(one, dict):
        return Answer()
    content = mapping(one.get("content"))
    parts = content.get("parts") if isinstance(content, dict) else None
    answer = _of_list(parts, "", layer + 1) if isinstance(parts, list) else Answer()
    return _with(answer, first(one, "finishReason", "finish_reason"), first(value, "usageMetadata", "usage_metadata"))


def _of_request(value: _Object, _: int) -> Answer:
    params = value["params"]
    return Answer((Call(_text(params.get("name")), params.get("arguments"), _text(value.get("id"))),))


def _end(value: _Object) -> tuple[Any, Any]:
    metadata = value.get("response_metadata")
    inside = metadata if isinstance(metadata, dict) else {}
    names = ("finish_reason", "stop_reason", "done_reason")
    return first(value, *names) or first(inside, *names), first(value, "usage", "usage_metadata")


def _with(answer: Answer, reason: Any, usage: Any) -> Answer:
    tokens = usage if isinstance(usage, dict) else {}
    spent = _count(tokens, "completion_tokens", "output_tokens", "candidatesTokenCount", "candidates_token_count")
    read_ = _count(tokens, "prompt_tokens", "input_tokens", "promptTokenCount", "prompt_token_count")
    return Answer(answer.calls, answer.text, _text(reason), spent, read_)


def _count(tokens: _Object, *names: str) -> int:
    value = first(tokens, *names)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None or isinstance(value, dict | list) else str(getattr(value, "value", value))


def _is_message(value: _Object) -> bool:
    if isinstance(value.get("tool_calls"), list) or isinstance(value.get("function_call"), dict):
        return True
    speaker = first(value, "role", "kind", "type")
    is_ours = isinstance(speaker, str) and speaker in SPEAKERS
    return is_ours and isinstance(first(value, "content", "parts"), str | list)


class Form(NamedTuple):
    """A form of what is received: how it is known, and how it is read."""

    name: str
    fits: Callable[[_Object], bool]
    read: Callable[[_Object, int], Answer]


FORMS = (
    Form("chat completion", lambda value: isinstance(value.get("choices"), list), _of_chat),
    Form("response with output items", lambda value: isinstance(value.get("output"), list), _of_output),
    Form("candidates", lambda value: isinstance(value.get("candidates"), list), _of_candidates),
    Form(
        "tools/call request",
        lambda value: value.get("method") == "tools/call" and isinstance(value.get("params"), dict),
        _of_request,
    ),
    Form("message", _is_message, _of_message),
    Form(
        "local server's answer",
        lambda value: isinstance(value.get("message"), dict) and "role" in value["message"],
        lambda value, layer: _with(_of_message(value["message"], layer), *_end(value)),
    ),
    Form("block", lambda value: _block(value) is not None, lambda value, _: _block(value) or Answer()),
    Form("call", is_named, lambda value, _: Answer((received_calls.named(value),))),
)
"""Every form but text and bare arguments, in the order in which they are tried."""
