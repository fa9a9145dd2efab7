"""The span processor on the real SDK: threads, tasks, generators, forks, limits, and what it says of each trace."""

from __future__ import annotations

import asyncio
import gc
import os
import stat
import threading
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, TraceIdRatioBased
from opentelemetry.trace import NonRecordingSpan, SpanContext, Status, StatusCode, TraceFlags

from otel_gate import RULES, judge, read
from otel_gate.core.model import has_remote_parent
from otel_gate.core.record import record_bytes
from otel_gate.store import Store
from tests.sdk.conftest import records

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.sdk.conftest import Agent


REMOTE = SpanContext(0xAB << 100, 0xCD, True, TraceFlags(1))


def codes(record: Any) -> set[str]:
    return {found.rule for found in record.verdict.violations}


def test_a_trace_has_a_record_once_its_root_has_ended(agent: Callable[..., Agent]) -> None:
    """A whole trace is recorded with its spans in the order in which they ended, and a run id of its own."""
    made = agent()
    with made.tracer.start_as_current_span("agent.run"), made.tracer.start_as_current_span("chat"):
        pass
    record = made.record()
    assert [span.name for span in record.spans] == ["chat", "agent.run"]
    assert record.verdict.shape_ok
    assert record.run_id == record.spans[1].attributes["run.id"]
    assert record.spans[1].derived == ("run.id",)
    assert record.completion is not None
    assert record.completion.reason == "root_ended"
    assert record.source.door == "sdk"


def test_the_record_alone_gets_the_run_id(agent: Callable[..., Agent]) -> None:
    """The SDK's own span is not written to: other processors see it as the application made it."""
    made = agent()
    root = made.tracer.start_span("agent.run")
    root.end()
    assert made.record().run_id
    assert isinstance(root, ReadableSpan)
    assert "run.id" not in (root.attributes or {})


@pytest.mark.parametrize(
    ("setting", "expected"),
    [("require", ""), ("nightly-42", "nightly-42"), ("conversation", "talk-1"), ("trace", "talk-1"),
     (lambda span: span.attributes["job"], "job-7"), (lambda span: None, "")],
    ids=["require", "literal", "conversation", "trace", "callable", "callable without an answer"],
)  # fmt: skip
def test_the_run_id_follows_its_setting(agent: Callable[..., Agent], setting: Any, expected: str) -> None:
    """A root without run.id gets the one that the setting names, or none."""
    made = agent(run_id=setting)
    with made.tracer.start_as_current_span("agent.run", attributes={"job": "job-7"}) as root:
        made.tracer.start_span("chat", attributes={"gen_ai.conversation.id": "talk-1"}).end()
    record = made.record()
    assert record.run_id == expected
    assert record.verdict.shape_ok is bool(expected)
    assert root.is_recording() is False


def test_an_explicit_run_id_stays(agent: Callable[..., Agent]) -> None:
    """A run id that the application set is never replaced."""
    made = agent(run_id="nightly-42")
    made.tracer.start_span("agent.run", attributes={"run.id": "mine"}).end()
    assert made.record().run_id == "mine"


def test_a_remote_parent_is_a_local_root(agent: Callable[..., Agent]) -> None:
    """A span whose parent is in another process counts as root, keeps its parent's id, and gets a run id."""
    made = agent()
    made.tracer.start_span("serve", trace.set_span_in_context(NonRecordingSpan(REMOTE))).end()
    record = made.record()
    assert record.verdict.shape_ok
    assert record.spans[0].parent_span_id == f"{REMOTE.span_id:016x}"
    assert has_remote_parent(record.spans[0])
    assert record.source.remote_parent == "root"
    assert record.run_id


def test_a_remote_parent_can_be_refused(agent: Callable[..., Agent]) -> None:
    """With remote_parent = reject the same span fails G102, which names the remedy."""
    made = agent(remote_parent="reject")
    made.tracer.start_span("serve", trace.set_span_in_context(NonRecordingSpan(REMOTE))).end()
    [found] = made.record().verdict.violations
    assert found.rule == "G102"
    assert "remote_parent" in found.try_ or "remote-parent" in found.try_


