"""How many records a second are written, as files and as lines of segments, in one run: durable and in the index.

A record is a well-formed trace of ``--spans`` agent-like spans; groups are of ``--group`` traces, as a pipeline commits
them. The two layouts take turns, so that the noise of the machine is on both; the ratio is of medians. ``disk`` is what
the store takes, ``cpu`` the processor time of a record. Run it on the disk that you mean:

    python benchmarks/records.py [--records 2000] [--spans 10] [--group 256] [--rounds 5] [--folder FOLDER]
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from otel_gate.core import record
from otel_gate.core.gate import judge
from otel_gate.core.model import Completion, Record, Source, Span, Trace
from otel_gate.rules import RULES
from otel_gate.store import Saved, Store

LAYOUTS = ("files", "segments")
START_NS = 1_764_547_200_000_000_000
ATTRIBUTES: dict[str, Any] = {
    "gen_ai.operation.name": "chat", "gen_ai.request.model": "small-1", "gen_ai.usage.input_tokens": 512,
    "gen_ai.usage.output_tokens": 128, "gen_ai.response.id": "resp-0123456789", "session.id": "s-42",
    "server.address": "127.0.0.1", "retry": False, "run.id": "run-1", "temperature": 0.5,
}  # fmt: skip


class Measured(NamedTuple):
    """Seconds of the clock and of the processor for all records, and the bytes of the store."""

    clock_s: float
    cpu_s: float
    disk: int


def trace(spans: int) -> Trace:
    """Return a well-formed trace with an id of its own."""
    ids = [os.urandom(8).hex() for _ in range(spans)]
    made = [
        Span(one, ids[0] if number else "", f"step-{number}", START_NS + number, START_NS + spans + number, "ok",
             ATTRIBUTES, ())
        for number, one in enumerate(ids)
    ]  # fmt: skip
    return Trace(os.urandom(16).hex(), tuple(made), completion=Completion("root_ended"), source=Source("otlp"))


def measured(folder: Path, layout: str, made: list[Record], group: int) -> Measured:
    """Write all records to a new store, group by group."""
    store = Store(folder, layout=layout)
    store.reconcile((), _passes)
    clock_s, cpu_s = time.perf_counter(), time.process_time()
    for start in range(0, len(made), group):
        wanted = [(one.trace_id, lambda _before, one=one: one) for one in made[start : start + group]]
        results = store.save_all(wanted)
        saved = [one for one in results if isinstance(one, Saved)]
        if len(saved) != len(wanted):
            message = f"not all records were written: {results}"
            raise SystemExit(message)
        store.settle(saved, ("otlp",), _passes)
    clock_s, cpu_s = time.perf_counter() - clock_s, time.process_time() - cpu_s
    store.close()
    disk = sum(path.stat().st_blocks * 512 for path in folder.rglob("*"))
    shutil.rmtree(folder)
    return Measured(clock_s, cpu_s, disk)


def _passes(one: Record) -> bool:
    return one.verdict.shape_ok


def main() -> int:
    """Print a line a layout, and the ratio."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--records", type=int, default=2000)
    parser.add_argument("--spans", type=int, default=10)
    parser.add_argument("--group", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=Path)
    args = parser.parse_args()
    traces = [trace(args.spans) for _ in range(args.records)]
    made = [record.make(one, judge(one, RULES)) for one in traces]
    found: dict[str, list[Measured]] = {layout: [] for layout in LAYOUTS}
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        for number in range(args.rounds):
            for layout in LAYOUTS if number % 2 else LAYOUTS[::-1]:
                found[layout].append(measured(Path(folder, f"{layout}-{number}"), layout, made, args.group))
    size = len(record.line_bytes(made[0]))
    print(f"{args.records} records of {args.spans} spans ({size} bytes), groups of {args.group}, {args.rounds} rounds")
    rates = {}
    for layout, rounds in found.items():
        rates[layout] = args.records / statistics.median(one.clock_s for one in rounds)
        cpu_us = statistics.median(one.cpu_s for one in rounds) / args.records * 1e6
        disk = statistics.median(one.disk for one in rounds) / args.records
        print(f"{layout:<10}{rates[layout]:>9.0f} records/s  {cpu_us:>6.0f} us cpu/record  {disk:>7.0f} bytes/record")
    print(f"{'ratio':<10}{rates['segments'] / rates['files']:>9.1f} times the records a second with segments")
    return 0


if __name__ == "__main__":
    sys.exit(main())
