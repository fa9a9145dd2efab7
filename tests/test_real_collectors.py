"""Real collectors that are stopped, or killed, and started again while an agent is at work.

The gate answers for what the collector has not accepted: it is owed, and sent again. What a collector has accepted, it
answers for itself. rotel accepts into a queue in memory, and a kill takes what is there with it: then the end of the
line may miss traces that were accepted before the kill, and no others. otelcol, configured as we publish it, accepts
only what it has passed on: a kill may take nothing.
"""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import NonRecordingSpan, SpanContext, StatusCode, TraceFlags

from otel_gate import GateSpanProcessor
from otel_gate.cli.demo.collector import LOOPBACK, free_port
from otel_gate.cli.demo.sink import Sink, serve
from otel_gate.store import Store
from tests.collectors import KINDS, required, until
from tests.end_to_end import HASH

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TRACES, SPANS = 5_000, 3
BEFORE, DURING, STARTING, AFTER = range(2_000), range(2_000, 3_500), range(3_500, 4_000), range(4_000, TRACES)
FAULTS = ("G103", "G201", "G302", "G303", "G304")  # in turn, one trace in five
PATIENCE_S = 60.0
FAILED_SINCE = "SELECT count(*) AS n FROM outbox WHERE state = 'pending' AND attempts > 0 AND updated_ns > ?"


class Agent:
    """An agent in this process, and the ids of its traces as it made them; an own look at its store."""

    def __init__(self, root: Path) -> None:
        self.gate = GateSpanProcessor(store=root)
        self.store = Store(root)
        self.good: set[str] = set()
        self.bad: set[str] = set()
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(self.gate)
        self._tracer = provider.get_tracer("agent")

    def work(self, seeds: range) -> None:
        """Make traces of three spans."""
        for seed in seeds:
            fault = FAULTS[seed // 5 % len(FAULTS)] if seed % 5 == 4 else ""
            (self.bad if fault else self.good).add(self._run(fault))

    def _run(self, fault: str) -> str:
        start = self._tracer.start_as_current_span
        with start("agent.run") as root, start("chat small-1") as chat:
            trace_id = root.get_span_context().trace_id
            if fault == "G304":
                chat.set_status(StatusCode.ERROR)
            stranger = NonRecordingSpan(SpanContext(trace_id, 1, False, TraceFlags(1)))
            parent = trace.set_span_in_context(stranger if fault == "G103" else chat)
            named = {"tool.name": "" if fault == "G302" else "search", "input.sha256": "" if fault == "G303" else HASH}
            self._tracer.start_span("tool.search", parent, attributes=named).end(1 if fault == "G201" else None)
        return f"{trace_id:032x}"

    def states(self) -> dict[str, set[str]]:
        """Return the traces of the outbox by their state."""
        found: dict[str, set[str]] = {}
        for row in self.store.database.execute("SELECT trace_id, state FROM outbox"):
            found.setdefault(row["state"], set()).add(row["trace_id"])
        return found

    def accepted(self) -> set[str]:
        return self.states().get("accepted", set())

    def failed_since(self, since_ns: int) -> int:
        """Count the traces that are owed and whose last attempt failed after a time."""
        return int(self.store.database.execute(FAILED_SINCE, (since_ns,))[0]["n"])

    def accounts_balance(self) -> bool:
        """Tell whether what was seen is the sum of what became of it, now."""
        now = self.gate.status()
        became = now.recorded + now.duplicates + now.capped + now.unparsable + now.open + now.lost
        return now.seen == became

    def all_recorded(self) -> bool:
        """Write a record of every trace so far, and tell whether each that passed is in the outbox, once."""
        assert self.gate.force_flush(int(PATIENCE_S * 1000))
        return self.gate.status().shape_ok == sum(map(len, self.states().values())) == len(self.good)


@pytest.fixture
def sink() -> Iterator[Sink]:
    """Run the end of the line."""
    with serve() as running:
        yield running


@pytest.fixture
def port() -> int:
    """Choose the port of the collector, before and after."""
    return free_port()


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, port: int) -> Iterator[Agent]:
    """Give an agent whose gate forwards to that port."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://{LOOPBACK}:{port}")
    made = Agent(tmp_path / "store")
    yield made
    made.gate.shutdown()
    made.store.close()


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL], ids=["stopped", "killed"])
@pytest.mark.parametrize("name", KINDS)
def test_a_collector_that_was_away_has_accepted_every_well_formed_trace_in_the_end(
    agent: Agent, sink: Sink, port: int, name: str, end: signal.Signals
) -> None:
    """Of 5,000 traces each well-formed one is accepted, no other leaves, and the accounts balance with it away too."""
    kind = required(name)
    with kind.run(sink.url, grpc_port=port) as first:
        agent.work(BEFORE)
        until(agent.accepted, "a first trace is accepted", PATIENCE_S)
        first.process.send_signal(end)
        agent.work(DURING)
        first.process.wait(PATIENCE_S)
        assert agent.accounts_balance()
    died_ns = agent.store.now_ns()
    assert agent.all_recorded()
    until(lambda: agent.failed_since(died_ns), "the gate notices", PATIENCE_S)
    accepted_before = agent.accepted()  # an attempt failed since: every answer of the first collector is in the outbox
    assert 0 < len(accepted_before) < len(agent.good)
    assert agent.accounts_balance()

    agent.work(STARTING)
    with kind.run(sink.url, grpc_port=port):
        agent.work(AFTER)
        assert agent.gate.door.flush(PATIENCE_S)
        assert agent.all_recorded()
        assert agent.states() == {"accepted": agent.good}
        may_miss = accepted_before if end == signal.SIGKILL and not kind.passes_on_first else set()
        until(
            lambda: set(sink.traces()) >= agent.good - may_miss,
            "the end of the line has what was passed on",
            PATIENCE_S,
        )

    got, accounts = sink.traces(), agent.gate.status()
    assert agent.good >= set(got)
    assert {len(found.spans) for found in got.values()} == {SPANS}
    assert agent.accounts_balance()
    assert (accounts.seen, accounts.recorded, accounts.open) == (TRACES * SPANS, TRACES * SPANS, 0)
    assert (accounts.traces, accounts.shape_ok, len(agent.bad)) == (TRACES, len(agent.good), TRACES // 5)
    assert agent.store.index.by_rules() == dict.fromkeys(FAULTS, len(agent.bad) // len(FAULTS))
