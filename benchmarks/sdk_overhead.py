"""What the gate costs the agent: time of ``span.end()`` and CPU a span, beside the SDK's own way, in one run.

Each line is a fresh process that makes traces of agent-like spans (8 attributes) and then shuts down; CPU is that of
all its threads, from the first span to the end of the shutdown. Run it with nothing else on the machine:

    python benchmarks/sdk_overhead.py [--spans 20000]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

from otel_gate.cli.demo.collector import rotel

TOOLS = "tool-spans"
SETUPS = ("none", "bsp-null", "bsp-otlp", "gate", "gate-no-forward")
ATTRIBUTES = {
    "gen_ai.operation.name": "chat", "gen_ai.request.model": "small-1", "gen_ai.usage.input_tokens": 512,
    "gen_ai.usage.output_tokens": 128, "gen_ai.response.id": "resp-0123456789", "session.id": "s-42",
    "server.address": "127.0.0.1", "retry": False,
}  # fmt: skip
ARGUMENTS = {
    "query": "how do I return a parcel that was damaged",
    "limit": 10,
    "lang": "en",
    "filter": "open orders only",
}


def make_provider(setup: str, store: str, endpoint: str) -> Any:
    """Build a tracer provider in one of the set-ups."""
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

    class Null(SpanExporter):
        def export(self, spans: Any) -> SpanExportResult:  # noqa: ARG002
            return SpanExportResult.SUCCESS

    provider = TracerProvider()
    if setup == "bsp-null":
        provider.add_span_processor(BatchSpanProcessor(Null(), max_queue_size=1 << 20))
    elif setup == "bsp-otlp":
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter

        exporter = OTLPSpanExporter(endpoint=endpoint, insecure=True)
        provider.add_span_processor(BatchSpanProcessor(exporter, max_queue_size=1 << 20))
    elif setup.startswith("gate"):
        from otel_gate import GateSpanProcessor

        if setup == "gate":
            os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = endpoint
        provider.add_span_processor(GateSpanProcessor(store=store))
    return provider


def work(setup: str, spans: int, a_trace: int, store: str, endpoint: str) -> dict[str, float]:
    """Make spans in this process and measure: ``end()`` first, then CPU with no clock read in between."""
    from opentelemetry import trace

    provider = make_provider(setup, store, endpoint)
    tracer = provider.get_tracer("bench", "1")
    ends: list[int] = []

    def one_trace(end: Any) -> None:
        root = tracer.start_span("agent.run", attributes={"run.id": "r"})
        parent = trace.set_span_in_context(root)
        for _ in range(a_trace - 1):
            end(tracer.start_span("chat small-1", parent, attributes=ATTRIBUTES))
        root.end()

    def many(count: int, end: Any) -> None:
        for number in range(count):
            one_trace(end)
            if number % 10 == 9:
                time.sleep(0.002)

    many(20, lambda span: span.end())
    many(spans // a_trace // 4, lambda span: ends.append(_timed(span.end)))
    provider.force_flush()
    time.sleep(0.5)
    cpu = time.process_time()
    many(spans // a_trace, lambda span: span.end())
    provider.shutdown()
    cpu = time.process_time() - cpu
    p99 = sorted(ends)[len(ends) * 99 // 100]
    return {"median": statistics.median(ends) / 1e3, "p99": p99 / 1e3, "cpu": cpu / spans * 1e6}


def tools(store: str, endpoint: str) -> dict[str, float]:
    """Measure ``end()`` of tool spans in this process."""
    from otel_gate import tool_span

    provider = make_provider("gate", store, endpoint)
    tracer = provider.get_tracer("bench", "1")
    ends: list[int] = []
    for _ in range(300):
        with tracer.start_as_current_span("agent.run"):
            for _ in range(10):
                with tool_span("search", ARGUMENTS, tracer=tracer) as span:
                    end = span.end
                    span.end = lambda end=end: ends.append(_timed(end))  # type: ignore[method-assign, misc]
        time.sleep(0.001)
    provider.shutdown()
    return {"median": statistics.median(ends) / 1e3}


def _timed(end: Any) -> int:
    begun = time.perf_counter_ns()
    end()
    return time.perf_counter_ns() - begun


def main() -> None:
    """Run every set-up in its own process and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--spans", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--one", nargs=4, metavar=("SETUP", "A_TRACE", "STORE", "ENDPOINT"))
    options = parser.parse_args()
    if options.one:
        setup, a_trace, store, endpoint = options.one
        measured = (
            tools(store, endpoint) if setup == TOOLS else work(setup, options.spans, int(a_trace), store, endpoint)
        )
        print(json.dumps(measured))
        return
    with rotel() as collector, tempfile.TemporaryDirectory() as folder:
        for a_trace in (50, 10):
            print(f"\n{a_trace} spans a trace, {options.spans} spans, best CPU of {options.rounds} rounds")
            print(f"{'set-up':<18}{'end() median us':>16}{'p99 us':>10}{'CPU us/span':>13}{'of bsp-otlp':>13}")
            rounds: dict[str, list[dict[str, float]]] = {setup: [] for setup in SETUPS}
            for number in range(options.rounds):
                for setup in SETUPS:
                    store = f"{folder}/{setup}-{a_trace}-{number}"
                    rounds[setup].append(_fresh(setup, options.spans, a_trace, store, collector.grpc))
            best = {setup: min(results, key=lambda result: result["cpu"]) for setup, results in rounds.items()}
            for setup, result in best.items():
                ratio = result["cpu"] / best["bsp-otlp"]["cpu"]
                print(f"{setup:<18}{result['median']:>16.1f}{result['p99']:>10.1f}{result['cpu']:>13.1f}{ratio:>13.2f}")
        median = _fresh(TOOLS, options.spans, 10, f"{folder}/{TOOLS}", collector.grpc)["median"]
        print(f"\nend() of a tool span with 100 bytes of arguments: {median:.1f} us median")


def _fresh(setup: str, spans: int, a_trace: int, store: str, endpoint: str) -> dict[str, float]:
    """Run one set-up in a process of its own, on a file system that has nothing left to do from the last one."""
    os.sync()
    command = [sys.executable, __file__, "--spans", str(spans), "--one", setup, str(a_trace), store, endpoint]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


if __name__ == "__main__":
    main()
