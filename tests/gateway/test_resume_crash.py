"""The end of a gateway at every single step of taking over, going on and stopping: nothing is lost, nothing doubled."""

from __future__ import annotations

import contextlib
import itertools
from typing import TYPE_CHECKING

import pytest

from tests.fakes import Crash, FaultyFiles
from tests.gateway.resumed import ENDS, check, gate
from tests.pipeline.driven import Agent, Fact, check_balance, journals, owed

if TYPE_CHECKING:
    from pathlib import Path


def tell(one: Agent) -> None:
    """Tell the second part of a story: what was open ends, one trace is late, a copy comes, and one stays open."""
    pipeline = one.pipeline
    pipeline.step()
    one.arrive(1, 1)
    one.arrive(3, 31, 30)
    pipeline.step(1)
    one.arrive(2, 21, 20)
    one.arrive(1, 2, 1)
    pipeline.step(7)
    one.arrive(4, 40)
    pipeline.step(7)
    one.arrive(4, 41, 40)
    pipeline.step(1)
    pipeline.suspend(1)


@pytest.mark.parametrize(("end", "torn"), [("a clean stop", 0.5), ("SIGKILL", 0.0), ("SIGKILL", 1.0)])
def test_the_second_gateway_ends_at_any_step(tmp_path: Path, end: str, torn: float) -> None:
    """While it takes over, goes on or stops: the third one has everything that was kept, once."""
    for step in itertools.count(1):
        root, files = tmp_path / str(step), FaultyFiles(Crash(), step)
        files.torn = torn
        first = gate(root, segment_bytes=700)
        for span in ((1, 2, 1), (2, 20), (3, 30)):
            first.arrive(*span)
        first.pipeline.step()
        first.pipeline.step(7)
        first.arrive(1, 3, 1)
        first.pipeline.step()
        ENDS[end](first)
        facts: list[Fact] = []
        second = None
        with contextlib.suppress(Crash):
            second = gate(root, files, segment_bytes=700)
            second.facts = facts
            tell(second)
        if second is not None:
            second.pipeline.die()
        last = gate(root, segment_bytes=700)
        last.pipeline.step()
        check_balance(last.pipeline.status())
        for span in ((1, 4, 1), (3, 32, 30), (4, 42, 40)):
            last.arrive(*span)
        last.pipeline.step()
        last.pipeline.step(61)
        assert last.pipeline.suspend(1), step
        found = check(root, first.facts + facts + last.facts)
        assert journals(root) == [], step
        debts = owed(root)
        for record in found.values():
            expected = [("pending", len(record.spans))] if record.verdict.shape_ok else []
            assert debts[record.trace_id] == expected, step
        if not files.dead:
            return


def test_a_disk_that_refuses_any_step_of_taking_over_ends_no_trace(tmp_path: Path) -> None:
    """It is tried again every second until the disk takes it: the trace is one record, of one revision, in the end."""
    for step in itertools.count(1):
        root, files = tmp_path / str(step), FaultyFiles(OSError("no space"), step, lasting=10_000)
        first = gate(root)
        for span in ((1, 2, 1), (1, 3, 1)):
            first.arrive(*span)
        first.pipeline.step()
        first.pipeline.die()
        second = gate(root, files)
        is_refused = not second.pipeline.is_open
        for _ in range(3):
            second.pipeline.step(1.1)
        assert second.pipeline.accept([]) is None or not is_refused
        files.fault = None
        second.pipeline.step(1.1)
        second.arrive(1, 1)
        second.pipeline.step()
        second.pipeline.step(7)
        assert second.pipeline.suspend(1), step
        [record] = check(root, first.facts + second.facts).values()
        assert record.completion is not None
        assert (record.revision, record.completion.reason) == (1, "root_ended"), step
        assert journals(root) == [], step
        if not is_refused:
            break
    assert step > 5
