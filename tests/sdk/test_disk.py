"""Disks that refuse, clocks that are set: the agent runs on, a loss is counted and said once, the rest is intact."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from otel_gate.core.record import decode
from tests.sdk.ending import INSTALL, WORK, names, recover, run, still_open

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HOUR_NS = 3_600_000_000_000
REFUSING = "import errno\nfrom tests.sdk.refusing import refuse\n"
STATUS = """
def status():
    found = gate.status()
    print(found.seen, found.recorded, found.lost, found.open, flush=True)
    assert found.seen == found.recorded + found.duplicates + found.capped + found.unparsable + found.open + found.lost
"""
BEFORE = WORK + "root.end()\nassert gate.flush(10)\n" + WORK
LOST = "could not be written and are lost"


@pytest.mark.parametrize("error", ["ENOSPC", "EIO", "EROFS"])
def test_a_disk_that_refuses_to_the_end_costs_what_came_after(tmp_path: Path, error: str) -> None:
    """What was in a record stays, what was in the journal is recovered, what came later is counted and said once."""
    after = f"refuse(errno.{error})\nroot.end()\nstatus()\n" + WORK + "root.end()\nassert gate.flush(5) is False\n"
    done = run(tmp_path, REFUSING + INSTALL + STATUS + BEFORE + after + "gate.shutdown()\nstatus()\n")
    assert done.code == 0, done.err
    assert done.out.splitlines()[-1] == "6 2 3 1"
    assert done.err.count(os.strerror(getattr(errno, error))) == 1
    assert "2 traces (3 spans) could not be written and are lost" in done.err
    assert done.err.count(LOST) == 1
    assert "Traceback" not in done.err
    assert [names(record) for record in done.records] == [["agent.run", "tool.search"]]
    whole, cut = sorted(recover(tmp_path), key=lambda record: len(record.spans), reverse=True)
    assert whole.verdict.shape_ok
    assert (names(cut), still_open(cut)) == (["tool.search"], ["agent.run"])


@pytest.mark.parametrize("error", ["ENOSPC", "EIO"])
def test_a_disk_that_takes_something_again_costs_nothing(tmp_path: Path, error: str) -> None:
    """What came meanwhile waited in memory, and is recorded."""
    after = f"refuse(errno.{error})\nroot.end()\n" + WORK + "root.end()\nassert gate.flush(1) is False\nrefuse(0)\n"
    done = run(tmp_path, REFUSING + INSTALL + STATUS + BEFORE + after + "assert gate.flush(10)\nstatus()\n")
    assert done.code == 0, done.err
    assert done.out == "6 6 0 0\n"
    assert done.journals == []
    assert [record.verdict.shape_ok for record in done.records] == [True] * 3


def test_a_disk_that_is_really_full(tmp_path: Path) -> None:
    """On a file system of 3 MB: every record on it decodes, and what is in none was counted as lost."""
    code = """
ledger = open("ledger", "w")
for number in range(400):
    with tracer.start_as_current_span("agent.run", attributes={"text": os.urandom(6000).hex()}) as span:
        pass
    ledger.write(f"{span.context.span_id:016x}\\n")
    assert number != 40 or gate.flush(10)
gate.shutdown()
status()
"""
    with mounted(tmp_path / "store", "size=3m"):
        done = run(tmp_path, INSTALL + STATUS + code)
        assert done.code == 0, done.err
        seen, recorded, lost, left = map(int, done.out.split())
        assert (seen, seen > recorded > 0, lost > 0) == (400, True, True)
        assert done.err.count("could not be written (") == done.err.count(LOST) == 1
        assert done.err.count("the journal has them") == (left > 0)
        files = list((tmp_path / "store" / "records").rglob("*.json"))
        assert len([decode(path.read_bytes()) for path in files]) == recorded
        _system("mount", "-o", "remount,size=30m", str(tmp_path / "store"))
        found = [span.span_id for record in recover(tmp_path) for span in record.spans]
        told = (tmp_path / "ledger").read_text(encoding="ascii").split()
        assert len(found) == len(set(found))
        assert (len(set(told) - set(found)), len(found)) == (lost, recorded + left)


def test_a_store_that_can_only_be_read(tmp_path: Path) -> None:
    """Nothing can be kept: the agent runs on, and the loss is counted and said once."""
    with only_to_be_read(tmp_path / "store"):
        done = run(tmp_path, INSTALL + STATUS + WORK + "root.end()\n" + WORK + "root.end()\ngate.shutdown()\nstatus()")
        assert (done.code, done.out) == (0, "4 0 4 0\n"), done.err
        assert done.err.count("could not be written (") == 1
        assert done.err.count(LOST) == 1
        assert not list((tmp_path / "store").iterdir())


def test_a_folder_that_is_removed_under_a_running_agent(tmp_path: Path) -> None:
    """What was open is recorded when it ends, into a new folder; so is what comes later."""
    code = """
