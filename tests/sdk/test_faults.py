"""Faults inside the hooks: none reaches the application, each is counted, and the trace says that it is not whole."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

import otel_gate
from otel_gate import GateSpanExporter
from otel_gate.sdk.tool import _start
from tests.sdk.conftest import records

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.sdk.conftest import Agent

PACKAGE = str(Path(otel_gate.__file__).parent)
HOOKS = frozenset({"on_start", "on_end", "export", "force_flush", "shutdown", "_start"})
FALLS_BACK = "canonical.py"  # what it can't canonicalise it hashes as received: no fault comes out to be counted


class InjectedError(Exception):
    """A fault that no part of ours expects."""


class Injector:
    """Raises inside the n-th call that our code makes or receives, Python's and C's alike, on this thread."""

    def __init__(self, at: int) -> None:
        self.left, self.where = at, ""

    def __enter__(self) -> None:
        sys.setprofile(self)

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def __call__(self, frame: Any, event: str, argument: Any) -> None:
        code = frame.f_code
        path = code.co_filename
        if event not in ("call", "c_call") or not path.startswith(PACKAGE) or path.endswith(FALLS_BACK):
            return
        called = code.co_name if event == "call" else getattr(argument, "__name__", "?")
        if event == "call" and code.co_name in HOOKS:
            return  # the entrance itself; its body is what is tested
        self.left -= 1
        if self.left == 0:
            self.where = f"{event} {called} in {Path(code.co_filename).name}:{frame.f_lineno}"
            sys.setprofile(None)
            raise InjectedError(self.where)


def run_with_faults(
    action: Callable[[], None], errors: Callable[[], int], prepare: Callable[[], None] = lambda: None
) -> list[str]:
    """Run an action once for each of its inner calls, with a fault in that call, and return where they were."""
    places: list[str] = []
    for at in range(1, 500):
        prepare()
        before = errors()
        injector = Injector(at)
        with injector:
            action()
        if not injector.where:
            return places
        assert errors() > before, f"not counted: {injector.where}"
        places.append(injector.where)
    pytest.fail("the action never ran without a fault")


def test_no_fault_in_a_hook_reaches_the_application(
    agent: Callable[..., Agent], caplog: pytest.LogCaptureFixture
) -> None:
    """With a fault in each inner call of on_start and on_end in turn, the application goes on; each is counted."""
    made = agent(run_id=lambda span: "")
    values: dict[str, Any] = {"text": "x", "bytes": b"\x00", "surrogate": "\ud800"}

    def action() -> None:
        link = trace.Link(trace.SpanContext(1, 2, True, trace.TraceFlags(1)), {"a": 1})
        span = made.tracer.start_span("agent.run", attributes=values, links=[link])
        span.add_event("event", {"k": 1.5})
        span.set_status(trace.Status(trace.StatusCode.ERROR, "broken \ud800"))
        span.end()

    places = run_with_faults(action, lambda: made.processor.status().hook_errors)
    assert len(places) > 40
    assert len([entry for entry in caplog.records if entry.levelname == "ERROR"]) == 1
    found = made.records()
    refused = [record for record in found if any(violation.rule == "G401" for violation in record.verdict.violations)]
    assert refused


@pytest.mark.parametrize("hook", ["force_flush", "shutdown"])
def test_no_fault_in_a_closing_hook_reaches_the_application(agent: Callable[..., Agent], hook: str) -> None:
    """With a fault in each inner call of force_flush and shutdown in turn, nothing is raised; each is counted."""
    made = agent()
    places = run_with_faults(
        getattr(made.processor, hook),
        lambda: made.processor.status().hook_errors,
        prepare=lambda: made.tracer.start_span("agent.run").end(),
    )
    assert len(places) > 3


def test_the_application_sees_its_own_exception(agent: Callable[..., Agent], monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault in on_end never replaces the exception that the application raised (P2 of otlp.md)."""
    made = agent()
    monkeypatch.setattr(made.processor.door.pipeline, "put", lambda message: 1 / 0)
    with pytest.raises(ValueError, match="mine"), made.tracer.start_as_current_span("agent.run"):
        raise ValueError("mine")
    assert made.processor.status().hook_errors == 2  # on_start met it too


def test_a_broken_log_handler_does_not_reach_the_application(
    agent: Callable[..., Agent], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even saying that there was a fault may fail."""
    made = agent()
    monkeypatch.setattr(made.processor.door, "fault", lambda hook, error: 1 / 0)
    monkeypatch.setattr(made.processor, "_pipeline", None)
    made.tracer.start_span("agent.run").end()
    assert made.processor.force_flush() is False
    made.processor.shutdown()


def test_no_fault_in_the_exporter_reaches_the_application(tmp_path: Path) -> None:
    """With a fault in each inner call of export in turn, nothing is raised; each is counted."""
    exporter = GateSpanExporter(store=tmp_path, quiet_ms=10)
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("agent")
    places = run_with_faults(lambda: tracer.start_span("agent.run").end(), lambda: exporter.status().hook_errors)
    assert len(places) > 20
    provider.shutdown()


def test_no_fault_in_tool_span_reaches_the_application(agent: Callable[..., Agent]) -> None:
    """With a fault in each inner call that prepares a tool span, the tool is called all the same."""
    made = agent()

    def action() -> None:
        started = _start("search", {"q": "x"}, made.tracer)
        assert started.span.is_recording()
        started.span.end()

    places = run_with_faults(action, lambda: made.processor.status().hook_errors)
    assert len(places) > 10


def test_a_refused_span_makes_its_trace_not_whole(agent: Callable[..., Agent], monkeypatch: pytest.MonkeyPatch) -> None:
    """A span that could not be converted is counted in its trace's record, which violates G401."""
    made = agent()
    convert = made.processor._lines.encode
    monkeypatch.setattr(
        made.processor,
        "_lines",
        type("Lines", (), {"encode": lambda self, span, *ids: 1 / 0 if span.name == "bad" else convert(span, *ids)})(),
    )
    with made.tracer.start_as_current_span("agent.run"):
        made.tracer.start_span("bad").end()
    [record] = made.records()
    assert record.completion is not None
    assert record.completion.capped == 1
    assert {found.rule for found in record.verdict.violations} == {"G401"}
    made.provider.shutdown()
    assert len(records(made.store)) == 1
