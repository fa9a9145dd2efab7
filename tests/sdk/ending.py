"""Programs that end in some way, and what they leave: their exit, what they said, their records and journals."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from otel_gate.cli import main
from otel_gate.core.record import decode
from otel_gate.store.journal import FOLDER, SUFFIX
from tests.conftest import ROOT

if TYPE_CHECKING:
    import signal
    from pathlib import Path

    from otel_gate.core.model import Record

HANG_S = 40
HEAD = """
import os, signal, sys, threading, time
import otel_gate
from opentelemetry import trace
tracer = trace.get_tracer("agent")
def ready():
    print("ready", flush=True)
"""
INSTALL = "gate = otel_gate.install()\n"
WORK = """
root = tracer.start_span("agent.run")
with trace.use_span(root, end_on_exit=False):
    with otel_gate.tool_span("search", {"q": "x"}):
        pass
"""


class Ended(NamedTuple):
    """How a program has ended, and what it has left."""

    code: int
    out: str
    err: str
    records: list[Record]
    journals: list[str]


def begin(folder: Path, code: str, **environ: str) -> subprocess.Popen[str]:
    """Start a program whose store is ``folder/store``; warnings are errors in it."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    clean |= {"OTEL_GATE_STORE": str(folder / "store"), "PYTHONPATH": str(ROOT), **environ}
    path = folder / "program.py"
    path.write_text(HEAD + code, encoding="utf-8")
    return subprocess.Popen(
        [sys.executable, "-W", "error", str(path)],
        env=clean, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip


def ended(folder: Path, program: subprocess.Popen[str], by: signal.Signals | None = None) -> Ended:
    """Send a signal when the program is ready, wait for its end and see what is on the disk."""
    try:
        if by is not None:
            assert program.stdout is not None
            assert program.stdout.readline() == "ready\n"
            program.send_signal(by)
        out, err = program.communicate(timeout=HANG_S)
    finally:
        program.kill()
    return Ended(program.returncode, out, err, kept(folder), journals(folder))


def run(folder: Path, code: str, by: signal.Signals | None = None, **environ: str) -> Ended:
    """Run a program to its end."""
    return ended(folder, begin(folder, code, **environ), by)


def kept(folder: Path) -> list[Record]:
    """Return the records that are there, whether the index knows them or not."""
    return [decode(path.read_bytes()) for path in sorted((folder / "store" / "records").rglob("*.json"))]


def journals(folder: Path) -> list[str]:
    """Name the journals that are there: of processes that live, or that left something."""
    return sorted({path.parent.name for path in (folder / "store" / FOLDER).glob(f"*/*{SUFFIX}")})


def recover(folder: Path) -> list[Record]:
    """Recover what the journals hold, and return every record."""
    assert main(["recover", "--store", str(folder / "store")]) == 0
    assert journals(folder) == []
    return kept(folder)


def names(record: Record) -> list[str]:
    """Return the names of a record's spans."""
    return sorted(span.name for span in record.spans)


def still_open(record: Record) -> list[str]:
    """Return the names of the spans that were open when the trace was closed, which G401 names too."""
    completion: Any = record.completion
    found = [span.name for span in completion.open]
    said = " ".join(violation.message for violation in record.verdict.violations if violation.rule == "G401")
    assert all(name in said for name in found)
    return found
