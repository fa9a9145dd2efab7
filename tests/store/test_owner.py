"""Owners of leases: told apart in one process, known to be gone only when that can be seen."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from otel_gate.store import owner
from otel_gate.store.owner import is_gone, new_owner

pytestmark = pytest.mark.skipif(os.name != "posix", reason="processes can't be looked at elsewhere")


def changed(part: int, text: str) -> str:
    """Return this process's owner with one part replaced."""
    parts = new_owner().split(owner.SEPARATOR)
    parts[part] = text
    return owner.SEPARATOR.join(parts)


def ended_pid() -> int:
    """Return the id of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_owners_of_one_process_differ() -> None:
    """Two forwarders of one process do not take each other's leases for their own."""
    assert new_owner() != new_owner()


def test_this_process_is_not_gone() -> None:
    """A process that runs keeps its leases."""
    assert not is_gone(new_owner())


def test_a_process_that_has_ended_is_gone() -> None:
    """Its leases are free at once, also when nobody knows when it had started."""
    pid = str(ended_pid())
    assert is_gone(changed(1, pid))
    assert is_gone(owner.SEPARATOR.join((owner._host(), pid, "", "1")))


@pytest.mark.skipif(not owner._started(os.getpid()), reason="no start times on this system")
def test_a_number_that_another_process_has_now_is_gone() -> None:
    """A live process that started at another time is another process."""
    assert is_gone(changed(2, "1"))


def test_a_process_without_a_start_time_is_judged_by_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no start time can be read, a process that runs is not gone, and one that does not is."""
    monkeypatch.setattr(owner, "_started", lambda _: "")
    assert not is_gone(changed(2, ""))
    assert not is_gone(changed(2, "12345"))
    assert is_gone(changed(1, str(ended_pid())))


def test_a_process_of_another_user_is_not_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A number that we may not signal is taken."""

    def refuse(_pid: int, _signal: int) -> None:
        raise PermissionError

    monkeypatch.setattr(owner, "_started", lambda _: "")
    monkeypatch.setattr(os, "kill", refuse)
    assert not is_gone(new_owner())


def test_another_host_can_not_be_seen() -> None:
    """What runs elsewhere keeps its lease until it runs out."""
    assert not is_gone(changed(0, "elsewhere"))


@pytest.mark.parametrize("text", ["", "x", "|||", "a|b|c|d|e", "a|1|2|3"])
def test_an_owner_of_another_form_is_not_gone(text: str) -> None:
    """Text that is no owner is nobody's to give back."""
    assert not is_gone(text)


@pytest.mark.parametrize("pid", ["", "x", "-1", "1.5", "\u00b2", "9" * 30, "\u0669"])
def test_a_number_that_is_none_is_not_gone(pid: str) -> None:
    """No number of a process makes an error or a signal to others."""
    assert not is_gone(changed(1, pid)) or pid == "\u0669"
