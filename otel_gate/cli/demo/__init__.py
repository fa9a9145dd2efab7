"""``otel-gate demo``: the main job on a small agent, with a real collector where one starts."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from otel_gate.core.counted import counted

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from otel_gate.cli.demo.sink import Sink
    from otel_gate.core.model import Record

HELP = "run a small agent through the gate and show what was recorded, held back and forwarded"
PATIENCE_S = 10.0


class Scene(NamedTuple):
    """One run of the demo agent and its record."""

    title: str
    record: Record


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``demo``."""
    parser.add_argument("--keep", metavar="FOLDER", help="where to leave the store (default: a new temporary folder)")


def run(args: argparse.Namespace) -> int:
    """Run the demo; 0 when every run was recorded and the collector got exactly the well-formed ones."""
    store = Path(args.keep or tempfile.mkdtemp(prefix="otel-gate-demo-")).resolve()
    from otel_gate.cli.demo.sink import serve  # noqa: PLC0415 - commands load what they need

    with serve() as sink, _collector(sink) as (named, endpoint, protocol):
        print(f"agent -> gate (store {store}) -> {named}\n")
        scenes = _play(store, endpoint, protocol)
        expected = {scene.record.trace_id: len(scene.record.spans) for scene in scenes if scene.record.verdict.shape_ok}
        got = _await(sink, expected)
    _table(scenes, got)
    refused = next(scene.record.trace_id for scene in scenes if not scene.record.verdict.shape_ok)
    print(f"\nThe store stays. Look into it:\n  export OTEL_GATE_STORE={store}")
    for command in ("list", f"show {scenes[0].record.trace_id}", f"why {refused}"):
        print(f"  {_command()} {command}")
    return 0 if got == expected else 70


def _command() -> str:
    """Return how this command can be called again: by name when it is on the path, else as it was called."""
    name = "otel-gate"
    return name if shutil.which(name) else sys.argv[0]


@contextlib.contextmanager
def _collector(sink: Sink) -> Iterator[tuple[str, str, str]]:
    from otel_gate.cli.demo.collector import NoCollectorError, rotel  # noqa: PLC0415

    with contextlib.ExitStack() as stack:
        try:
            collector = stack.enter_context(rotel(sink.url))
        except NoCollectorError as error:
            print(f"otel-gate: no rotel here ({error}); our own OTLP sink stands in", file=sys.stderr)
            yield "our own OTLP sink", sink.url, "http/protobuf"
        else:
            yield f"rotel {collector.grpc} -> OTLP sink", collector.grpc, "grpc"


def _play(store: Path, endpoint: str, protocol: str) -> list[Scene]:
    for name in [name for name in os.environ if name.startswith(("OTEL_EXPORTER_", "OTEL_GATE_"))]:
        del os.environ[name]
    os.environ |= {
        "OTEL_GATE_STORE": str(store),
        "OTEL_GATE_GRACE_MS": "100",
        "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint,
        "OTEL_EXPORTER_OTLP_PROTOCOL": protocol,
    }
    from opentelemetry import trace  # noqa: PLC0415

    import otel_gate  # noqa: PLC0415
    from otel_gate.cli.demo import agent  # noqa: PLC0415

    gate = otel_gate.install()
    tracer = trace.get_tracer("demo.agent")
    titles: dict[str, str] = {}
    for title, scene in agent.SCENES:
        scene(tracer)
        gate.processor.force_flush()
        titles |= {trace_id: title for trace_id in _recorded(store) if trace_id not in titles}
    gate.flush(PATIENCE_S)
    agent.crash(os.environ)
    titles |= {trace_id: agent.CRASH for trace_id in _recorded(store) if trace_id not in titles}
    gate.shutdown()
    records = _recorded(store)
    return [Scene(title, records[trace_id]) for trace_id, title in titles.items()]


def _recorded(store: Path) -> dict[str, Record]:
    from otel_gate.store import Store  # noqa: PLC0415

    opened = Store(store)
    try:
        rows = opened.index.newest(100)
        return {row["trace_id"]: opened.load(row["place"]) for row in rows}
    finally:
        opened.close()


def _await(sink: Sink, expected: dict[str, int]) -> dict[str, int]:
    deadline = time.monotonic() + PATIENCE_S
    while True:
        got = {trace_id: len(trace.spans) for trace_id, trace in sink.traces().items()}
        if got == expected or time.monotonic() > deadline:
            return got
        time.sleep(0.05)


def _table(scenes: list[Scene], got: dict[str, int]) -> None:
    print(f"{'run':<30}{'trace':<10}{'spans':>5}  {'verdict':<9}{'held back because':<20}collector got")
    for title, record in scenes:
        rules = " ".join(sorted({found.rule for found in record.verdict.violations})) or "-"
        verdict = "shape_ok" if record.verdict.shape_ok else "not_ok"
        arrived = got.get(record.trace_id, 0)
        late = f" (revision {record.revision})" if record.revision > 1 else ""
        print(
            f"{title:<30}{record.trace_id[:8]:<10}{len(record.spans):>5}  {verdict:<9}{rules:<20}"
            f"{counted(arrived, 'span') if arrived else 'nothing'}{late}"
        )
    for title, record in scenes:
        for found in record.verdict.violations[-1:]:
            print(f"\n{title}: {found.rule} {found.name}: {found.message}\n  try: {found.try_}")
