"""The assembler: when traces close, what they hold then, and that nothing is lost or doubled on the way.

Times are small numbers: the limits below count in nanoseconds.
"""

from __future__ import annotations

from typing import Any

import pytest

from otel_gate.core import assembly
from otel_gate.core.assembly import Assembler, Closed, Limits
from otel_gate.core.model import OpenSpan

GRACE, QUIET, TIMEOUT, AGE = 2, 5, 9, 40
LIMITS = Limits(
    grace_ns=GRACE, quiet_ns=QUIET, trace_timeout_ns=TIMEOUT, max_trace_spans=4, max_trace_bytes=50,
    max_trace_age_ns=AGE, max_open_bytes=80,
)  # fmt: skip
KEY = "trace"


class Agent:
    """One trace of an agent, told in short sentences; every entry is its own span id and one byte long."""

    def __init__(self, limits: Limits = LIMITS) -> None:
        self.assembler = Assembler(limits)

    def starts(self, span_id: str, parent: str = "", *, remote: bool = False, at: int = 0, run_id: str = "") -> None:
        """Start a span."""
        self.assembler.started(KEY, OpenSpan(span_id, run_id=run_id), parent, remote=remote, now=at)

    def ends(self, span_id: str, *, root: bool = False, at: int = 0, size: int = 1) -> None:
        """End a span."""
        self.assembler.ended(KEY, span_id, span_id, size, root=root, now=at)

    def sends(self, span_id: str, *, root: bool = False, at: int = 0, size: int = 1) -> None:
        """Send a span over a wire."""
        self.assembler.arrived(KEY, span_id, size, root=root, now=at)

    def closes(self, at: int) -> list[Closed]:
        """Return what is due at a time."""
        return list(self.assembler.due(at))

    def closes_first_at(self, at: int, reason: str) -> Closed:
        """Return the trace that closes at this time for this reason, and not a nanosecond earlier."""
        assert self.closes(at - 1) == []
        (closed,) = self.closes(at)
        assert closed.completion.reason == reason
        return closed


def test_a_trace_closes_a_grace_after_its_root_has_ended() -> None:
    """With the local root ended and nothing open, a trace is complete after the grace."""
    agent = Agent()
    agent.starts("root")
    agent.starts("child", "root")
    agent.ends("child", at=1)
    agent.ends("root", root=True, at=3)
    closed = agent.closes_first_at(3 + GRACE, "root_ended")
    assert (closed.entries, closed.completion.open, closed.late) == (["child", "root"], (), False)


def test_a_detached_task_may_start_a_child_after_the_root_has_ended() -> None:
    """A span that starts within the grace keeps the trace open until it has ended, and a grace longer."""
    agent = Agent()
    agent.starts("root")
    agent.ends("root", root=True, at=1)
    agent.starts("child", "root", at=2)
    assert agent.closes(1 + GRACE) == []
    agent.ends("child", at=8)
    assert agent.closes_first_at(8 + GRACE, "root_ended").entries == ["root", "child"]


def test_an_open_root_keeps_a_trace_for_hours() -> None:
    """While its local root is open, no idle time closes a trace, only its age does."""
    agent = Agent()
    agent.starts("root")
    agent.starts("child", "root")
    agent.ends("child")
    assert agent.closes_first_at(AGE, "capped").entries == ["child"]


def test_a_second_open_root_keeps_a_trace_too() -> None:
    """One local root has ended, another of the same trace is open: no idle time closes it."""
    agent = Agent()
    agent.starts("first", "elsewhere", remote=True)
    agent.ends("first", at=1)
    agent.starts("second", "elsewhere", remote=True, at=2)
    assert agent.closes(2 + 3 * TIMEOUT) == []
    agent.ends("second", at=30)
    assert agent.closes_first_at(30 + GRACE, "root_ended").entries == ["first", "second"]


def test_a_second_root_keeps_its_trace_after_the_first_was_recorded() -> None:
    """A request that comes when its trace was closed already is not cut short by idle time."""
    agent = Agent()
    agent.starts("first", "elsewhere", remote=True)
    agent.ends("first")
    assert len(agent.closes(GRACE)) == 1
    agent.starts("second", "elsewhere", remote=True, at=10)
    assert agent.closes(10 + 3 * TIMEOUT) == []
    agent.ends("second", at=38)
    assert agent.closes_first_at(38 + GRACE, "root_ended").late


def test_a_span_that_stays_open_after_the_root_times_out() -> None:
    """With the root ended and a child open, the trace timeout of idle time closes the trace and names the child."""
    agent = Agent()
    agent.starts("root")
    agent.starts("child", "root")
    agent.ends("root", root=True, at=1)
    closed = agent.closes_first_at(1 + TIMEOUT, "timed_out")
    assert [span.span_id for span in closed.completion.open] == ["child"]


def test_a_late_end_closes_after_the_grace() -> None:
    """A span that ends after its trace was closed is late, and waits for a grace only."""
    agent = Agent()
    agent.starts("root")
    agent.starts("child", "root")
    agent.ends("root", root=True)
    agent.closes(TIMEOUT)
    agent.ends("child", at=20)
    closed = agent.closes_first_at(20 + GRACE, "root_ended")
    assert (closed.entries, closed.late) == (["child"], True)


