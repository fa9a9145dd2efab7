"""From an agent's spans to records and a real collector: the main job, a thousand traces at a time."""

from __future__ import annotations

import collections
import contextlib
import time
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from otel_gate.cli.demo.collector import binary, free_port, rotel
from otel_gate.cli.demo.sink import Sink, serve
from otel_gate.core.model import Trace, encode
from otel_gate.rules import RULES
from otel_gate.store import Store
from tests.conftest import require
from tests.end_to_end import BAD, GOOD, Doors

if TYPE_CHECKING:
    from pathlib import Path

    from otel_gate.core.model import Record

TRACES = 1_000
PATIENCE_S = 60.0


@pytest.fixture
def sink() -> Any:
    """Run the end of the line."""
    with serve() as running:
        yield running


def make(doors: Doors, seeds: range) -> None:
    """Make traces: two in three well-formed, the third malformed by one rule after the other."""
    codes = list(BAD)
    for seed in seeds:
        if seed % 3 == 2:
            BAD[codes[seed // 3 % len(codes)]](doors, seed)
        else:
            GOOD[seed % len(GOOD) if seed % 2 else seed // 2 % len(GOOD)](doors, seed)


def content(trace: Trace) -> dict[str, tuple[bytes, bytes, bytes]]:
    """Return what a trace says of each span, whatever its numbers for resources and scopes are."""
    return {
        span.span_id: (
            encode(replace(span, resource=None, scope=None, derived=(), redacted=())),
            b"" if span.resource is None else encode(trace.resources[span.resource]),
            b"" if span.scope is None else encode(trace.scopes[span.scope]),
        )
        for span in trace.spans
    }


def stored(root: Path) -> list[Record]:
    """Return every record of a store."""
    store = Store(root)
    records = [store.load(row["place"]) for row in store.index.newest(10 * TRACES)]
    store.close()
    return records


def awaited(sink: Sink, spans: int) -> dict[str, Trace]:
    """Return what the sink got once it has so many spans, or what it has when patience is over."""
    deadline = time.monotonic() + PATIENCE_S
    while sink.spans() < spans and time.monotonic() < deadline:
        time.sleep(0.1)
    return sink.traces()


@pytest.mark.parametrize("down_first", [False, True], ids=["collector up", "collector down for the first half"])
def test_the_collector_gets_exactly_the_well_formed_traces(
    sink: Sink, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, down_first: bool
) -> None:
    """Of 1,000 traces the store holds all, the collector the well-formed ones, each span as its record says."""
    require("rotel", binary(), "the rotel package is not installed")
    root, port = tmp_path / "store", free_port()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{port}")
    doors = Doors(store=str(root), quiet_ms=50, grace_ms=20)
    with contextlib.ExitStack() as stack:
        if not down_first:
            stack.enter_context(rotel(sink.url, grpc_port=port))
        make(doors, range(TRACES // 2))
        assert doors.flush()
        if down_first:
            assert not sink.bodies
            stack.enter_context(rotel(sink.url, grpc_port=port))
        make(doors, range(TRACES // 2, TRACES))
        assert doors.deliver()
        doors.shutdown()
        records = stored(root)
        passed = {record.trace_id: record.trace for record in records if record.verdict.shape_ok}
        got = awaited(sink, sum(len(trace.spans) for trace in passed.values()))

    assert len(records) == TRACES
    assert set(got) == set(passed)
    for trace_id, trace in passed.items():
        assert content(got[trace_id]) == content(trace)
    assert sink.spans() == sum(len(trace.spans) for trace in passed.values())
    refused = collections.Counter(
        frozenset(found.rule for found in record.verdict.violations)
        for record in records
        if not record.verdict.shape_ok
    )
    assert set(refused) == {frozenset({rule.code}) for rule in RULES}
    assert sum(refused.values()) == TRACES // 3