def test_everything_a_span_carries_is_in_its_record(agent: Callable[..., Agent]) -> None:
    """Attributes of every type, events, links, status, kind, scope, resource and dropped counts are kept."""
    limits = SpanLimits(max_span_attributes=6, max_events=2)
    made = agent(provider=TracerProvider(span_limits=limits, shutdown_on_exit=False))
    link = trace.Link(REMOTE, {"why": b"\x00"})
    span = made.tracer.start_span("agent.run", links=[link], kind=trace.SpanKind.CLIENT, attributes={"gone": 1})
    values: dict[str, Any] = {
        "text": "é",
        "flag": True,
        "int": -(2**63),
        "float": float("inf"),
        "list": [1, "a", None],
        "map": {"k": 1.5},
    }
    span.set_attributes(values)
    for number in range(3):
        span.add_event(f"event {number}", {"number": number}, timestamp=number + 1)
    span.set_status(Status(StatusCode.ERROR, "broken"))
    span.record_exception(ValueError("no"))
    span.end()
    kept = made.record().spans[0]
    assert kept.attributes | {"run.id": ""} == values | {
        "float": {"$double": "Infinity"}, "list": [1, "a", None], "run.id": "",
    }  # fmt: skip
    assert (kept.dropped_attributes_count, kept.dropped_events_count) == (1, 2)
    assert [event.name for event in kept.events] == ["event 2", "exception"]
    assert kept.links[0].trace_id == f"{REMOTE.trace_id:032x}"
    assert kept.links[0].attributes == {"why": {"$bytes": "AA=="}}
    assert (kept.status, kept.status_message, kept.kind) == ("error", "broken", "client")
    assert kept.flags & 0x301 == 0x101


@pytest.mark.parametrize(
    ("key", "value", "kept"),
    [("k", "a\ud800b", "a\ufffdb"), ("k\udfff", "v", "v"), ("k", 2**63, str(2**63)), ("k", ["\ud800"], ["\ufffd"]),
     ("k", float("nan"), {"$double": "NaN"}), ("k", {"$bytes": "x"}, {"$object": {"$bytes": "x"}})],
    ids=["surrogate in a value", "surrogate in a key", "integer beyond 64 bits", "surrogate in a list", "NaN", "$ key"],
)  # fmt: skip
def test_a_value_that_otlp_cannot_carry_is_kept_as_near_as_it_can(
    agent: Callable[..., Agent], key: str, value: Any, kept: Any
) -> None:
    """What the SDK's own encoder would drop, or fail a whole batch for, is kept in the record."""
    made = agent()
    made.tracer.start_span("name \ud800", attributes={key: value}).end()
    span = made.record().spans[0]
    assert span.attributes[key.replace("\udfff", "\ufffd")] == kept
    assert span.name == "name \ufffd"


ODD: list[tuple[str, Callable[[Any], Any]]] = [
    ("$.spans[0].start_ns", lambda tracer: tracer.start_span("x", start_time=-5).end()),
    ("$.spans[0].end_ns", lambda tracer: tracer.start_span("x").end(2**64)),
    ("$.spans[0].start_ns", lambda tracer: tracer.start_span("x", start_time=1.5).end()),
    ("$.spans[0].name", lambda tracer: tracer.start_span(None).end()),
    ("$.spans[0].events[0].time_ns", lambda tracer: _with_event(tracer, 1.5)),
    ("$.spans[0].events[0].time_ns", lambda tracer: _with_event(tracer, -1)),
]


def _with_event(tracer: Any, timestamp: Any) -> None:
    span = tracer.start_span("x")
    span.add_event("first token", timestamp=timestamp)
    span.end()


@pytest.mark.parametrize(("place", "make"), ODD, ids=[f"{place} {number}" for number, (place, _) in enumerate(ODD)])
def test_a_value_that_no_document_may_hold_is_a_problem(agent: Callable[..., Agent], place: str, make: Any) -> None:
    """What section 3 of the design calls unreadable is G000 at its place; the record stays readable, and stays here."""
    made = agent(mode="observe", exporter=InMemorySpanExporter())
    with made.tracer.start_as_current_span("agent.run"):
        make(made.tracer)
    record = made.record()
    [found] = record.verdict.violations
    assert found.rule == "G000"
    assert place in found.message
    assert [span.name for span in record.spans] == ["agent.run"]
    again = next(piece.trace for piece in read(record_bytes(record)))
    assert judge(again, RULES) == record.verdict
    status = made.processor.status()
    assert (status.seen, status.recorded, status.unparsable) == (2, 1, 1)
    store = Store(made.store)
    assert store.outbox.counts() == {}
    store.close()


class Named(str):
    """A text that is not quite a text."""

    __slots__ = ()


