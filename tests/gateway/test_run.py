"""`otel-gate run -- COMMAND`: its traces are judged when it has ended, and its exit code is the command's or 2."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from otel_gate.cli import main
from otel_gate.cli.demo.sink import serve
from otel_gate.gateway.private import PrivateGateway
from otel_gate.rules import RULES
from otel_gate.settings import Settings
from tests.cli.conftest import HOSTILE
from tests.conftest import ROOT, require
from tests.gateway.running import recorded, running

if TYPE_CHECKING:
    from collections.abc import Callable

SENDER = [sys.executable, str(Path(__file__).with_name("sender.py"))]
NODE_AGENT = """
const ids = { traceId: 'ab'.repeat(16), startTimeUnixNano: '5', endTimeUnixNano: '9' };
const text = (key, stringValue) => ({ key, value: { stringValue } });
const hash = process.argv[1] === 'good' ? [text('input.sha256', 'ab'.repeat(32))] : [];
const spans = [
  { ...ids, spanId: '00000000000000b1', name: 'agent.run', attributes: [text('run.id', 'run-1')] },
  { ...ids, spanId: '00000000000000b2', parentSpanId: '00000000000000b1', name: 'tool.search',
    attributes: [text('tool.name', 'search'), ...hash] },
];
fetch(`${process.env.OTEL_EXPORTER_OTLP_ENDPOINT}/v1/traces`, {
  method: 'POST', headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] }),
}).then((answer) => console.log(answer.status));
"""
PYTHON_AGENT = """
import sys
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
tracer = provider.get_tracer("agent")
with tracer.start_as_current_span("agent.run", attributes={"run.id": "run-1"}):
    for name in sys.argv[1:]:
        tracer.start_span("tool.search", attributes={"tool.name": name, "input.sha256": "ab" * 32}).end()
"""

KILLED = """
import os, signal, sys
import otel_gate
from opentelemetry import trace
otel_gate.install(store=sys.argv[1])
trace.get_tracer("agent").start_span("agent.run").end()
os.kill(os.getpid(), signal.SIGKILL)
"""


class Ran(NamedTuple):
    """What a run said, the command's words among it."""

    code: int
    out: str
    err: str


