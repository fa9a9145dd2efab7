"""A model that says what it was told to: an OpenAI-compatible endpoint on this machine, for examples without a network.

The nth request gets the nth reply, and every further one the last. Both forms of the chat completions are spoken, whole
and streamed; nothing is asked of the request but whether it wants a stream. Where a framework renames a tool
(``Orders-lookup_order``), the reply calls it by the name that the request offers.
"""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

Message = dict[str, Any]
MODEL = "scripted"


def says(text: str) -> Message:
    """Reply with a text."""
    return {"role": "assistant", "content": text}


def calls(tool: str, **arguments: Any) -> Message:
    """Reply with one tool call."""
    function = {"name": tool, "arguments": json.dumps(arguments)}
    return {"role": "assistant", "content": None, "tool_calls": [{"type": "function", "function": function}]}


@contextmanager
def scripted_model(*replies: Message, stalls: bool = False) -> Iterator[str]:
    """Serve the replies, and give the base URL to set in an OpenAI client.

    With ``stalls`` a streamed text stops after its first words, until the server is closed: a reader who leaves is
    surely the first to go.
    """
    numbers, closed = count(), threading.Event()

    class Handler(_Completions):
        stalled = closed if stalls else None

        def reply(self) -> tuple[int, Message]:
            number = next(numbers)
            return number, replies[min(number, len(replies) - 1)]

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        closed.set()
        server.shutdown()
        server.server_close()


class _Completions(BaseHTTPRequestHandler):
    stalled: threading.Event | None = None

    def reply(self) -> tuple[int, Message]:
        raise NotImplementedError

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        number, reply = self.reply()
        message = _addressed(reply, number, asked)
        body = _stream(message) if asked.get("stream") else json.dumps(_whole(message)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream" if asked.get("stream") else "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.stalled and asked.get("stream") and not message.get("tool_calls"):
            begun = body.index(b"data:", len(body) // 2)
            self.wfile.write(body[:begun])
            self.wfile.flush()
            self.stalled.wait()
            body = body[begun:]
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name that http.server gives it
        """Say nothing."""


def _addressed(reply: Message, number: int, asked: Message) -> Message:
    offered = [tool["function"]["name"] for tool in asked.get("tools") or () if "function" in tool]
    made = []
    for place, call in enumerate(reply.get("tool_calls", ()), start=1):
        wanted = call["function"]["name"]
        name = next((name for name in offered if name.endswith(wanted)), wanted)
        made.append(call | {"id": f"call_{number + 1}_{place}", "function": call["function"] | {"name": name}})
    return reply | {"tool_calls": made} if made else reply


def _whole(message: Message) -> Message:
    finish = "tool_calls" if "tool_calls" in message else "stop"
    choice = {"index": 0, "message": message, "finish_reason": finish, "logprobs": None}
    usage = {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}
    return _head("chat.completion") | {"choices": [choice], "usage": usage}


def _stream(message: Message) -> bytes:
    """Stream a text word by word and a call in one piece, as server-sent events."""
    calls = [call | {"index": index} for index, call in enumerate(message.get("tool_calls", ()))]
    words = [word + " " for word in (message["content"] or "").split()]
    deltas: list[Message] = [{"role": "assistant", "content": None if calls else ""}]
    deltas += [{"tool_calls": calls}] if calls else [{"content": word} for word in words]
    choices = [[{"index": 0, "delta": delta, "finish_reason": None}] for delta in deltas]
    choices.append([{"index": 0, "delta": {}, "finish_reason": "tool_calls" if calls else "stop"}])
    events = [json.dumps(_head("chat.completion.chunk") | {"choices": choice}) for choice in choices]
    return "".join(f"data: {event}\n\n" for event in [*events, "[DONE]"]).encode()


def _head(kind: str) -> Message:
    return {"id": "chatcmpl-1", "object": kind, "created": 1_700_000_000, "model": MODEL}
