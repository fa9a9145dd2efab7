"""What a gateway costs, beside two collectors, and what open traces cost it.

Run it with nothing else on the machine:

    python benchmarks/gateway.py [--spans 100000] [--senders 1 8 32] [--only ours otelcol rotel]
    python benchmarks/gateway.py --open 1000 10000 100000

Each gets the same requests over HTTP: agent-like spans with ten attributes, ten spans a trace, 500 spans a request.
Ours acknowledges what is durable, writes a record a trace and forwards it; otelcol groups by trace, writes a file and
exports from a queue on the disk, with fsync; rotel passes on. All of it goes to one sink. Processor time is that of the
process from the first request until the sink has every span, memory its peak.

``--open`` holds traces open whose root never comes: memory after one span each and after ten, and the cost of a span.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.gateway_load import Sent, Template, send, sink, wait_for
from otel_gate.cli.demo.collector import free_port, rotel
from tests.collectors import end, listening, otelcol_binary
from tests.gateway.served import MIB, Served, served

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BATCH, IN_A_TRACE, WAIT_MS = 500, 10, 1_000
COST_SPANS = 50_000
ALL_OPEN: dict[str, Any] = {"max_open_bytes": 16 << 30, "trace_timeout_ms": 3_600_000, "max_trace_age_s": 7_200}
OTELCOL = """
extensions:
  file_storage: {{directory: {folder}/queue, create_directory: true, fsync: true}}
receivers:
  otlp: {{protocols: {{http: {{endpoint: "127.0.0.1:{port}"}}}}}}
processors:
  groupbytrace: {{wait_duration: {wait_ms}ms, num_traces: 1000000}}
exporters:
  file: {{path: {folder}/traces.jsonl}}
  otlp_http:
    endpoint: http://127.0.0.1:{sink}
    compression: none
    sending_queue: {{storage: file_storage, queue_size: 100000}}
service:
  extensions: [file_storage]
  telemetry: {{metrics: {{level: none}}}} # measured from outside; and no port that somebody else may have
  pipelines:
    traces: {{receivers: [otlp], processors: [groupbytrace], exporters: [file, otlp_http]}}