def test_spans_without_a_root_wait_for_quiet() -> None:
    """With nothing open and no local root seen, the quiet time closes a trace of this process."""
    agent = Agent()
    agent.ends("child", at=1)
    closed = agent.closes_first_at(1 + QUIET, "timed_out")
    assert (closed.entries, closed.completion.open) == (["child"], ())


def test_an_open_span_without_a_root_waits_for_its_end() -> None:
    """A processor that was added in mid-trace has not seen the root, which may be open: only age closes the trace."""
    agent = Agent()
    agent.starts("child", "root")
    assert agent.closes(4 * TIMEOUT) == []
    agent.ends("child", at=38)
    agent.ends("root", root=True, at=38)
    assert agent.closes_first_at(AGE, "root_ended").entries == ["child", "root"]


def test_an_end_without_a_start_never_makes_the_count_negative() -> None:
    """Ends of spans whose starts were not seen take nothing from the number of open spans."""
    agent = Agent()
    agent.ends("unseen")
    agent.starts("seen", "unseen")
    agent.ends("unseen too")
    assert [span.span_id for span in agent.assembler.open_spans()] == ["seen"]


def test_a_root_whose_start_was_not_seen_completes_its_trace() -> None:
    """An end that says it has no parent counts as the local root's end."""
    agent = Agent()
    agent.ends("root", root=True, at=1)
    agent.closes_first_at(1 + GRACE, "root_ended")


def test_a_span_with_a_remote_parent_is_a_local_root() -> None:
    """The end of a span with a parent in another process completes the trace of this process."""
    agent = Agent()
    agent.starts("entry", "elsewhere", remote=True)
    agent.ends("entry", at=1)
    agent.closes_first_at(1 + GRACE, "root_ended")


def test_a_remote_parent_that_is_open_here_makes_no_root() -> None:
    """A process that calls itself has one local root: the callee's parent is open here, and the callee names no run."""
    agent = Agent()
    agent.starts("root", run_id="of the root")
    agent.starts("callee", "root", remote=True, run_id="of the callee")
    agent.ends("callee", at=1)
    assert agent.closes(1 + 2 * TIMEOUT) == []
    agent.ends("root", root=True, at=30)
    assert agent.closes_first_at(30 + GRACE, "root_ended").run_ids == {"root": "of the root"}


def test_behind_a_wire_a_root_waits_for_quiet() -> None:
    """Where no starts are seen, a trace closes when nothing has come for the quiet time after its root arrived."""
    agent = Agent()
    agent.sends("root", root=True, at=1)
    agent.sends("child", at=4)
    assert agent.closes_first_at(4 + QUIET, "root_ended").entries == ["root", "child"]


def test_behind_a_wire_a_trace_without_root_waits_for_the_timeout() -> None:
    """Where no starts are seen and no root has arrived, the trace timeout of idle time closes a trace."""
    agent = Agent()
    agent.sends("child")
    agent.sends("another", at=6)
    agent.closes_first_at(6 + TIMEOUT, "timed_out")


def test_what_arrives_after_its_trace_was_closed_waits_for_quiet() -> None:
    """A late span from a wire closes like a trace with a root: its root is recorded."""
    agent = Agent()
    agent.sends("root", root=True)
    agent.closes(QUIET)
    agent.sends("late", at=20)
    assert agent.closes_first_at(20 + QUIET, "root_ended").late


def test_a_trace_that_grows_old_hands_out_the_rest_later() -> None:
    """Age hands out what has ended, keeps the open spans, and the rest comes in its turn with the root's run id."""
    agent = Agent()
    agent.starts("root", run_id="run-1")
    agent.starts("child", "root")
    agent.ends("child", at=1)
    old = agent.closes_first_at(AGE, "capped")
    assert (old.entries, old.run_ids) == (["child"], {})
    assert [span.span_id for span in old.completion.open] == ["root"]
    agent.ends("root", root=True, at=AGE + 5)
    rest = agent.closes_first_at(AGE + 5 + GRACE, "root_ended")
    assert (rest.entries, rest.run_ids, rest.completion.open) == (["root"], {"root": "run-1"}, ())


def test_an_old_trace_of_a_wire_keeps_nothing() -> None:
    """Age closes a trace that never falls quiet, and with no open span nothing of it is kept."""
    agent = Agent()
    for time in range(0, AGE, TIMEOUT - 1):
        agent.sends(f"span {time}", at=time)
    assert agent.closes_first_at(AGE, "capped").completion.open == ()
    assert len(agent.assembler) == 0


def test_a_complete_trace_is_not_capped_by_its_age() -> None:
    """A trace that is complete when it grows old is closed as complete."""
    agent = Agent()
    agent.starts("root")
    agent.ends("root", root=True, at=AGE - 1)
    agent.closes_first_at(AGE, "root_ended")


