"""The ends of a process: what is on the disk right after each, and what a recovery makes of it."""

from __future__ import annotations

import os
import signal
import socket
import time
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.sdk.ending import INSTALL, WORK, begin, ended, names, recover, run, still_open

if TYPE_CHECKING:
    from pathlib import Path

WAIT = "\nready()\ntime.sleep(60)\n"
THEIRS = """
def theirs(number, frame):
    print("theirs", number, frame is not None, flush=True)
    sys.exit(7)
signal.signal(signal.SIGTERM, theirs)
"""
IGNORED = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
OPTED_OUT = "gate = otel_gate.install(handle_sigterm=False)\n"
TERM, INT, KILL = signal.SIGTERM, signal.SIGINT, getattr(signal, "SIGKILL", signal.SIGTERM)

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows ends processes without a signal")


class End(NamedTuple):
    """A program, the signal that it gets, how it exits, and whether it leaves a record or its journal."""

    code: str
    by: signal.Signals | None
    exit: int
    leaves: str
    says: str = ""


ENDS = {
    "sys.exit": End(INSTALL + WORK + "sys.exit(3)", None, 3, "record"),
    "an exception": End(INSTALL + WORK + "raise RuntimeError('x')", None, 1, "record", "RuntimeError: x"),
    "the last line": End(INSTALL + WORK, None, 0, "record"),
    "SIGINT": End(INSTALL + WORK + WAIT, INT, -INT, "record", "KeyboardInterrupt"),
    "SIGTERM": End(INSTALL + WORK + WAIT, TERM, -TERM, "record"),
    "SIGTERM, handled": End(THEIRS + INSTALL + WORK + WAIT, TERM, 7, "record"),
    "SIGTERM, handled later": End(INSTALL + THEIRS + WORK + WAIT, TERM, 7, "record"),
    "SIGTERM, opted out": End(OPTED_OUT + WORK + WAIT, TERM, -TERM, "journal"),
    "os._exit": End(INSTALL + WORK + "os._exit(4)", None, 4, "journal"),
    "SIGKILL": End(INSTALL + WORK + WAIT, KILL, -KILL, "journal"),
    "SIGABRT": End(INSTALL + WORK + WAIT, signal.SIGABRT, -signal.SIGABRT, "journal"),
}


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS.keys())
def test_an_end_in_the_middle_of_a_run_leaves_everything(tmp_path: Path, end: End) -> None:
    """The span that had ended is in one record, the open one is named: at once, or when the journal is recovered."""
    done = run(tmp_path, end.code, end.by)
    assert done.code == end.exit, done.err
    assert end.says in done.err
    assert end.says or not done.err
    left = (len(done.records), len(done.journals))
    assert left == ((1, 0) if end.leaves == "record" else (0, 1))
    [record] = recover(tmp_path)
    assert record.completion is not None
    assert record.completion.reason == ("shut_down" if end.leaves == "record" else "interrupted")
    assert names(record) == ["tool.search"]
    assert still_open(record) == ["agent.run"]
    assert record.completion.open[0].run_id
    assert [found.trace_id for found in recover(tmp_path)] == [record.trace_id]


def test_the_next_process_records_what_a_killed_one_left(tmp_path: Path) -> None:
    """No command is needed: a process with the same store does it soon after its first span."""
    assert run(tmp_path, INSTALL + WORK + WAIT, KILL).records == []
    done = run(tmp_path, INSTALL + WORK + "root.end()")
    assert done.code == 0
    assert "recovered 1 trace of a process that had ended" in done.err
    assert done.journals == []
    assert {record.completion.reason for record in done.records if record.completion} == {"interrupted", "root_ended"}


def test_a_handler_of_the_application_finds_what_is_complete_recorded(tmp_path: Path) -> None:
    """What is complete is recorded before the handler is called, also when that ends the process the hard way."""
    hard = "signal.signal(signal.SIGTERM, lambda number, frame: os._exit(5))\n"
    done = run(tmp_path, hard + INSTALL + WORK + "root.end()\n" + WORK + WAIT, TERM)
    assert done.code == 5
    assert [names(record) for record in done.records] == [["agent.run", "tool.search"]]
    assert len(done.journals) == 1
    assert len(recover(tmp_path)) == 2


def test_a_handler_that_lets_the_process_live_does_so(tmp_path: Path) -> None:
    """The process runs on after SIGTERM, and nothing of it is cut short."""
    theirs = "reloads = []\nsignal.signal(signal.SIGTERM, lambda number, frame: reloads.append(number))\n"
    wait = "ready()\nwhile not reloads:\n    time.sleep(0.01)\nroot.end()\nprint('reload')\n"
    done = run(tmp_path, theirs + INSTALL + WORK + wait, TERM)
    assert (done.code, done.out, done.err) == (0, "reload\n", "")
    assert done.records[0].verdict.shape_ok


