"""Processes that share a store, are forked, stopped, killed at any operation and refused by their disk, beside a dict.

Whatever happens in whatever order: accounts balance at every moment; a span that the journal took is in one record
once; none is doubled or made up; a trace that is whole is well-formed and owed once.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from tests.fakes import Crash, FaultyFiles
from tests.pipeline.driven import (
    Agent,
    Driven,
    Fact,
    Fate,
    check_balance,
    check_records,
    journals,
    owed,
    recovered,
    span_id,
    trace_id,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from otel_gate.pipeline.recovery import Recovered

TRACES = 3
WIRED = TRACES  # a trace that comes through an exporter
MOST_AGENTS = 3


class Process:
    """A process with a pipeline of its own; what it was told stands in ``facts``."""

    def __init__(self, root: Path, now: int, layout: str = "files") -> None:
        self.files, self.facts = FaultyFiles(), list[Fact]()
        self.pipeline = Driven(root, self.files, segment_bytes=900, layout=layout)
        self.pipeline.now = now
        self.agent = Agent(self.pipeline, self.facts)
        self.open: list[tuple[int, int, int | None]] = []
        self.ended: list[tuple[int, int, int | None]] = []


class Processes(RuleBasedStateMachine):
    """Processes over one store."""

    folder: Callable[[], Path]
    layouts: Iterator[str]

    def __init__(self) -> None:
        super().__init__()
        self.root = type(self).folder()
        self.now = self.spans = 0
        self.processes = [self.begun()]
        self.past: list[Fact] = []
        self.tree: dict[int, list[int]] = {}  # the spans of each trace, in the order in which they were begun
        self.broken: set[int] = set()  # traces of which something never ended, or a start was lost

    def begun(self) -> Process:
        """Begin a process."""
        return Process(self.root, self.now, next(self.layouts))

    def process(self, number: int) -> Process:
        """Pick a process."""
        return self.processes[number % len(self.processes)]

    def do(self, process: Process, action: Callable[..., Any], *args: Any) -> None:
        """Let a process do something; when it ends in the middle of it, the next one recovers what it left."""
        with contextlib.suppress(Crash):
            action(*args)
        if process.files.dead:
            self.bury(process)

    def recovered(self) -> list[Recovered]:
        """Recover what was left; where an entry was torn and others follow, nobody claims that a trace is whole."""
        done = recovered(self.root, layout=next(self.layouts))
        for one in done:
            check_balance(one.accounts)
            if one.damaged:
                self.broken.update(self.tree)
        return done

    def bury(self, process: Process) -> None:
        """End a process, and recover its journal."""
        process.pipeline.die()
        self.processes.remove(process)
        self.past += process.facts
        self.broken.update(process.agent.held, (trace for trace, _, _ in process.open))
        assert all(one.whole for one in self.recovered())
        if not self.processes:
            self.processes.append(self.begun())
        check_records(self.root, self.past, [fact for one in self.processes for fact in one.facts])

    @rule(number=st.integers(0, 9), trace=st.integers(0, TRACES - 1), below=st.integers(0, 9))
    def start(self, number: int, trace: int, below: int) -> None:
        """Start a span: the root of a trace, or one below another, maybe of another process."""
        process, known = self.process(number), self.tree.setdefault(trace, [])
        self.spans += 1
        span = trace, self.spans, known[below % len(known)] if known else None
        known.append(self.spans)
        process.open.append(span)
        self.do(process, process.agent.start, *span)

    @rule(number=st.integers(0, 9), which=st.integers(0, 9))
    def end(self, number: int, which: int) -> None:
        """End a span, in time or late."""
        process = self.process(number)
        if process.open:
            span = process.open.pop(which % len(process.open))
            process.ended.append(span)
            self.do(process, process.agent.end, *span)

    @rule(number=st.integers(0, 9), which=st.integers(0, 9))
    def end_twice(self, number: int, which: int) -> None:
        """Deliver an ended span once more."""
        process = self.process(number)
        if process.ended:
            self.do(process, process.agent.end, *process.ended[which % len(process.ended)])

    @rule(number=st.integers(0, 9))
    def arrive(self, number: int) -> None:
        """Let a span come through an exporter: children first, so that the root is the last."""
        process, known = self.process(number), self.tree.setdefault(WIRED, [])
        self.spans += 1
        known.append(self.spans)
        self.do(process, process.agent.arrive, WIRED, self.spans, known[0] if len(known) > 1 else None)

    @rule(number=st.integers(0, 9), seconds=st.sampled_from([0, 1, 7, 61]))
    def step(self, number: int, seconds: int) -> None:
        """Let time pass for a worker."""
        process = self.process(number)
        self.now += seconds
        self.do(process, process.pipeline.step, seconds)

    @rule(number=st.integers(0, 9))
    def flush(self, number: int) -> None:
        """Record what is complete."""
        process = self.process(number)
        self.do(process, process.pipeline.flush, 0)

    @rule(number=st.integers(0, 9))
    def shut_down(self, number: int) -> None:
        """Stop a pipeline cleanly; what comes later starts it again."""
        process = self.process(number)
        self.do(process, self.stop, process)

    def stop(self, process: Process) -> None:
        """Stop a pipeline; what its disk refuses is given up, and with it the starts that only memory had."""
        if not process.pipeline.shutdown(0):
            self.broken |= process.agent.held
        process.agent.held.clear()

    @precondition(lambda self: len(self.processes) < MOST_AGENTS)
    @rule()
    def fork(self) -> None:
        """Fork: the child has nothing of what its parent holds, and a journal of its own."""
        self.processes.append(self.begun())

    @rule(number=st.integers(0, 9), after=st.integers(1, 25), torn=st.sampled_from([0.0, 0.5, 1.0]))
    def crash(self, number: int, after: int, torn: float) -> None:
        """Let a process end at one of its next operations."""
        files = self.process(number).files
        files.fault, files.at, files.lasting, files.torn = Crash(), len(files.steps) + after, 1, torn

    @rule(
        number=st.integers(0, 9), after=st.integers(1, 6), lasting=st.sampled_from([1, 3, 20]),
        code=st.sampled_from([errno.ENOSPC, errno.EIO]), torn=st.sampled_from([0.0, 0.5]),
    )  # fmt: skip
    def refuse(self, number: int, after: int, lasting: int, code: int, torn: float) -> None:
        """Let the disk of a process refuse some of its next operations."""
        files = self.process(number).files
        fault = OSError(code, "the disk refuses")
        files.fault, files.at, files.lasting, files.torn = fault, len(files.steps) + after, lasting, torn

    @rule()
    def recover(self) -> None:
        """Recover while everybody lives: only what a pipeline gave up is there to be recovered."""
        self.recovered()

    @invariant()
    def balanced(self) -> None:
        """Whatever came in is somewhere."""
        for process in self.processes:
            check_balance(process.pipeline.status())

    def teardown(self) -> None:
        """In the end the disk is well again, and everybody stops."""
        for process in self.processes:
            process.files.fault = None
            assert process.pipeline.flush(0)
            assert process.pipeline.shutdown(0)
            accounts = process.pipeline.status()
            check_balance(accounts)
            fate: Fate = "held" if accounts.lost else "kept"  # what memory held was recorded, but for what was given up
            self.past += [fact._replace(fate=fate) if fact.fate == "held" else fact for fact in process.facts]
            self.broken.update(trace for trace, _, _ in process.open)
        self.processes = []
        self.recovered()
        found = check_records(self.root, self.past)
        assert journals(self.root) == []
        debts = owed(self.root)
        for trace, spans in self.tree.items():
            kept = {fact.span_id for fact in self.past if fact.trace_id == trace_id(trace) and fact.fate == "kept"}
            if trace not in self.broken and kept.issuperset(map(span_id, spans)):
                record = found[trace_id(trace)]
                assert record.verdict.shape_ok, record.verdict
                assert record.run_id == f"run-{trace}"
                assert debts[record.trace_id] == [("pending", len(spans))]


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize(("layouts", "examples"), [(["files"], 150), (["segments"], 60), (["files", "segments"], 40)])
def test_processes_and_a_dict(tmp_path_factory: pytest.TempPathFactory, layouts: list[str], examples: int) -> None:
    """Whatever is begun, ended, forked, stopped, killed and refused in any order: nothing is lost, nothing doubled."""
    Processes.layouts = itertools.cycle(layouts)
    Processes.folder = staticmethod(lambda: tmp_path_factory.mktemp("store"))
    run_state_machine_as_test(
        Processes,
        settings=settings(
            max_examples=examples, stateful_step_count=40, deadline=None, suppress_health_check=[HealthCheck.too_slow]
        ),
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_that_is_killed(tmp_path: Path) -> None:
    """A real child goes on with a journal of its own: what it ended is recorded, and nothing else."""
    parent = Process(tmp_path, 0)
    parent.agent.start(0, 1)
    parent.agent.start(0, 2, 1)
    parent.agent.end(0, 2, 1)
    pid = os.fork()
    if pid == 0:  # pragma: no cover - another process
        parent.agent.start(0, 3, 1)
        parent.agent.end(0, 3, 1)
        os._exit(9)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 9
    assert len(journals(tmp_path)) == 2
    parent.facts.append(Fact(trace_id(0), span_id(3), "kept"))
    assert [(one.whole, one.accounts.recorded) for one in recovered(tmp_path)] == [(True, 1)]
    parent.agent.end(0, 1)
    assert parent.pipeline.shutdown(0)
    record = check_records(tmp_path, parent.facts)[trace_id(0)]
    assert {span.span_id for span in record.spans} == {span_id(number) for number in (1, 2, 3)}
    assert (record.verdict.shape_ok, record.run_id) == (True, "run-0")
    assert journals(tmp_path) == []