import shutil
shutil.rmtree("store")
root.end()
assert gate.flush(10)
""" + WORK + "root.end()\nassert gate.flush(10)\nstatus()\ngate.shutdown()\n"  # fmt: skip
    done = run(tmp_path, INSTALL + STATUS + BEFORE + code)
    assert (done.code, done.out) == (0, "6 6 0 0\n"), done.err
    assert done.journals == []
    assert [record.verdict.shape_ok for record in done.records] == [True] * 2


def test_a_folder_that_is_removed_loses_nothing_that_comes_a_second_later(tmp_path: Path) -> None:
    """The journal begins anew in a new folder: the process may be killed, and what it has told since is recovered."""
    code = """
import shutil
from pathlib import Path
shutil.rmtree("store")
until = time.monotonic() + 20
while not list(Path().glob("store/journal/*/*.segment")) and time.monotonic() < until:
    time.sleep(0.02)
"""
    done = run(tmp_path, INSTALL + BEFORE + code + WORK + "os._exit(3)")
    assert done.code == 3, done.err
    [record] = [record for record in recover(tmp_path) if names(record) == ["tool.search"]]
    assert still_open(record) == ["agent.run"]


@pytest.mark.parametrize("step_ns", [HOUR_NS, -HOUR_NS], ids=["forth", "back"])
def test_a_clock_that_is_set_leaves_its_times_and_the_length_that_was_seen(tmp_path: Path, step_ns: int) -> None:
    """Times stay as they were; ``observed_ns`` says how long the span took by a clock that nobody sets."""
    head = "import time\nreal, step = time.time_ns, [0]\ntime.time_ns = lambda: real() + step[0]\n"
    code = f"step[0] = {step_ns}\nroot.end()\n" + WORK + "root.end()\nassert gate.flush(10)\nstatus()\n"
    program = WORK + code
    (tmp_path / "sitecustomize.py").write_text(head, encoding="utf-8")
    done = run(tmp_path, "from sitecustomize import step\n" + INSTALL + STATUS + program)
    assert (done.code, done.out, done.err) == (0, "4 4 0 0\n", "")
    [across] = [span for record in done.records for span in record.spans if span.observed_ns]
    assert across.name == "agent.run"
    assert abs(across.end_ns - across.start_ns - step_ns) < HOUR_NS // 100
    assert 0 < across.observed_ns < HOUR_NS // 100
    rules = {violation.rule for record in done.records for violation in record.verdict.violations}
    assert rules == ({"G201"} if step_ns < 0 else set())
    assert [names(record) for record in recover(tmp_path)] == [["agent.run", "tool.search"]] * 2


@contextmanager
def mounted(folder: Path, options: str) -> Iterator[None]:
    """Mount a file system of its own, or skip where that can't be done."""
    folder.mkdir()
    if not _system("mount", "-t", "tmpfs", "-o", options, "otel-gate", str(folder)):
        pytest.skip("a small file system can be mounted by root only")
    try:
        yield
    finally:
        _system("umount", "-l", str(folder))


def _system(name: str, *arguments: str) -> bool:
    """Run a command of the system, and tell whether it is there and did its work."""
    program = shutil.which(name)
    return (
        program is not None and not subprocess.run([program, *arguments], check=False, capture_output=True).returncode
    )


@contextmanager
def only_to_be_read(folder: Path) -> Iterator[None]:
    """Make a folder that this user can't write to; root is stopped by a file system only."""
    if os.geteuid() == 0:
        with mounted(folder, "ro"):
            yield
        return
    folder.mkdir(mode=0o500)
    yield
    folder.chmod(0o700)