def test_an_ignored_signal_stays_ignored(tmp_path: Path) -> None:
    """Where SIGTERM was ignored no handler is put in."""
    code = "assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN\nos.kill(os.getpid(), signal.SIGTERM)\nroot.end()"
    done = run(tmp_path, IGNORED + INSTALL + WORK + code)
    assert (done.code, done.err) == (0, "")
    assert done.records[0].verdict.shape_ok


def test_a_gate_that_is_installed_in_another_thread_puts_no_handler_in(tmp_path: Path) -> None:
    """Only the main thread may; there is no exception, and the default action stays."""
    code = "thread = threading.Thread(target=otel_gate.install)\nthread.start()\nthread.join()\n"
    done = run(tmp_path, code + "assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL\n" + WORK + WAIT, TERM)
    assert (done.code, done.err) == (-TERM, "")
    assert still_open(recover(tmp_path)[0]) == ["agent.run"]


def test_one_handler_serves_every_door(tmp_path: Path) -> None:
    """Two gates with a store each: one handler is put in, and both record at SIGTERM."""
    code = """
from otel_gate import GateSpanProcessor
gate = otel_gate.install()
handler = signal.getsignal(signal.SIGTERM)
trace.get_tracer_provider().add_span_processor(GateSpanProcessor(store="other/store"))
assert signal.getsignal(signal.SIGTERM) is handler
"""
    done = run(tmp_path, code + WORK + WAIT, TERM)
    assert (done.code, done.err) == (-TERM, "")
    assert len(done.records) == 1
    assert [record.trace_id for record in recover(tmp_path / "other")] == [done.records[0].trace_id]


def test_a_lock_that_the_signal_finds_taken_delays_the_end_and_no_more(tmp_path: Path) -> None:
    """SIGTERM in the middle of a log call, whose lock the worker wants: the process ends all the same."""
    code = """
import logging, otel_gate.sdk.sigterm
otel_gate.sdk.sigterm.LAST_S = 0.5
class Terminated(logging.Handler):
    def emit(self, record):
        if record.name == "agent":
            os.kill(os.getpid(), signal.SIGTERM)
logging.getLogger().addHandler(Terminated())
open("store", "w").close()
"""
    program = begin(tmp_path, code + INSTALL + WORK + "logging.getLogger('agent').error('x')\ntime.sleep(60)")
    assert ended(tmp_path, program).code == -TERM


def test_a_second_signal_changes_nothing(tmp_path: Path) -> None:
    """Some supervisors send SIGTERM twice: the records are made all the same."""
    code = """
from otel_gate.pipeline import Pipeline
closing = Pipeline.shutdown
def shutdown(self, timeout_s):
    print("closing", flush=True)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(0.2)
    return closing(self, timeout_s)
Pipeline.shutdown = shutdown
"""
    done = run(tmp_path, code + INSTALL + WORK + WAIT, TERM)
    assert (done.code, done.out, done.err, done.journals) == (-TERM, "closing\n", "", [])
    assert still_open(done.records[0]) == ["agent.run"]


def test_a_signal_in_the_middle_of_a_shutdown_waits_for_its_records(tmp_path: Path) -> None:
    """The shutdown that is under way is the one that makes the records; the signal does not cut it off."""
    code = """
from otel_gate.store import Store
saving = Store.save_all
def slow(self, wanted):
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(0.3)
    return saving(self, wanted)
Store.save_all = slow
"""
    done = run(tmp_path, code + INSTALL + WORK + "gate.shutdown()\ntime.sleep(60)")
    assert (done.code, done.err, done.journals) == (-TERM, "", [])
    assert still_open(done.records[0]) == ["agent.run"]


def test_a_collector_that_hangs_does_not_hold_the_signal_up(tmp_path: Path) -> None:
    """Records are made first; deliveries have two seconds then, and stay owed."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        environ = {"OTEL_EXPORTER_OTLP_ENDPOINT": url, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}
        program = begin(tmp_path, INSTALL + WORK + "root.end()\n" + WAIT, **environ)
        began = time.monotonic()
        done = ended(tmp_path, program, TERM)
    assert (done.code, done.journals) == (-TERM, [])
    assert time.monotonic() - began < 15
    assert done.records[0].verdict.shape_ok


def test_behind_an_exporter_what_was_exported_is_recorded(tmp_path: Path) -> None:
    """SIGTERM finds no open spans there: the trace is closed without its root, and says so."""
    code = """
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(otel_gate.GateSpanExporter()))
trace.set_tracer_provider(provider)
"""
    done = run(tmp_path, code + WORK + WAIT, TERM)
    assert (done.code, done.err, done.journals) == (-TERM, "", [])
    assert [names(record) for record in done.records] == [["tool.search"]]
    assert {violation.rule for violation in done.records[0].verdict.violations} >= {"G102", "G401"}


def test_a_fault_of_one_door_is_said_and_not_its_neighbours(tmp_path: Path) -> None:
    """SIGTERM records what the other doors hold, and the fault is on stderr."""
    code = (
        INSTALL
        + """
