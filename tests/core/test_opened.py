"""What is told of open traces, the one that has been open for the longest first."""

from __future__ import annotations

from tests.core.test_assembly import AGE, GRACE, QUIET, TIMEOUT, Agent


def test_an_open_trace_says_what_it_waits_for() -> None:
    """Its age, idle time, spans and bytes, and how long it waits for more when nothing comes."""
    agent = Agent()
    agent.assembler.arrived("rooted", "a", 3, root=True, now=0)
    agent.assembler.arrived("rooted", "b", 4, root=False, now=1)
    agent.assembler.arrived("rootless", "c", 1, root=False, now=2)
    agent.starts("root", at=3)
    rooted, rootless, living = agent.assembler.opened(9, 4)
    assert (rooted.key, rooted.age_ns, rooted.idle_ns, rooted.spans, rooted.bytes) == ("rooted", 4, 3, 2, 7)
    assert (rooted.waits_for, rooted.left_ns) == ("quiet", 1 + QUIET - 4)
    assert (rootless.waits_for, rootless.left_ns) == ("root", 2 + TIMEOUT - 4)
    assert (living.waits_for, living.left_ns) == ("open spans", 3 + AGE - 4)
    assert agent.assembler.opened(1, 4) == [rooted]


def test_a_trace_that_is_due_has_no_time_left() -> None:
    """What is late to be closed waits no longer than now."""
    agent = Agent()
    agent.starts("root")
    agent.ends("root", root=True)
    [done] = agent.assembler.opened(9, GRACE + 5)
    assert (done.waits_for, done.left_ns) == ("quiet", 0)
