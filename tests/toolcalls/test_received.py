"""What was received, in every form that providers have, becomes the same calls."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_gate.toolcalls.model import Answer, Call
from otel_gate.toolcalls.received import FORMS, read
from otel_gate.toolcalls.validate import validate
from tests.toolcalls.schemas import VALUES

OSLO = {"city": "Oslo"}
TEXT, CUT = json.dumps(OSLO), '{"city": "Os'
CALL = {"name": "forecast", "arguments": OSLO}
FENCE = f"```json\n{json.dumps(CALL)}\n```"
CHAT_CALL = {"id": "c1", "type": "function", "function": {"name": "forecast", "arguments": TEXT}}
BLOCK = {"type": "tool_use", "id": "c1", "name": "forecast", "input": OSLO}
PART = {"functionCall": {"name": "forecast", "args": OSLO}}


def chat(message: dict, reason: str = "tool_calls") -> dict:
    """Return a chat completion with one message."""
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": reason}
    return {"object": "chat.completion", "choices": [choice], "usage": {"prompt_tokens": 7, "completion_tokens": 5}}


ONE_CALL: dict[str, Any] = {
    "chat completion": chat({"content": None, "tool_calls": [CHAT_CALL]}),
    "chat message": {"role": "assistant", "content": None, "tool_calls": [CHAT_CALL]},
    "chat tool call": CHAT_CALL,
    "list of chat tool calls": [CHAT_CALL],
    "legacy function call": chat(
        {"content": None, "function_call": {"name": "forecast", "arguments": TEXT}}, "function_call"
    ),
    "legacy message": {"role": "assistant", "function_call": {"name": "forecast", "arguments": TEXT}},
    "response": {
        "object": "response",
        "status": "completed",
        "usage": {"input_tokens": 7, "output_tokens": 5},
        "output": [
            {"type": "reasoning", "summary": []},
            {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "forecast", "arguments": TEXT},
        ],
    },
    "response item": {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "forecast", "arguments": TEXT},
    "message of blocks": {"type": "message", "role": "assistant", "content": [BLOCK], "stop_reason": "tool_use"},
    "blocks": [{"type": "thinking", "thinking": "hm"}, BLOCK],
    "block": BLOCK,
    "candidates": {
        "candidates": [{"content": {"role": "model", "parts": [PART]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": 5},
    },
    "candidates in snake case": {
        "candidates": [{"content": {"parts": [{"function_call": {"name": "forecast", "args": OSLO}}]}}]
    },
    "content of parts": {"role": "model", "parts": [{"text": "hm", "thought": True}, PART]},
    "part": PART,
    "tools/call request": {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": CALL},
    "tools/call params": CALL,
    "name and args": {"name": "forecast", "args": OSLO, "id": "c1", "type": "tool_call"},
    "name and parameters": {"name": "forecast", "parameters": OSLO},
    "tool name and args": {"part_kind": "tool-call", "tool_name": "forecast", "args": TEXT, "tool_call_id": "c1"},
    "function as name": {"function": "forecast", "arguments": OSLO},
    "arguments as text": {"name": "forecast", "arguments": TEXT},
    "local server": {
        "message": {"role": "assistant", "content": "", "tool_calls": [{"function": CALL}]},
        "done_reason": "stop",
    },
    "framework message": {"type": "ai", "content": "", "tool_calls": [{"name": "forecast", "args": OSLO, "id": "c1"}]},
    "text": json.dumps(CALL),
    "bytes": json.dumps(CALL).encode(),
    "text of a chat completion's call": json.dumps({"tool_calls": [CHAT_CALL]}),
    "fenced text": FENCE,
    "fence among words": f"Let me look.\n{FENCE}\nDone.",
    "fence that is not closed": FENCE[:-3],
    "words around": f"I call {json.dumps(CALL)} now, with {{care}}.",
    "marked text": f"<tool_call>{json.dumps(CALL)}</tool_call>",
    "marked function": f"<function=forecast>{TEXT}</function>",
    "marked list": f"[TOOL_CALLS] [{json.dumps(CALL)}]",
    "fence as content": chat({"content": FENCE}),
    "marks as content": chat({"content": f"<tool_call>\n{json.dumps(CALL)}\n</tool_call>"}),
}


@pytest.mark.parametrize("received", ONE_CALL.values(), ids=ONE_CALL.keys())
def test_a_call_is_read_in_every_form(received: Any) -> None:
    """Each form gives the one call, with its arguments as an object and its provider's id."""
    answer = read(received)
    assert [(one.tool, one.arguments) for one in answer.calls] == [("forecast", OSLO)]
    assert answer.calls[0].id in ("", "1", "c1")
    assert answer.text in ("", "Let me look.")