@pytest.mark.parametrize("sizes", [(1, 1, 1, 1, 1), (20, 20, 20, 10)], ids=["spans", "bytes"])
def test_what_a_cap_keeps_out_is_counted(sizes: tuple[int, ...]) -> None:
    """A span beyond the cap of a trace is not held but counted, and the trace says that it was capped."""
    agent = Agent()
    for number, size in enumerate(sizes):
        agent.sends(str(number), root=True, size=size)
    assert (agent.assembler.held, agent.assembler.capped) == (len(sizes) - 1, 1)
    closed = agent.closes_first_at(QUIET, "capped")
    assert closed.completion.capped == 1
    assert len(closed.entries) == len(sizes) - 1
    assert (agent.assembler.held, agent.assembler.capped, agent.assembler.bytes) == (0, 0, 0)


def test_too_many_bytes_in_all_close_the_oldest_traces() -> None:
    """Above the total, traces are handed out from the oldest on until the rest fits; a complete one is not capped."""
    assembler = Assembler(LIMITS)
    assembler.started("empty", OpenSpan("a"), "", remote=False, now=0)
    for key, root in (("complete", True), ("open", False), ("young", False)):
        assembler.arrived(key, key, 45, root=root, now=0)
    closed = [(found.key, found.completion.reason) for found in assembler.due(0)]
    assert closed == [("complete", "root_ended"), ("open", "capped")]
    assert assembler.bytes == 45


def test_a_refused_span_is_no_longer_open_and_caps_its_trace() -> None:
    """A root that could not be taken in has ended; its trace closes after the grace and says what is missing."""
    agent = Agent()
    agent.starts("root")
    agent.assembler.refused(KEY, "root", 1)
    closed = agent.closes_first_at(1 + GRACE, "capped")
    assert (closed.entries, closed.completion.capped, closed.completion.open) == ([], 1, ())


def test_flush_ends_the_grace_of_complete_traces_only() -> None:
    """A flush closes what is complete, and leaves what has a span open."""
    assembler = Assembler(LIMITS)
    assembler.arrived("complete", "a", 1, root=True, now=0)
    assembler.started("open", OpenSpan("b"), "", remote=False, now=0)
    assert [(closed.key, closed.completion.reason) for closed in assembler.flush()] == [("complete", "root_ended")]
    assert len(assembler) == 1


def test_flush_closes_a_part_whose_root_is_elsewhere() -> None:
    """A forked child's part has no local root: with nothing open a flush records it, and what comes later amends it."""
    assembler = Assembler(LIMITS)
    assembler.started("part", OpenSpan("b"), "parent", remote=False, now=0)
    assembler.ended("part", "b", "entry", 1, root=False, now=0)
    assembler.arrived("by wire", "a", 1, root=False, now=0)
    assert [(closed.key, closed.completion.reason) for closed in assembler.flush()] == [("part", "timed_out")]


@pytest.mark.parametrize("reason", ["shut_down", "interrupted"])
def test_drain_closes_everything_for_a_reason(reason: Any) -> None:
    """At the end complete traces are complete, others say why they were closed and what was open; none is due then."""
    assembler = Assembler(LIMITS)
    assembler.arrived("complete", "a", 1, root=True, now=0)
    assembler.started("open", OpenSpan("b", "step", 7), "", remote=False, now=0)
    closed = {found.key: found.completion for found in assembler.drain(reason)}
    assert {key: completion.reason for key, completion in closed.items()} == {"complete": "root_ended", "open": reason}
    assert closed["open"].open == (OpenSpan("b", "step", 7),)
    assert (len(assembler), assembler.held, assembler.bytes, assembler.next_due()) == (0, 0, 0, None)


def test_a_run_id_is_handed_out_with_its_root() -> None:
    """The id drawn at a local root's start, or for a root whose start was not seen, comes with the closed trace."""
    agent = Agent()
    agent.starts("root", run_id="drawn at start")
    agent.starts("child", "root", run_id="of no root")
    agent.ends("child")
    agent.ends("root", root=True)
    agent.ends("unseen", root=True)
    agent.assembler.draw(KEY, "unseen", "drawn later")
    (closed,) = agent.assembler.flush()
    assert closed.run_ids == {"root": "drawn at start", "unseen": "drawn later"}


def test_next_due_is_never_too_late() -> None:
    """The next due time is None with nothing open, and never after the time at which a trace closes."""
    agent = Agent()
    assert agent.assembler.next_due() is None
    agent.sends("root", root=True)
    assert agent.assembler.next_due() == QUIET


def test_closed_traces_are_forgotten_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the latest closed traces are known as closed: what is late for an older one waits like a new trace."""
    monkeypatch.setattr(assembly, "REMEMBERED", 1)
    assembler = Assembler(LIMITS)
    for key in ("older", "newer"):
        assembler.arrived(key, key, 1, root=True, now=0)
    assert len(list(assembler.flush())) == 2
    for key in ("older", "newer"):
        assembler.arrived(key, "late", 1, root=False, now=0)
    assert {closed.key: closed.late for closed in assembler.drain()} == {"older": False, "newer": True}
