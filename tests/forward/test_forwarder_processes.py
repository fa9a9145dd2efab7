"""Forwarders of several processes: forks, a store that is shared, a process that is killed."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
import warnings
from typing import TYPE_CHECKING

import pytest

from otel_gate.forward.otlp_http import OtlpHttp
from otel_gate.store import Store
from tests.conftest import ROOT
from tests.forward.servers import Answer, Request, http, raw
from tests.forward.story import Shelf, endpoint, ids, owe, there, trace, until

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_gate.forward import Forwarder


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_child_forwards_what_it_records(shelf: Shelf, forward: Callable[..., Forwarder]) -> None:
    """After a fork the child has its own thread and connections; the parent's go on."""
    with http() as collector:
        forwarder = forward(OtlpHttp("otlp", endpoint(collector.url)))
        owe(shelf, forwarder, 1)
        assert forwarder.flush(5.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
        if pid == 0:
            code = 1
            try:
                child = Shelf(Store(shelf.store.root), "otlp")
                owe(child, forwarder, 2)
                code = 0 if forwarder.flush(5.0) and forwarder.shutdown(5.0) else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        owe(shelf, forwarder, 3)
        assert forwarder.flush(5.0)
    assert sorted(collector.ids) == ids(1, 2, 3)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.parametrize("call", ["flush", "shutdown"])
def test_a_child_that_records_nothing_stops_at_once(shelf: Shelf, forward: Callable[..., Forwarder], call: str) -> None:
    """It does not wait for the parent's thread, even when that held a lock at the fork."""
    to = there()
    forwarder = forward(to)
    owe(shelf, forwarder, 1)
    assert forwarder.flush(5.0)
    with forwarder.couriers[0]._passed, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                began = time.monotonic()
                done = getattr(forwarder, call)(5.0)
                code = 0 if done and time.monotonic() - began < 2 and to.forked == 1 else 2
            finally:
                os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert to.forked == 0


def test_what_was_leased_before_a_fork_is_the_parents(shelf: Shelf, forward: Callable[..., Forwarder]) -> None:
    """In a child every way in starts anew, with an owner of its own and nothing kept."""
    to = there()
    forwarder = forward(to)
    forwarder._kept.put("otlp", "place", 1, b"bytes of the parent")
    owner, forwarder._pid = forwarder.couriers[0].owner, -1
    forwarder.once(shelf.store)
    assert to.forked == 1
    assert forwarder.couriers[0].owner != owner
    assert forwarder._kept.bytes == 0


def worker(shelf: Shelf, url: str, *more: str) -> subprocess.Popen[str]:
    """Start another process over the same store; it goes on when it reads a line."""
    command = [sys.executable, "-m", "tests.forward.worker", str(shelf.store.root), url, *more]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def go(process: subprocess.Popen[str]) -> None:
    """Let it go on."""
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def test_two_processes_never_send_one_twice(shelf: Shelf) -> None:
    """Over one store each of 200 traces arrives exactly once, and both had a part in it."""
    shelf.put(*[trace(n, 1) for n in range(1, 201)])
    agents: set[str] = set()
    both = threading.Event()

    def answer(request: Request) -> Answer:
        agents.add(request.headers["x-who"])
        if len(agents) == 2:
            both.set()
        both.wait(10)
        return Answer()

    with http(answer) as collector:
        workers = []
        for name in ("a", "b"):
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("WHO", name)
                workers.append(worker(shelf, collector.url))
        for one in workers:
            go(one)
        for one in workers:
            assert one.wait(20) == 0
            one.communicate()
    assert sorted(collector.ids) == ids(*range(1, 201))
    assert set(shelf.states()) == {"accepted"}
    assert agents == {"a", "b"}


def test_a_process_that_was_killed_while_it_sent_loses_nothing(shelf: Shelf, forward: Callable[..., Forwarder]) -> None:
    """What it had leased is given back as soon as another one looks, not when the lease runs out."""
    shelf.put(trace(1), trace(2))
    with raw() as url:
        killed = worker(shelf, url, "30")
        go(killed)
        until(lambda: {row["lease"] for row in shelf.rows()} != {""}, "a lease")
        killed.kill()
        killed.wait()
        killed.communicate()
    assert shelf.states() == ["pending", "pending"]
    to = there()
    forwarder = forward(to)
    assert forwarder.flush(5.0)
    assert shelf.states() == ["accepted", "accepted"]