other = otel_gate.GateSpanProcessor(store="other")
other.door.pipeline.shutdown = lambda timeout_s: 1 / 0
"""
    )
    done = run(tmp_path, code + WORK + "root.end()\n" + WAIT, TERM)
    assert done.code == -TERM
    assert "SIGTERM met ZeroDivisionError" in done.err
    assert [names(record) for record in done.records] == [["agent.run", "tool.search"]]


def test_a_batch_processor_in_front_is_emptied_first(tmp_path: Path) -> None:
    """At SIGTERM what waits in its queue is exported to the gate, and recorded."""
    code = """
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(otel_gate.GateSpanExporter(), schedule_delay_millis=3_600_000))
trace.set_tracer_provider(provider)
"""
    done = run(tmp_path, code + WORK + "root.end()\n" + WAIT, TERM)
    assert (done.code, done.err, done.journals) == (-TERM, "", [])
    assert [names(record) for record in done.records] == [["agent.run", "tool.search"]]
    assert done.records[0].verdict.shape_ok


def test_an_exception_out_of_a_signal_handler_in_the_middle_of_a_hook(tmp_path: Path) -> None:
    """Like SIGINT, at any moment of a start, a hook or a shutdown: each span whose end() returned is in one record."""
    code = """
from opentelemetry.sdk.trace import TracerProvider
from otel_gate import GateSpanProcessor
ledger = os.open("ledger", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
armed = False
def interrupt(number, frame):
    global armed
    if armed:
        armed = False
        raise KeyboardInterrupt
def once():
    global armed
    armed = True
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(GateSpanProcessor())
    for _ in range(5):
        span = provider.get_tracer("agent").start_span("agent.run")
        span.end()
        os.write(ledger, f"{span.context.span_id:016x}\\n".encode())
    provider.shutdown()
    armed = False
signal.signal(signal.SIGALRM, interrupt)
for number in range(200):
    signal.setitimer(signal.ITIMER_REAL, 0.0002 * (number % 100 + 1))
    try:
        once()
    except KeyboardInterrupt:
        pass
"""
    done = run(tmp_path, code)
    assert done.code == 0, done.err
    told = (tmp_path / "ledger").read_text().split()
    found = [span.span_id for record in recover(tmp_path) for span in record.spans]
    assert len(found) == len(set(found))
    assert len(told) > 100
    assert set(told) <= set(found)


def test_daemon_threads_that_still_end_spans_lose_none(tmp_path: Path) -> None:
    """While the interpreter exits other threads go on: each span whose end() returned is in one record."""
    code = """
ledger = os.open("ledger", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
def busy():
    while True:
        span = tracer.start_span("agent.run")
        span.end()
        os.write(ledger, f"{span.context.span_id:016x}\\n".encode())
        time.sleep(0.01)
for _ in range(3):
    threading.Thread(target=busy, daemon=True).start()
time.sleep(0.2)
"""
    done = run(tmp_path, INSTALL + code)
    assert done.code == 0, done.err
    told = (tmp_path / "ledger").read_text().split()
    found = [span.span_id for record in recover(tmp_path) for span in record.spans]
    assert len(found) == len(set(found))
    assert told
    assert set(told) <= set(found)


def test_a_killed_process_leaves_the_run_id_that_its_root_was_given(tmp_path: Path) -> None:
    """The record has the run id of the open root, as its start had it, and ages up to about the kill."""
    code = INSTALL + 'root = tracer.start_span("agent.run", attributes={"run.id": "R1"})\n'
    program = begin(tmp_path, code + "time.sleep(2.5)\nready()\ntime.sleep(60)\n")
    ended(tmp_path, program, KILL)
    [record] = recover(tmp_path)
    assert record.run_id == "R1"
    assert record.completion is not None
    [root] = record.completion.open
    assert (root.name, root.run_id) == ("agent.run", "R1")
    assert root.age_ns > 10**9


def test_a_killed_process_leaves_the_run_id_of_the_setting(tmp_path: Path) -> None:
    """A run id that the setting names is that of the record, also when its root never ended."""
    code = 'gate = otel_gate.install(run_id="nightly")\n' + 'root = tracer.start_span("agent.run")\n' + WAIT
    ended(tmp_path, begin(tmp_path, code), KILL)
    [record] = recover(tmp_path)
    assert record.run_id == "nightly"
