"""What recognising tool calls and hashing their arguments costs, a span.

Agent-like spans: of ten, one is the agent's, six are the model's with their messages, three are tool calls whose
arguments are a JSON text of so many bytes. Peer in the same run: ``json.loads`` of the same spans' lines, which is what
a reader pays before it can ask anything. Aim: at most 15 us a span.

    python benchmarks/normalise.py [--spans 20000] [--arguments 200] [--repeat 5]
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from typing import TYPE_CHECKING, Any

from otel_gate.conventions import TABLE
from otel_gate.conventions.normalise import normalise
from otel_gate.core.model import Scope, Span, Trace, encode

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PER_TRACE = 50
GENAI = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search"}
OPENINFERENCE = {"openinference.span.kind": "TOOL", "tool.name": "search", "input.mime_type": "application/json"}
EMITTERS = {  # scope: what a tool span carries, and where its arguments stand
    "pydantic-ai": (GENAI, "gen_ai.tool.call.arguments"),
    "openinference.instrumentation.langchain": (OPENINFERENCE, "input.value"),
    "app.agent": (GENAI, "gen_ai.tool.call.arguments"),
}


def main() -> None:
    """Measure each emitter's spans and print what a span costs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spans", type=int, default=20_000)
    parser.add_argument("--arguments", type=int, default=200, help="bytes of arguments of a tool call")
    parser.add_argument("--repeat", type=int, default=5)
    args = parser.parse_args()
    for scope in EMITTERS:
        traces = [trace(scope, number, args.arguments) for number in range(args.spans // PER_TRACE)]
        lines = [encode(span).decode() for one in traces for span in one.spans]
        ours = timed(lambda one: normalise(one, TABLE), traces, args.repeat) / len(lines)
        peer = timed(json.loads, lines, args.repeat) / len(lines)
        tools = sum(len(normalise(one, TABLE).trace.tools) for one in traces)
        print(
            f"{scope:40} {ours * 1e6:6.2f} us a span, json.loads of it {peer * 1e6:6.2f} us, ratio {ours / peer:.2f}; "
            f"{len(lines)} spans, {tools} tool calls"
        )


def timed(work: Callable[[Any], Any], items: Sequence[Any], repeat: int) -> float:
    """Return the median of so many runs over all items, each result let go of, in seconds of CPU."""
    took = []
    for _ in range(repeat):
        start = time.process_time()
        for item in items:
            work(item)
        took.append(time.process_time() - start)
    return statistics.median(took)


def trace(scope: str, number: int, size: int) -> Trace:
    """Return a run of an agent: rounds of two model calls and a tool call."""
    rng = random.Random(number)  # noqa: S311 - the same spans every time
    root = f"{number * PER_TRACE + 1:016x}"
    spans = [
        made(root, "", "invoke_agent helper", {"run.id": f"run-{number}", "gen_ai.operation.name": "invoke_agent"})
    ]
    carries, key = EMITTERS[scope]
    for at in range(2, PER_TRACE + 1):
        span_id = f"{number * PER_TRACE + at:016x}"
        if at % 10 in (2, 5, 8):
            given = {"query": words(rng, size), "limit": rng.randrange(100), "strict": True}
            spans.append(made(span_id, root, "execute_tool search", {**carries, key: json.dumps(given)}))
        else:
            asked = {
                "gen_ai.operation.name": "chat", "gen_ai.request.model": "small-1",
                "gen_ai.usage.input_tokens": rng.randrange(4000), "gen_ai.input.messages": words(rng, 1500),
            }  # fmt: skip
            spans.append(made(span_id, root, "chat small-1", asked))
    return Trace(f"{number + 1:032x}", tuple(spans), scopes=(Scope(scope, "1.0"),))


def made(span_id: str, parent: str, name: str, attributes: dict[str, Any]) -> Span:
    """Return a span of ten attributes or so."""
    also = {"session.id": "s-1", "server.address": "127.0.0.1", "agent.version": "3", "retry": False, "round": 2}
    return Span(span_id, parent, name, 1, 2, "ok", {**attributes, **also}, (), scope=0)


def words(rng: random.Random, length: int) -> str:
    """Return a text of about so many characters."""
    return " ".join(rng.choices(("order", "was", "shipped", "broken", "label", "Grüße", "search"), k=length // 6))


if __name__ == "__main__":
    main()