@pytest.mark.parametrize("name", ["a\ud800b", Named("named"), 123, None], ids=["surrogate", "subclass", "int", "none"])
def test_an_open_span_with_an_odd_name_leaves_a_readable_record(agent: Callable[..., Agent], name: Any) -> None:
    """Whatever a span that never ended is called, the rest of its trace is recorded and can be read again."""
    made = agent()
    root = made.tracer.start_span(name, start_time=None if isinstance(name, str) else 1.5)  # type: ignore[arg-type]
    made.tracer.start_span(Named("chat"), trace.set_span_in_context(root)).end()
    made.provider.shutdown()
    [record] = records(made.store)
    assert [span.name for span in record.spans] == ["chat"]
    assert record.completion is not None
    assert len(record.completion.open) == 1
    assert next(iter(read(record_bytes(record)))).trace.source.problems == ()


def test_a_bare_error_is_refused(agent: Callable[..., Agent]) -> None:
    """A status of error without an exception or a type violates G304."""
    made = agent()
    with made.tracer.start_as_current_span("agent.run") as span:
        span.set_status(Status(StatusCode.ERROR))
    assert codes(made.record()) == {"G304"}


def test_an_open_span_at_shutdown_is_named(agent: Callable[..., Agent]) -> None:
    """What was open when the process ended is in the completion, and the trace violates G401."""
    made = agent()
    with made.tracer.start_as_current_span("agent.run"):
        forgotten = made.tracer.start_span("forgotten")
    assert made.records() == []
    made.provider.shutdown()
    [record] = records(made.store)
    assert codes(record) == {"G401"}
    assert record.completion is not None
    assert [span.name for span in record.completion.open] == ["forgotten"]
    assert forgotten.is_recording()


def test_an_open_root_at_shutdown_is_named(agent: Callable[..., Agent]) -> None:
    """A root that never ended leaves a record without root, with its drawn run id beside it."""
    made = agent()
    root = made.tracer.start_span("agent.run")
    made.tracer.start_span("chat", trace.set_span_in_context(root)).end()
    made.provider.shutdown()
    [record] = records(made.store)
    assert "G401" in codes(record)
    assert record.completion is not None
    assert record.completion.open[0].run_id


def test_a_late_span_amends_the_record(agent: Callable[..., Agent]) -> None:
    """A span that ends after its trace was recorded makes a second revision of the same file."""
    made = agent()
    root = made.tracer.start_span("agent.run")
    root.end()
    first = made.record()
    made.tracer.start_span("late", trace.set_span_in_context(root)).end()
    second = made.record()
    assert (first.revision, second.revision) == (1, 2)
    assert [span.name for span in second.spans] == ["agent.run", "late"]
    assert [revision.spans for revision in second.history] == [1, 2]
    assert second.verdict.shape_ok
    assert made.processor.status().late == 1


def test_a_detached_task_is_part_of_its_trace(agent: Callable[..., Agent]) -> None:
    """A child that is open when its root ends is waited for."""
    made = agent()

    async def run() -> None:
        async def detached() -> None:
            with made.tracer.start_as_current_span("detached"):
                started.set()
                await release.wait()

        started, release = asyncio.Event(), asyncio.Event()
        with made.tracer.start_as_current_span("agent.run"):
            task = asyncio.create_task(detached())
            await started.wait()
        assert made.records() == []
        release.set()
        await task

    asyncio.run(run())
    record = made.record()
    assert [span.name for span in record.spans] == ["agent.run", "detached"]
    assert record.verdict.shape_ok


def test_threads_lose_nothing(agent: Callable[..., Agent]) -> None:
    """Spans of many threads, in one trace and in traces of their own, are all recorded once."""
    made = agent()
    root = made.tracer.start_span("shared")
    inside = trace.set_span_in_context(root)

    def work() -> None:
        for _ in range(50):
            made.tracer.start_span("child", inside).end()
            with made.tracer.start_as_current_span("own"):
                pass

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    root.end()
    found = made.records()
    assert sum(len(record.spans) for record in found) == 4 * 50 * 2 + 1
    assert all(record.verdict.shape_ok for record in found)
    status = made.processor.status()
    assert status.seen == status.recorded == 4 * 50 * 2 + 1


def test_a_span_ended_by_the_garbage_collector_is_recorded(agent: Callable[..., Agent]) -> None:
    """An abandoned generator ends its span when it is collected, on whatever thread, without a deadlock."""
    made = agent()

    def stream() -> Iterator[int]:
        span = made.tracer.start_span("stream")
        try:
            yield from range(10)
        finally:
            span.end()

    items = stream()
    next(items)
    cycle: list[Any] = [items]
    cycle.append(cycle)
    del items, cycle
    gc.collect()
    assert made.record().spans[0].name == "stream"