@pytest.fixture
def ran(capfd: pytest.CaptureFixture[str], project: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """Run ``otel-gate run`` with some options and a command, by default the sender, in a project of its own."""
    monkeypatch.chdir(project)
    monkeypatch.setenv("OTEL_GATE_STORE", ".otel-gate")

    def run(*command: str, options: tuple[str, ...] = (), of: list[str] | None = None) -> Ran:
        code = main(["run", *options, "--", *(SENDER if of is None else of), *command])
        return Ran(code, *capfd.readouterr())

    return run


def test_a_well_formed_trace_is_answered_as_check_does(ran: Callable[..., Ran], project: Path) -> None:
    """The two lines of check stand alone on stdout, the exit code is 0 and the record is in the store."""
    done = ran("good")
    [record] = recorded(project / ".otel-gate")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == ["shape_ok", f"id_hash={record.id_hash}"]
    assert (record.completion and record.completion.reason, record.source.door) == ("root_ended", "otlp")


def test_a_trace_that_is_not_well_formed_is_2_whatever_the_command_says(ran: Callable[..., Ran]) -> None:
    """The violation is told with the record's file and line, and 2 wins over the command's own code."""
    done = ran("G303", "exit=3")
    assert done.code == 2
    [line] = done.out.splitlines()
    assert line.startswith("G303 tool-input-hash span=00000000000000b2 ")
    place, _, number = line.rpartition("(")[2].rstrip(")").rpartition(":")
    assert '"name":"tool.search"' in Path(place).read_text(encoding="utf-8").splitlines()[int(number) - 1]


def test_several_traces_are_counted(ran: Callable[..., Ran]) -> None:
    """Each trace has a line, in the order in which they came, and a line counts them."""
    done = ran("good", "G103", "good")
    said = [line.split()[0] for line in done.out.splitlines()]
    assert (done.code, said) == (2, ["shape_ok", "not_ok", "G103", "shape_ok", "3"])
    assert done.out.splitlines()[-1] == "3 traces: 2 shape_ok, 1 not_ok"


@pytest.mark.parametrize(("argument", "code"), [("exit=3", 3), ("exit=1", 1), ("signal=9", 137), ("signal=15", 7)])
def test_the_exit_code_is_the_command_s_own(ran: Callable[..., Ran], argument: str, code: int) -> None:
    """A command that fails with a well-formed trace keeps its code; an end by signal N is 128 + N."""
    done = ran("good", argument)
    assert (done.code, done.out.splitlines()[0]) == (code, "shape_ok")


def test_no_trace_is_2(ran: Callable[..., Ran]) -> None:
    """A command that sends nothing is not well-formed, and what to try is said on stderr."""
    done = ran("exit=3")
    assert (done.code, done.out) == (2, "")
    assert "no trace came from the command" in done.err
    assert "--allow-none" in done.err


def test_no_trace_may_be_right(ran: Callable[..., Ran]) -> None:
    """With --allow-none a command that sends nothing has its own exit code."""
    assert ran("exit=3", options=("--allow-none",)) == Ran(3, "", "")


def test_a_python_agent(ran: Callable[..., Ran]) -> None:
    """The SDK of Python, told nothing but the environment, gets its traces judged: 0, and 2."""
    python = [sys.executable, "-c", PYTHON_AGENT]
    assert ran("search", of=python).code == 0
    assert ran("", of=python).out.startswith("G302 ")


@pytest.mark.parametrize(("argument", "code", "said"), [("good", 0, "shape_ok"), ("bad", 2, "G303")])
def test_a_node_agent(ran: Callable[..., Ran], argument: str, code: int, said: str) -> None:
    """A program in JavaScript gets its trace judged."""
    node = shutil.which("node")
    require("js_client", node, "no node on PATH")
    done = ran(argument, of=[str(node), "-e", NODE_AGENT])
    assert (done.code, [line.split()[0] for line in done.out.splitlines()[:2]]) == (code, ["200", said])


def test_run_id_stands_in_for_a_missing_one(ran: Callable[..., Ran]) -> None:
    """With --run-id trace a root without run.id is well-formed; without it, it is not, and the option is named."""
    without = ran("G301")
    assert without.out.startswith("G301 ")
    assert "--run-id trace" in without.err
    assert "--run-id" not in ran("G301", "G303").err
    assert ran("G301", options=("--run-id", "trace")).code == 0


def test_the_hint_names_no_option_that_is_in_force(ran: Callable[..., Ran]) -> None:
    """Who has asked for the id of the conversation, and has none, is told of the trace id alone."""
    done = ran("G301", options=("--run-id", "conversation"))
    assert done.err.endswith("; try: --run-id trace (the trace id where there is no conversation)\n")
    assert "--run-id conversation (" in ran("G301").err.splitlines()[-1]
    assert "--run-id conversation" in done.out  # what to try, as the record has it, is not bound to the options


def test_a_policy_that_is_misspelt_is_refused(ran: Callable[..., Ran]) -> None:
    """It would be the run id of every trace, and hide each that has none."""
    done = ran("G301", options=("--run-id", "tracee"))
    assert (done.code, done.out) == (64, "")
    assert "expected auto, require, conversation, trace, or a text that is not nearly one of these" in done.err
    assert done.err.endswith("got 'tracee'; try trace\n")


def test_the_format_of_the_answer(ran: Callable[..., Ran], tmp_path: Path) -> None:
    """--format json is check's envelope; --report writes another to a file; --stderr leaves stdout to the command."""
    report = f"junit:{tmp_path / 'report.xml'}"
    done = ran("good", options=("--format", "json", "--report", report))
    assert json.loads(done.out)["schema"] == "otel-gate/check/1"
    assert "<testsuite" in (tmp_path / "report.xml").read_text(encoding="utf-8")
    quiet = ran("good", options=("--stderr",))
    assert (quiet.out, quiet.err.splitlines()[0]) == ("", "shape_ok")


def test_hostile_text_is_told_without_its_powers(ran: Callable[..., Ran]) -> None:
    """A span's name can't begin a line, colour a terminal or give CI a command."""
    done = ran(f"G303=tool.{HOSTILE}")
    assert done.code == 2
    assert not {"\x1b", "\r", "\x9b", "\u202e"} & set(done.out)
    assert not any(line.lstrip().startswith(("::", "##")) for line in done.out.splitlines())


@pytest.mark.parametrize(
    ("options", "of", "said"),
    [((), [], "expected a command, got none"), (("--format", "prose"), None, "--format"),
     (("--run-id", ""), None, "--run-id")],
)  # fmt: skip
def test_what_can_not_be_run_is_a_usage_error(
    ran: Callable[..., Ran], options: tuple[str, ...], of: list[str] | None, said: str
) -> None:
    """No command, and an option that is wrong, are 64, before anything ran."""
    done = ran(options=options, of=of)
    assert done.code == 64
    assert said in done.err


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ("nosuchcommand", 127, "'nosuchcommand', got No such file or directory; try a command on PATH, or its path"),
        ("./none/at/all", 127, "'./none/at/all', got No such file or directory;"),
        ("./file", 126, "'./file', got Permission denied; try a program, or a script with a first line #! and"),
        ("./text", 126, "'./text', got Exec format error;"), ("./folder", 126, "'./folder', got Permission denied;"),
        ("./file/x", 126, "'./file/x', got Not a directory;"), ("a\0b", 126, "'a\\x00b', got embedded null byte;"),
    ],
)  # fmt: skip
def test_what_can_not_be_started_has_the_exit_code_of_shells(
    ran: Callable[..., Ran], project: Path, command: str, code: int, said: str
) -> None:
    """127 when there is no such command, 126 when it is there and can't be executed."""
    (project / "file").touch()
    (project / "folder").mkdir()
    (project / "text").write_bytes(b"\x7f no program")
    (project / "text").chmod(0o755)
    done = ran(of=[command])
    assert (done.code, done.out) == (code, "")
    assert f"otel-gate run: expected to start {said}" in done.err


