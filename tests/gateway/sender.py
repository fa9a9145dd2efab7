"""A command for ``otel-gate run``: sends a trace for each argument, the rule that it breaks or ``good``, as OTLP/JSON.

What follows ``=`` names its second span. ``exit=N`` ends the command with that code, ``signal=N`` with that signal,
``wait`` when it gets SIGTERM, with 7. It needs no package, so that it starts fast.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import urllib.request
from typing import Any

START = 1_790_000_000_000_000_000


def attributes(**values: str) -> list[dict[str, Any]]:
    """Return attributes as OTLP/JSON has them."""
    return [{"key": key.replace("__", "."), "value": {"stringValue": value}} for key, value in values.items()]


def request(rule: str, name: str = "tool.search") -> dict[str, Any]:
    """Return the request with a trace that breaks a rule."""
    ids = {"traceId": os.urandom(16).hex()}
    times = {"startTimeUnixNano": str(START), "endTimeUnixNano": str(START + 9)}
    given = {"tool__name": "search", "input__sha256": "ab" * 32}
    if rule == "G303":
        del given["input__sha256"]
    root: dict[str, Any] = {**ids, "spanId": "00000000000000b1", "name": "agent.run", **times}
    root["attributes"] = attributes(**({} if rule == "G301" else {"run__id": "run-1"}))
    parent = "00000000000000ff" if rule == "G103" else "00000000000000b1"
    tool: dict[str, Any] = {**ids, "spanId": "00000000000000b2", "parentSpanId": parent, "name": name, **times}
    tool["attributes"] = attributes(**given)
    return {"resourceSpans": [{"scopeSpans": [{"spans": [tool, root]}]}]}


def send(content: dict[str, Any]) -> None:
    """Send a request where the environment says."""
    url = os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] + "/v1/traces"
    asked = urllib.request.Request(url, json.dumps(content).encode(), {"Content-Type": "application/json"})  # noqa: S310
    with urllib.request.urlopen(asked, timeout=20) as answer:  # noqa: S310 - loopback
        assert answer.status == 200


def main() -> None:
    """Do what the arguments say."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
    for argument in sys.argv[1:]:
        word, _, value = argument.partition("=")
        if word == "exit":
            sys.exit(int(value))
        elif word == "signal":
            os.kill(os.getpid(), int(value))
        elif word == "wait":
            print("waits", flush=True)  # noqa: T201 - what it says
            signal.pause()
        else:
            send(request(word, value or "tool.search"))


if __name__ == "__main__":
    main()