def test_unsampled_spans_are_not_recorded(agent: Callable[..., Agent]) -> None:
    """What the sampler dropped never reaches the gate, and leaves no empty record."""
    made = agent(provider=TracerProvider(sampler=ALWAYS_OFF, shutdown_on_exit=False))
    made.tracer.start_span("agent.run").end()
    assert made.records() == []


def test_a_sampler_that_drops_the_root_only(agent: Callable[..., Agent]) -> None:
    """A child whose local parent was dropped is refused: its parent is not in the document."""
    made = agent(provider=TracerProvider(sampler=TraceIdRatioBased(1.0), shutdown_on_exit=False))
    dropped = SpanContext(1 << 100, 7, False, TraceFlags(0))
    made.tracer.start_span("chat", trace.set_span_in_context(NonRecordingSpan(dropped))).end()
    made.provider.shutdown()
    assert {"G102", "G103"} & codes(records(made.store)[0])


def test_a_processor_added_in_mid_trace_sees_ends_without_starts(agent: Callable[..., Agent]) -> None:
    """Such a trace is recorded when its root ends, with the spans whose ends were seen."""
    provider = TracerProvider(shutdown_on_exit=False)
    tracer = provider.get_tracer("agent")
    root = tracer.start_span("agent.run")
    made = agent(provider=provider)
    tracer.start_span("chat", trace.set_span_in_context(root)).end()
    root.end()
    record = made.record()
    assert [span.name for span in record.spans] == ["chat", "agent.run"]
    assert codes(record) == {"G301"}


def test_a_capped_trace_says_so(agent: Callable[..., Agent]) -> None:
    """What a cap kept out is counted in the record, in the accounts, and violates G401."""
    made = agent(max_trace_spans=3)
    with made.tracer.start_as_current_span("agent.run"):
        for _ in range(5):
            made.tracer.start_span("chat").end()
    record = made.record()
    assert record.completion is not None
    assert record.completion.capped == 3
    assert "G401" in codes(record)
    status = made.processor.status()
    assert (status.seen, status.recorded, status.capped) == (6, 3, 3)


def test_records_are_private(agent: Callable[..., Agent]) -> None:
    """Files have mode 0600 and folders 0700."""
    made = agent()
    made.tracer.start_span("agent.run").end()
    made.record()
    for path in [made.store, *made.store.rglob("*")]:
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), path


def test_accounts_balance(agent: Callable[..., Agent]) -> None:
    """Seen = recorded + duplicates + capped + unparsable + open, also while traces are open."""
    made = agent()
    with made.tracer.start_as_current_span("agent.run"):
        made.tracer.start_span("chat").end()
        made.records()
        status = made.processor.status()
        assert (status.seen, status.open, status.recorded) == (1, 1, 0)
    made.records()
    status = made.processor.status()
    assert (status.seen, status.open, status.recorded) == (2, 0, 2)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_part_of_a_run_is_recorded_by_a_flush(agent: Callable[..., Agent]) -> None:
    """A child's spans below a span of its parent have no root there; the parent's part makes the record whole."""
    made = agent()
    with made.tracer.start_as_current_span("agent.run"):
        pid = os.fork()
        if pid == 0:
            made.tracer.start_span("in the child").end()
            os._exit(0 if made.processor.force_flush() else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    record = made.record()
    assert {span.name for span in record.spans} == {"in the child", "agent.run"}
    assert record.verdict.shape_ok


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_has_a_gate_of_its_own(agent: Callable[..., Agent]) -> None:
    """The child drops what it inherited and records what it made; the parent records its own, once."""
    made = agent()
    root = made.tracer.start_span("parent")
    made.tracer.start_span("before", trace.set_span_in_context(root)).end()
    pid = os.fork()
    if pid == 0:
        made.tracer.start_span("child").end()
        root.end()
        os._exit(0 if made.processor.force_flush() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    root.end()
    found = {record.spans[-1].name: [span.name for span in record.spans] for record in made.records()}
    assert found == {"child": ["child"], "parent": ["before", "parent"]}


def test_the_store_of_a_relative_path_does_not_move(
    agent: Callable[..., Agent], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store is fixed when the gate is made, whatever the working folder becomes."""
    monkeypatch.chdir(tmp_path)
    made = agent(store="here")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    made.tracer.start_span("agent.run").end()
    assert made.processor.force_flush()
    assert (tmp_path / "here" / "records").is_dir()
