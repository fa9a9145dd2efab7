"""What the journal costs: an append, the recovery of a killed process, and the memory of what is open.

Each part is a fresh process. Memory is the resident set above that of a process that has set everything up; the batch
span processor holds the same spans in its queue, with its limit raised so that it drops none. Run it with nothing else
on the machine; the memory part wants 8 GiB:

    python benchmarks/journal.py [--traces 10000] [--spans 100]
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
from pathlib import Path
from typing import Any

ATTRIBUTES = {
    "gen_ai.operation.name": "chat", "gen_ai.request.model": "small-1", "gen_ai.usage.input_tokens": 512,
    "gen_ai.usage.output_tokens": 128, "gen_ai.response.id": "resp-0123456789", "session.id": "s-42",
    "server.address": "127.0.0.1", "retry": False,
}  # fmt: skip
STEPS = 4
LINE = 600
APPENDS = 100_000
PARTS = ("append", "append-synced", "recover", "memory-gate", "memory-bsp")


def append(store: str, sync: str) -> dict[str, Any]:
    """Time single appends of a line of ``LINE`` bytes, and bare writes of as many bytes to a file."""
    from otel_gate.pipeline.messages import Ended, encode
    from otel_gate.store.files import Files
    from otel_gate.store.journal import Journal

    journal = Journal(Path(store), Files(), {}, list, sync=sync == "always", segment_bytes=1 << 40)
    journal.open()
    payload = encode(Ended("a" * 32, "b" * 16, b"x" * LINE, False, ""))  # noqa: FBT003
    with (Path(store) / "bare").open("ab", buffering=0) as file:
        bare = _timed(lambda: file.write(payload), APPENDS)
    spent = _timed(lambda: journal.append(payload), APPENDS if sync == "process" else 500)
    journal.close(remove=True)
    return {"bare": bare, "append": spent}


def _timed(call: Any, times: int) -> dict[str, float]:
    spent = []
    for _ in range(times):
        began = time.perf_counter_ns()
        call()
        spent.append((time.perf_counter_ns() - began) / 1000)
    return {"median": statistics.median(spent), "p99": statistics.quantiles(spent, n=100)[-1]}


def hold(setup: str, store: str, traces: int, spans: int) -> dict[str, Any]:
    """Have ``traces`` traces with an open root and ``spans`` ended children each, and measure memory on the way."""
    from opentelemetry import trace

    provider, settle = _provider(setup, store, traces * spans)
    tracer = provider.get_tracer("benchmark")
    base = _resident()
    roots = [trace.set_span_in_context(tracer.start_span("agent.run")) for _ in range(traces)]
    settle()
    grown = [{"spans": 0, "mib": _resident() - base}]
    for number in range(spans):
        for root in roots:
            tracer.start_span("chat", root, attributes=ATTRIBUTES).end()
        if (number + 1) % max(spans // STEPS, 1) == 0:
            settle()
            grown.append({"spans": (number + 1) * traces, "mib": _resident() - base})
    print(json.dumps({"memory": grown}), flush=True)
    os.kill(os.getpid(), 9)  # what is open is left to recovery
    return {}


def _provider(setup: str, store: str, spans: int) -> tuple[Any, Any]:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    provider = TracerProvider(shutdown_on_exit=False)
    if setup == "bsp":
        queue = spans + 1
        provider.add_span_processor(
            BatchSpanProcessor(InMemorySpanExporter(), queue, 10**9, queue, 10**9),
        )
        return provider, lambda: None
    from otel_gate import GateSpanProcessor

    gate = GateSpanProcessor(store=store, max_open_bytes=10**12)
    provider.add_span_processor(gate)

    def settle() -> None:  # every span was taken by the worker
        while gate.door.pipeline.inbox.has_something:
            gate.status()

    return provider, settle


def _resident() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def recovery(store: str, traces: int) -> dict[str, Any]:
    """Time ``otel-gate recover`` after a process with ``traces`` open traces of ten spans was killed."""
    _run("memory-gate", store, traces, 10)
    size = sum(path.stat().st_size for path in Path(store).rglob("*.segment"))
    began = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", RECOVER, "--store", store, "recover"], check=True, capture_output=True,
                          text=True)  # fmt: skip
    spent = time.perf_counter() - began
    records = sum(1 for _ in Path(store).glob("records/*/*.json"))
    peak = float(done.stderr.rpartition("\n")[2] or 0) / 1024
    return {"seconds": spent, "records": records, "journal_mib": size / 2**20, "peak_mib": peak}


RECOVER = """
import resource, sys
from otel_gate.cli import main
code = main(sys.argv[1:])
print(end=f"\\n{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}", file=sys.stderr)
sys.exit(code)
"""


def part(name: str, store: str, traces: int, spans: int) -> dict[str, Any]:
    """Measure one part in this process."""
    if name == "recover":
        return recovery(store, traces)
    kind, _, setup = name.partition("-")
    return append(store, "always" if setup else "process") if kind == "append" else hold(setup, store, traces, spans)


def _run(name: str, store: str, traces: int, spans: int) -> dict[str, Any]:
    sizes = ["--traces", str(traces), "--spans", str(spans)]
    command = [sys.executable, __file__, "--part", name, "--store", store, *sizes]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not done.stdout:
        raise SystemExit(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Measure every part in a process of its own, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traces", type=int, default=10_000)
    parser.add_argument("--spans", type=int, default=100)
    parser.add_argument("--part", choices=PARTS, help="measure one part here, and print JSON")
    parser.add_argument("--store", default="")
    args = parser.parse_args()
    if args.part:
        print(json.dumps(part(args.part, args.store, args.traces, args.spans)))
        return
    found = {}
    for name in PARTS:
        with tempfile.TemporaryDirectory() as store:
            found[name] = _run(name, store, args.traces, args.spans)
    plain, synced, back = found["append"], found["append-synced"]["append"], found["recover"]
    print(f"append of {LINE} bytes: {plain['append']['median']:.1f} us median, {plain['append']['p99']:.1f} us p99; "
          f"a bare write: {plain['bare']['median']:.1f} us, {plain['bare']['p99']:.1f} us")  # fmt: skip
    print(f"append with sync=always: {synced['median']:.0f} us median, {synced['p99']:.0f} us p99")
    print(f"recovery: {back['records']} traces of 10 spans ({back['journal_mib']:.0f} MiB) in {back['seconds']:.1f} s, "
          f"{back['records'] / back['seconds']:.0f} a second, at most {back['peak_mib']:.0f} MiB resident")  # fmt: skip
    print(f"\nresident MiB with {args.traces} open traces, above a process that holds nothing\n")
    print(f"{'ended spans':>12} {'gate':>8} {'BatchSpanProcessor':>20}")
    for gate, bsp in zip(found["memory-gate"]["memory"], found["memory-bsp"]["memory"], strict=True):
        print(f"{gate['spans']:>12} {gate['mib']:>8.0f} {bsp['mib']:>20.0f}")


if __name__ == "__main__":
    main()