@pytest.mark.parametrize("name", ["chat completion", "response", "candidates"])
def test_tokens_and_the_reason_come_along(name: str) -> None:
    """A whole response tells its tokens and why it stopped."""
    answer = read(ONE_CALL[name])
    assert (answer.input_tokens, answer.output_tokens) == (7, 5)
    assert answer.finish_reason in ("tool_calls", "completed", "STOP")


CUT_OFF = {
    "chat completion": chat({"content": "It is"}, "length"),
    "response": {"output": [], "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
    "message of blocks": {
        "role": "assistant",
        "content": [{"type": "text", "text": "It is"}],
        "stop_reason": "max_tokens",
    },
    "candidates": {"candidates": [{"content": {"parts": [{"text": "It is"}]}, "finishReason": "MAX_TOKENS"}]},
}


@pytest.mark.parametrize("received", CUT_OFF.values(), ids=CUT_OFF.keys())
def test_the_provider_s_word_for_cut_off_is_kept(received: dict) -> None:
    """Each provider's reason is read where it stands, so that ``truncated`` can be told."""
    assert [one.code for one in validate(read(received), [], call_required=True).issues] == ["truncated"]


NO_CALL = {
    "words": "It is warm in Oslo.",
    "words as content": chat({"content": "It is warm in Oslo."}, "stop"),
    "JSON as content": chat({"content": '{"answer": 42}'}, "stop"),
    "a call spoken about": chat({"content": f"Send {json.dumps(CALL)} to see the weather."}, "stop"),
    "a link": "[1](https://example.org) says so.",
    "a placeholder": "{name}, it is warm.",
    "text block": [{"type": "text", "text": "It is warm."}],
    "text parts": {"role": "model", "parts": [{"text": "It is warm."}]},
    "server's own call": [{"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}],
    "nothing": None,
    "empty text": "",
    "empty list": [],
    "empty object": {},
    "a number": 5,
}


@pytest.mark.parametrize("received", NO_CALL.values(), ids=NO_CALL.keys())
def test_an_answer_in_words_has_no_call(received: Any) -> None:
    """Text that is not a call stays text, also when JSON stands in it."""
    assert read(received).calls == ()


def test_text_is_kept_beside_calls() -> None:
    """What a model says beside its calls is the answer's text."""
    assert read([{"type": "text", "text": "I look."}, BLOCK]).text == "I look."
    assert read(NO_CALL["JSON as content"]).text == '{"answer": 42}'
    assert read("It is warm.").text == "It is warm."


MALFORMED = {
    "chat": (chat({"tool_calls": [{"id": "c1", "function": {"name": "forecast", "arguments": CUT}}]}), CUT),
    "call": ({"name": "forecast", "arguments": CUT}, CUT),
    "empty": ({"name": "forecast", "arguments": ""}, ""),
    "twice encoded": ({"name": "forecast", "arguments": json.dumps(TEXT)}, json.dumps(TEXT)),
    "null as text": ({"name": "forecast", "arguments": "null"}, "null"),
    "a number too large": ({"name": "forecast", "arguments": '{"a": 1e999}'}, '{"a": 1e999}'),
    "a key twice": ({"name": "forecast", "arguments": '{"a": 1, "a": 2}'}, '{"a": 1, "a": 2}'),
    "framework": (
        {"tool_calls": [], "invalid_tool_calls": [{"name": "forecast", "args": CUT, "id": "c1", "error": "e"}]},
        CUT,
    ),
    "cut text": ('{"name": "forecast", "arguments": {"city', '{"name": "forecast", "arguments": {"city'),
    "cut fence": ('```json\n{"name": "forecast", "arguments": {"ci', '{"name": "forecast", "arguments": {"ci'),
    "cut marks": ('<tool_call>{"name": "forecast", "arguments": {"ci', '{"name": "forecast", "arguments": {"ci'),
}


@pytest.mark.parametrize(("received", "text"), MALFORMED.values(), ids=MALFORMED.keys())
def test_malformed_arguments_stay_text(received: Any, text: str) -> None:
    """Arguments that are no JSON object are kept as they came, with the tool's name, never as an empty object."""
    [call] = read(received).calls
    assert (call.tool, call.arguments) == ("forecast", text)


def test_malformed_json_without_a_tool_s_name_is_a_call_without_one() -> None:
    """A name that may be a field's is not taken for the tool's."""
    for text in ("{'city': 'Oslo'}", '{"name": "Ivan", "city": "Os', '```\n{"city": "Oslo",}\n```'):
        [call] = read(text).calls
        assert (call.tool, type(call.arguments)) == ("", str)


def test_several_calls_keep_their_order() -> None:
    """Parallel calls are read in order, whether listed, in blocks, or one after the other in text."""
    other = {"name": "radar", "arguments": {}}
    text = f"{json.dumps(CALL)}\n{json.dumps(other)}"
    marked = "".join(f"<tool_call>{json.dumps(one)}</tool_call>\n" for one in (CALL, other))
    blocks = [BLOCK, {"type": "tool_use", "id": "c2", "name": "radar", "input": {}}]
    for received in ([CALL, other], json.dumps([CALL, other]), text, f"```\n{text}\n```", marked, blocks):
        assert [(one.tool, one.arguments) for one in read(received).calls] == [("forecast", OSLO), ("radar", {})]


BARE = [
    {"name": "Иван", "телефон": "1"},
    {"name": "x", "arguments": 5},
    {"text": "hello"},
    {"role": "admin", "content": "x"},
    {"thought": "x", "action": "y"},
    {"type": "metric"},
    {"name": "x", "input": "y", "unit": "z"},
]


@pytest.mark.parametrize("arguments", BARE)
def test_bare_arguments_are_a_call_without_a_name(arguments: dict) -> None:
    """An object that is no form of a call is arguments: of no tool, or of the one that the caller names."""
    assert read(arguments).calls == (Call("", arguments),)
    assert read(arguments, tool="it").calls == (Call("it", arguments),)
    assert read(json.dumps(arguments), tool="it").calls == (Call("it", arguments),)
    assert read(f"So: {json.dumps(arguments)}", tool="it").calls == (Call("it", arguments),)


def test_what_is_ours_passes_through() -> None:
    """An ``Answer`` is itself, and a ``Call`` is the answer with that call."""
    answer = Answer((Call("x"),), "text", "stop", 1, 2)
    assert read(answer) is answer
    assert read(Call("x")) == Answer((Call("x"),))


class Dumped:
    """An object of a client's, as far as it is used."""

    def model_dump(self, **_: Any) -> Any:
        """Return the plain form."""
        return ONE_CALL["chat completion"]


def test_a_client_s_object_is_dumped() -> None:
    """An official client's response is read by its ``model_dump``; one of its calls alone too."""
    assert read(Dumped()) == read(ONE_CALL["chat completion"])
    assert read([Dumped()]).calls == read(ONE_CALL["chat completion"]).calls


KEYS = st.sampled_from(
    [
        "name",
        "arguments",
        "type",
        "function",
        "content",
        "choices",
        "message",
        "tool_calls",
        "role",
        "parts",
        "output",
        "candidates",
        "input",
        "params",
        "method",
        "text",
        "usage",
        "functionCall",
    ]
)
WORDS = st.sampled_from(["assistant", "tool_use", "function_call", "text", "tools/call", "model", '{"a": 1}', "{", "x"])
ODD = st.recursive(
    WORDS | VALUES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)


@given(ODD | st.text(st.sampled_from('{}[]",:`<>tol_ca/=\n 1')))
def test_nothing_that_is_received_is_too_odd(received: Any) -> None:
    """Whatever comes, reading it raises nothing, and each call has a tool's name (perhaps none) that is a text."""
    answer = read(received)
    assert all(isinstance(one.tool, str) and isinstance(one.id, str) for one in answer.calls)
    assert isinstance(answer.text, str)
    assert read(received) == answer


def test_deep_and_large_texts_are_no_trouble() -> None:
    """Text of 100,000 brackets, or of as many braces, is read soon."""
    for text in ("[" * 100_000, "{" * 100_000, '{"a":' * 100_000, "`" * 100_000, "<tool_call>" * 10_000, "{ " * 50_000):
        assert len(read(text).calls) <= 1


def test_the_forms_have_names() -> None:
    """Each form of the table has a name of its own."""
    assert len({form.name for form in FORMS}) == len(FORMS)