"""


class Running(NamedTuple):
    """One that runs: its process id, and the port of its HTTP door."""

    pid: int
    port: int


class Sink:
    """A process that counts the spans which arrive."""

    def __enter__(self) -> Self:
        """Start it."""
        command = [sys.executable, __file__, "--sink"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._ask: Any = self._process.stdin
        self._answers: Any = self._process.stdout
        self.port = self._asked()
        return self

    def __exit__(self, *_: object) -> None:
        """End it."""
        self._process.kill()
        self._process.communicate()

    @property
    def spans(self) -> int:
        """How many have arrived."""
        self._ask.write("\n")
        self._ask.flush()
        return self._asked()

    def _asked(self) -> int:
        return int(self._answers.readline())


@contextlib.contextmanager
def ours(folder: Path, to: int) -> Iterator[Running]:
    """Run our gateway."""
    environ = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{to}", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
    }  # fmt: skip
    with served(folder, environ=environ, quiet_ms=WAIT_MS, layout="segments") as gate:
        yield Running(gate.process.pid, gate.http)


@contextlib.contextmanager
def otelcol(folder: Path, to: int) -> Iterator[Running]:
    """Run the Collector."""
    binary, port, config = otelcol_binary(), free_port(), folder / "config.yaml"
    if binary is None:
        raise FileNotFoundError("otelcol: make otelcol builds it")  # noqa: TRY003
    folder.mkdir()
    config.write_text(OTELCOL.format(folder=folder, port=port, sink=to, wait_ms=WAIT_MS), encoding="utf-8")
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([str(binary), f"--config={config}"], stdout=log, stderr=log)
        try:
            listening(process, port)
            yield Running(process.pid, port)
        finally:
            end(process)


@contextlib.contextmanager
def rotel_agent(_folder: Path, to: int) -> Iterator[Running]:
    """Run rotel."""
    with rotel(f"http://127.0.0.1:{to}") as one:
        yield Running(one.process.pid, int(one.http.rpartition(":")[2]))


KINDS: dict[str, Callable[[Path, int], contextlib.AbstractContextManager[Running]]] = {
    "ours": ours, "otelcol": otelcol, "rotel": rotel_agent,
}  # fmt: skip
COLUMNS = {
    "senders": 8, "acked/s": 10, "done/s": 10, "per CPU s": 11, "p50 ms": 9, "p99 ms": 9, "peak MiB": 10, "again": 7,
}  # fmt: skip
HEAD = " " * 10 + "".join(f"{name:>{width}}" for name, width in COLUMNS.items())


def main() -> int:
    """Run what is asked for, and print a line each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spans", type=int, default=100_000)
    parser.add_argument("--senders", type=int, nargs="*", default=[1, 8, 32])
    parser.add_argument("--only", nargs="*", choices=tuple(KINDS), default=list(KINDS))
    parser.add_argument("--open", type=int, nargs="*")
    parser.add_argument("--sink", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.sink:
        asyncio.run(sink())
        return 0
    if args.open:
        return _open_traces(args.open)
    print(f"{args.spans} spans, {BATCH} a request, {IN_A_TRACE} a trace", HEAD, sep="\n", flush=True)
    for senders in args.senders:
        for name in args.only:
            print(_line(name, senders, args.spans), flush=True)
    return 0


def _line(name: str, senders: int, spans: int) -> str:
    template = Template(BATCH // IN_A_TRACE, IN_A_TRACE)
    requests = [template.request() for _ in range(-(-spans // BATCH))]
    spans = len(requests) * BATCH
    with tempfile.TemporaryDirectory() as folder, Sink() as to:
        try:
            with KINDS[name](Path(folder, name), to.port) as one:
                send(one.port, [template.request()], 1)  # it is warm then
                wait_for(lambda: to.spans >= BATCH, "the first spans at the sink")
                before, began = _cpu_s(one.pid), time.perf_counter()
                sent = send(one.port, requests, senders)
                wait_for(lambda: to.spans >= spans + BATCH, "all spans at the sink", 600)
                done_s, cpu_s = time.perf_counter() - began, _cpu_s(one.pid) - before
                return _shown(name, senders, spans, sent, done_s, cpu_s, _memory(one.pid, "VmHWM"))
        except (OSError, RuntimeError) as error:
            return f"{name:10}{senders:8}  {type(error).__name__}: {error}"


def _shown(name: str, senders: int, spans: int, sent: Sent, done_s: float, cpu_s: float, peak: int) -> str:  # noqa: PLR0913, PLR0917
    rates = f"{spans / sent.seconds:10.0f}{spans / done_s:10.0f}{spans / max(cpu_s, 0.01):11.0f}"
    return f"{name:10}{senders:8}{rates}{sent.p50_ms:9.1f}{sent.p99_ms:9.1f}{peak / MIB:10.0f}{sent.again:7}"


def _open_traces(counts: list[int]) -> int:
    print(f"{'open':>10}{'1 each MiB':>12}{'10 each MiB':>13}{'more':>7}{'us of CPU a span':>18}")
    for count in counts:
        with (
            tempfile.TemporaryDirectory() as folder,
            served(Path(folder), "--max-open-traces", str(10 * max(counts)), **ALL_OPEN) as gate,
        ):
            print(_held(gate, count), flush=True)
    return 0


def _held(gate: Served, count: int) -> str:
    in_a_request = min(BATCH, count)
    template, groups = Template(in_a_request, 1, root=False), -(-count // in_a_request)
    ids = [[os.urandom(16) for _ in range(in_a_request)] for _ in range(groups)]
    taken = 0

    def give(rounds: int) -> float:
        nonlocal taken
        before = gate.cpu_s
        for _ in range(rounds):
            send(gate.http, [template.request(group) for group in ids], 2)
        taken += rounds * groups * in_a_request
        wait_for(lambda: gate.status()["accounts"]["open"] >= taken, f"{taken} open spans", 600)
        return gate.cpu_s - before

    give(1)
    once = gate.resident_bytes
    give(9)
    ten = gate.resident_bytes
    rounds = max(COST_SPANS // (groups * in_a_request), 1)
    cost_us = give(rounds) / (rounds * groups * in_a_request) * 1e6
    return f"{groups * in_a_request:10}{once / MIB:12.0f}{ten / MIB:13.0f}{(ten - once) / once:7.1%}{cost_us:18.1f}"


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _memory(pid: int, name: str) -> int:
    text: Any = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(text.partition(f"{name}:")[2].split()[0]) * 1024


if __name__ == "__main__":
    raise SystemExit(main())
