"""Processes that have children: each writes a journal of its own, and what a child inherits stays its parent's."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.sdk.ending import INSTALL, Ended, begin, ended, names, recover, run

if TYPE_CHECKING:
    from pathlib import Path

    from otel_gate.core.model import Record

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")

LEDGER = """
ledger = os.open("ledger", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
def one(name):
    span = tracer.start_span(name)
    span.end()
    os.write(ledger, f"{span.context.span_id:016x}\\n".encode())
"""
FAMILY = """
root = tracer.start_span("agent.run")
with trace.use_span(root, end_on_exit=False):
    with otel_gate.tool_span("before", {}):
        pass
    child = os.fork()
    if child == 0:
        with otel_gate.tool_span("child", {}):
            pass
        root.end()
        LEAVE
os.waitpid(child, 0)
root.end()
"""
METHODS = [method for method in ("fork", "spawn", "forkserver") if method in multiprocessing.get_all_start_methods()]


def every_span_is_in_one_record(folder: Path, done: Ended) -> list[Record]:
    """Hold that what was told to the ledger is recorded once, and return the records."""
    told = (folder / "ledger").read_text(encoding="ascii").split()
    assert told, done.err
    found = recover(folder)
    times = Counter(span.span_id for record in found for span in record.spans)
    assert set(told) <= set(times), done.err
    assert set(times.values()) == {1}
    return found


@pytest.mark.parametrize("leave", ["sys.exit(0)", "os._exit(0)", "os.kill(os.getpid(), signal.SIGKILL)"])
def test_a_child_leaves_what_it_inherited_to_its_parent(tmp_path: Path, leave: str) -> None:
    """The root that was open at the fork is in the record once, from the parent; the child's own span is there too."""
    done = run(tmp_path, INSTALL + FAMILY.replace("LEAVE", leave))
    assert done.code == 0, done.err
    [record] = recover(tmp_path)
    assert names(record) == ["agent.run", "tool.before", "tool.child"]
    assert record.verdict.shape_ok


def test_a_child_of_which_the_parent_is_killed_records_its_own(tmp_path: Path) -> None:
    """Each has its own journal: the child ends cleanly, the parent's is left, and names the root."""
    leave = "os.kill(os.getppid(), signal.SIGKILL); sys.exit(0)"
    done = run(tmp_path, INSTALL + FAMILY.replace("LEAVE", leave))
    assert done.code == -signal.SIGKILL
    [record] = recover(tmp_path)
    assert names(record) == ["tool.before", "tool.child"]
    assert record.completion is not None
    assert [span.name for span in record.completion.open] == ["agent.run"]


def test_a_fork_in_the_middle_of_another_threads_hook(tmp_path: Path) -> None:
    """Threads start and end spans while children are forked: no child hangs, nothing is lost or there twice."""
    code = """
def busy():
    while not over.is_set():
        one("thread")
        time.sleep(0.003)
over = threading.Event()
threads = [threading.Thread(target=busy) for _ in range(2)]
for thread in threads:
    thread.start()
for number in range(24):
    time.sleep(0.002)
    if os.fork() == 0:
        for _ in range(3):
            one("child")
        gate.flush(5) if number % 2 else None
        os._exit(9)
for _ in range(24):
    assert os.waitstatus_to_exitcode(os.wait()[1]) == 9
over.set()
for thread in threads:
    thread.join()
"""
    done = run(tmp_path, INSTALL + LEDGER + code)
    assert done.code == 0, done.err
    found = every_span_is_in_one_record(tmp_path, done)
    assert Counter(span.name for record in found for span in record.spans)["child"] == 72


@pytest.mark.parametrize("method", METHODS)
def test_a_pool_of_processes_loses_nothing(tmp_path: Path, method: str) -> None:
    """Its workers end without atexit, or are terminated: what they had ended is recovered when the parent ends."""
    code = """
import multiprocessing
def work(number):
    one("work")
    return number
if __name__ == "__main__":
    METHOD = sys.argv[0] and os.environ["METHOD"]
    context = multiprocessing.get_context(METHOD)
    with context.Pool(2) as pool:
        assert pool.map(work, range(20)) == list(range(20))
    process = context.Process(target=work, args=(1,))
    process.start()
    process.join()
    assert process.exitcode == 0
    one("parent")
"""
    done = run(tmp_path, INSTALL + LEDGER + code, METHOD=method)
    assert done.code == 0, done.err
    assert "Traceback" not in done.err
    assert len(every_span_is_in_one_record(tmp_path, done)) == 22


def test_a_master_that_forks_workers_and_replaces_them(tmp_path: Path) -> None:
    """The gate is installed before the fork; workers are terminated, killed, and replaced: nothing told is lost."""
    code = """
master = os.getpid()
def worker():
    pid = os.fork()
    if pid == 0:
        while os.getppid() == master:
            one("request")
            time.sleep(0.002)
        os._exit(1)
    return pid
one("master")
pids = [worker() for _ in range(3)]
for number in range(9):
    time.sleep(0.1)
    pid, by = pids.pop(0), (signal.SIGTERM, signal.SIGKILL)[number % 2]
    os.kill(pid, by)
    pids.append(worker())
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -by
for pid in pids:
    os.kill(pid, signal.SIGTERM)
for pid in pids:
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGTERM
"""
    done = run(tmp_path, INSTALL + LEDGER + code)
    assert done.code == 0, done.err
    every_span_is_in_one_record(tmp_path, done)


def test_a_recovery_under_way_at_a_fork_does_not_stay_with_the_child(tmp_path: Path) -> None:
    """The right to recover is given back by name: a child that shares the file does not keep others from it."""
    code = """
from otel_gate.store import orphans
from otel_gate.store.files import Files
from pathlib import Path
one("x")
recovery = orphans.found(Path("store"), Files())
(Path("store") / "journal" / "of-nobody").mkdir()
assert next(recovery).folder.name == "of-nobody"
if os.fork() == 0:
    ready()
    time.sleep(60)
recovery.close()
again = orphans.found(Path("store"), Files())
assert next(again).folder.name == "of-nobody"
print("again", flush=True)
"""
    program = begin(tmp_path, INSTALL + LEDGER + code + "again.close()\nos.killpg(0, signal.SIGKILL)\n")
    assert "again" in ended(tmp_path, program).out