def test_nothing_runs_when_nothing_could_be_kept(ran: Callable[..., Ran], project: Path) -> None:
    """A store that can't be written is 74, before the command has begun."""
    (project / "file").touch()
    done = ran(of=[sys.executable, "-c", "print('ran')"], options=("--store", "file"))
    assert (done.code, done.out) == (74, "")


def test_well_formed_traces_are_forwarded_where_the_environment_says(
    ran: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The remote that the variables name gets the well-formed trace and no other; the command is not sent there."""
    with serve() as sink:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", sink.url)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")
        assert ran("good", "G303").code == 2
        assert [len(trace.spans) for trace in sink.traces().values()] == [2]


def test_runs_share_a_store_with_each_other_and_with_a_gateway(ran: Callable[..., Ran], project: Path) -> None:
    """A run beside a gateway that has the same store is neither refused nor judged by it."""
    with running(project / ".otel-gate"):
        assert ran("good").code == 0
    assert len(recorded(project / ".otel-gate")) == 1


def test_what_others_left_in_the_store_is_not_the_command_s(tmp_path: Path) -> None:
    """A trace of a process that was killed is recovered while a command runs, and not told as the command's."""
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "store")], check=False)

    async def run() -> PrivateGateway:
        gateway = PrivateGateway(Settings(store=tmp_path / "store"), RULES)
        await gateway.start()
        await asyncio.to_thread(gateway.pipeline.recover, 20)
        await gateway.stop()
        return gateway

    assert asyncio.run(run()).places == {}
    assert len(recorded(tmp_path / "store")) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
def test_signals_go_to_the_command(project: Path) -> None:
    """SIGTERM ends the command as it likes to be ended, and its traces are judged all the same."""
    command = [
        sys.executable,
        "-m",
        "otel_gate",
        "--store",
        str(project / "store"),
        "run",
        "--",
        *SENDER,
        "good",
        "wait",
    ]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=project, env=environ, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "waits\n"
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=60)
    assert (process.returncode, out.splitlines()[0]) == (7, "shape_ok")
