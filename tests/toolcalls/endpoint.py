"""A loopback endpoint that answers from a script, for the official clients: it keeps what it was sent."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


class Endpoint:
    """An HTTP server on a free port; ``script`` holds the next answers: a body, or a status and a body."""

    def __init__(self, *script: Any) -> None:
        self.script, self.bodies, self.paths = list(script), list[Any](), list[str]()
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                endpoint.paths.append(self.path)
                endpoint.bodies.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
                answer = endpoint.script.pop(0)
                status, body = answer if isinstance(answer, tuple) else (200, answer)
                content = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def completion(name: str = "", arguments: str = "", text: str | None = None, reason: str = "stop") -> dict[str, Any]:
    """Return a chat completion that calls one tool, or says a text."""
    function = {"name": name, "arguments": arguments}
    calls = [{"id": "call_1", "type": "function", "function": function}] if name else None
    message = {"role": "assistant", "content": text, "tool_calls": calls}
    return {
        "id": "c", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if name else reason}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 16},
    }  # fmt: skip


def message(name: str = "", arguments: dict[str, Any] | None = None, text: str = "") -> dict[str, Any]:
    """Return a message of the messages form that calls one tool, or says a text."""
    call = {"type": "tool_use", "id": "toolu_1", "name": name, "input": arguments or {}}
    return {
        "id": "m", "type": "message", "role": "assistant", "model": "m",
        "content": [call] if name else [{"type": "text", "text": text}],
        "stop_reason": "tool_use" if name else "end_turn", "stop_sequence": None,
        "usage": {"input_tokens": 11, "output_tokens": 5},
    }  # fmt: skip
