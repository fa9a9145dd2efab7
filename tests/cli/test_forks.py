"""Shares of a work in forks: the same answers in the same order, whatever becomes of a fork."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from otel_gate.cli import forks
from tests.conftest import ROOT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks are for Linux")
HERE = os.getpid()


def squares(share: list[int]) -> tuple[int, list[int]]:
    """Say who worked, and what came of it."""
    return os.getpid(), [number * number for number in share]


def test_each_share_is_done_once_and_in_order() -> None:
    """The first share is this process's, each other one a fork's; answers come in the order of the shares."""
    found = [*forks.done(squares, [[1, 2], [3], [4, 5]])]
    assert [answer for _, answer in found] == [[1, 4], [9], [16, 25]]
    assert [process == HERE for process, _ in found] == [True, False, False]


def test_a_large_answer_comes_whole() -> None:
    """An answer that no pipe holds at once is received all the same."""
    assert [len(found) for found in forks.done(lambda share: "x" * share, [5, 10_000_000])] == [5, 10_000_000]


@pytest.mark.parametrize("end", [lambda: os._exit(0), lambda: os._exit(3), lambda: os.kill(os.getpid(), 9)])
def test_a_fork_that_ends_early_is_made_up_for(end: object) -> None:
    """What a fork did not send this process finds out itself."""

    def work(share: int) -> int:
        if os.getpid() != HERE:
            end()  # type: ignore[operator]
        return share

    assert [*forks.done(work, [1, 2, 3])] == [1, 2, 3]


def test_half_an_answer_is_none() -> None:
    """A fork that is killed while it sends has sent nothing: its share is done again."""

    def work(share: int) -> str:
        if os.getpid() != HERE:
            signal.setitimer(signal.ITIMER_REAL, 0.2)  # when the pipe is full, and nobody reads yet
        elif not share:
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
        return "x" * share

    assert [len(found) for found in forks.done(work, [0, 10_000_000])] == [0, 10_000_000]


def test_an_error_is_raised_by_this_process() -> None:
    """A fork that can't do its share says nothing; the error is met again here."""

    def work(share: int) -> float:
        return 1 / share

    with pytest.raises(ZeroDivisionError):
        [*forks.done(work, [1, 0])]


def test_no_fork_outlives_the_work() -> None:
    """When the work is given up, its forks end and are waited for."""
    began = time.monotonic()
    walk = forks.done(time.sleep, [0, 60])
    next(walk)
    walk.close()  # type: ignore[attr-defined]
    assert time.monotonic() - began < 30
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_a_process_with_threads_does_not_fork() -> None:
    """A second thread, as a rule of the user's may start one, makes a fork unsafe."""
    code = (
        "import threading; from otel_gate.cli import forks; print(forks.are_safe()); stop = threading.Event();"
        "one = threading.Thread(target=stop.wait); one.start(); print(forks.are_safe()); stop.set(); one.join()"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["True", "False"]
    assert forks.are_safe() == (threading.active_count() == 1)
