"""``otel-gate serve`` as a process of its own, and what it says of itself."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from prometheus_client.parser import text_string_to_metric_families

from otel_gate.cli.serve import LOGGERS
from otel_gate.core.gate import judge
from otel_gate.errors import SettingsError
from otel_gate.gateway import tally
from otel_gate.gateway.options import Options, options
from otel_gate.gateway.serve import _loop_factory
from otel_gate.gateway.tally import FirstTraces
from otel_gate.otlp.shape import read_document
from otel_gate.rules import RULES
from tests.conftest import ROOT
from tests.gateway.running import PROTOBUF, TRACES, document, packed, recorded, running

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from otel_gate.core.model import Verdict

PATIENCE_S = 20.0
ANY = "0.0.0.0"  # noqa: S104 - with tokens
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "OTEL_GATE_QUIET_MS": "50"}


class Served(NamedTuple):
    """A gateway in a process of its own."""

    process: subprocess.Popen[str]
    urls: dict[str, str]

    def post(self, body: bytes) -> int:
        request = urllib.request.Request(self.urls["http"] + TRACES, body, {"content-type": PROTOBUF})  # noqa: S310
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:  # noqa: S310
            return int(answer.status)

    def end(self) -> int:
        """Wait until everything has a record, and end the process; return its exit code."""
        deadline = time.monotonic() + PATIENCE_S
        while not (now := self.get("/status")["accounts"])["seen"] or now["open"]:
            assert time.monotonic() < deadline
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE_S)

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(self.urls["http"] + path, timeout=PATIENCE_S) as answer:  # noqa: S310
            return json.load(answer)


def command(*argv: str) -> list[str]:
    return [sys.executable, "-m", "otel_gate", *argv]


def ran(*argv: str, **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*argv), env=ENVIRONMENT, capture_output=True, text=True, timeout=PATIENCE_S, check=False, **more
    )


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Served]]:
    with contextlib.ExitStack() as stack:

        def start(*argv: str) -> Served:
            store = ["--store", str(tmp_path / "store")]
            process = subprocess.Popen(
                command(*store, "serve", "--http-port", "0", "--grpc-port", "0", *argv), env=ENVIRONMENT, cwd=tmp_path,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            )  # fmt: skip
            stack.callback(process.communicate)
            stack.callback(process.kill)
            assert process.stdout is not None
            lines = [process.stdout.readline().split()[:2] for _ in range(2)]
            return Served(process, dict(lines))

        yield start


def test_a_gateway_says_where_it_listens_and_stops_cleanly(serve: Callable[..., Served], tmp_path: Path) -> None:
    """Each door is a line on stdout; SIGTERM ends it with 0, and what it was given is in the store."""
    served = serve()
    assert list(served.urls) == ["grpc", "http"]
    assert served.post(packed(document(1))) == 200
    assert served.end() == 0
    assert [record.trace_id for record in recorded(tmp_path / "store")] == [f"{1:032x}"]


def test_what_a_gateway_does_is_said_on_one_stream(serve: Callable[..., Served], tmp_path: Path) -> None:
    """Seven lines on stdout, each a word and what it is, those of --check-config among them; stderr is for later."""
    served = serve()
    served.process.terminate()
    served.process.wait(PATIENCE_S)
    out, err = (stream.read() if stream else "" for stream in (served.process.stdout, served.process.stderr))
    assert out.splitlines() == [
        f"store {tmp_path / 'store'}",
        "listens on 127.0.0.1 (gRPC a free port, HTTP a free port), without TLS",
        "lets every client in, without tokens or certificates",
        "run id: auto",
        "forwards to nobody: no endpoint is set",
    ]
    assert err == ""


def test_a_request_in_flight_is_answered_before_the_end(serve: Callable[..., Served], tmp_path: Path) -> None:
    """SIGTERM in the middle of a body: the rest is read, taken and answered, and goes on after a restart."""
    served, body = serve(), packed(document(2, 3))
    host, _, port = served.urls["http"].removeprefix("http://").partition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=PATIENCE_S)
    with contextlib.closing(connection):
        connection.putrequest("POST", TRACES)
        connection.putheader("content-type", PROTOBUF)
        connection.putheader("content-length", str(len(body)))
        connection.endheaders(body[:10])
        urllib.request.urlopen(served.urls["http"] + "/healthz").read()  # noqa: S310 - the head was read by now
        served.process.send_signal(signal.SIGTERM)
        with contextlib.suppress(OSError):
            while True:
                urllib.request.urlopen(served.urls["http"] + "/healthz").read()  # noqa: S310
        connection.send(body[10:])
        assert connection.getresponse().status == 200
    assert served.process.wait(PATIENCE_S) == 0
    assert serve().end() == 0
    assert len(recorded(tmp_path / "store")[0].spans) == 3


def test_a_second_gateway_is_refused_until_the_first_has_ended(serve: Callable[..., Served], tmp_path: Path) -> None:
    """The message names the process that has the store; one that was killed has it no more."""
    first = serve()
    second = ran("--store", str(tmp_path / "store"), "serve", "--http-port", "0", "--grpc-port", "0")
    assert second.returncode == 64
    assert f"process {first.process.pid} on" in second.stderr
    first.process.kill()
    first.process.wait(PATIENCE_S)
    assert serve().post(packed(document(3))) == 200


def test_a_port_that_is_taken_is_a_mistake(serve: Callable[..., Served], tmp_path: Path) -> None:
    """It says which one, on one line, and leaves nothing behind."""
    first = serve()
    ports = {name: url.rpartition(":")[2] for name, url in first.urls.items()}
    for name, port in ports.items():
        mine = {"http": "0", "grpc": "0", name: port}
        store = str(tmp_path / "other")
        second = ran("--store", store, "serve", "--http-port", mine["http"], "--grpc-port", mine["grpc"])
        assert second.returncode == 64
        [line] = second.stderr.splitlines()
        expected = f"expected to listen on 127.0.0.1:{port}, got Address already in use"
        assert line == f"otel-gate: {name}_port: {expected}; try another port, or 0 for a free one"
        assert not (tmp_path / "other").exists()


def test_check_config_opens_nothing(tmp_path: Path) -> None:
    """It says what would be, or what is wrong, and makes no folder."""
    (tmp_path / ".git").mkdir()
    table = f'[gateway]\nhost = "{ANY}"\ntoken_file = "tokens"\nhttp_port = 0\ngrpc_port = 0\n'
    (tmp_path / "otel-gate.toml").write_text(table, encoding="ascii")
    wrong = ran("serve", "--check-config", cwd=tmp_path)
    assert wrong.returncode == 64
    assert "token_file" in wrong.stderr
    (tmp_path / "tokens").write_text("secret\n", encoding="ascii")
    right = ran("serve", "--check-config", cwd=tmp_path)
    assert (right.returncode, "asks clients for tokens" in right.stdout, f"on {ANY} (" in right.stdout) == (
        0,
        True,
        True,
    )
    assert "secret" not in right.stdout + right.stderr
    assert not (tmp_path / ".otel-gate").exists()


@pytest.mark.parametrize(
    ("table", "said"),
    [({"prot": 1}, "prot"), ({"http_port": "x"}, "http_port"), ({"allow_hosts": "a"}, "allow_hosts"),
     ({"stall_s": True}, "stall_s")],
)  # fmt: skip
def test_a_key_that_is_wrong_is_named(table: dict[str, Any], said: str) -> None:
    """An unknown key of [gateway], and a value of another type, are mistakes."""
    with pytest.raises(SettingsError, match=said):
        options(table)


def test_every_option_is_a_key_and_an_option_of_the_command() -> None:
    """The command line, the table and the class have the same words."""
    from otel_gate.cli.serve import TEXTS  # noqa: PLC0415

    assert tuple(TEXTS) == Options.__struct_fields__
    assert options({"allow_hosts": ["a"], "stall_s": 5}) == Options(allow_hosts=["a"], stall_s=5)


def test_what_is_open_can_be_seen(tmp_path: Path) -> None:
    """/status lists open traces with their age, spans and what each waits for, the oldest first."""
    settings = {"quiet_ms": 60_000, "trace_timeout_ms": 90_000}
    with running(tmp_path / "store", settings) as gate:
        gate.post(packed(document(1, 3)))
        orphan = document(2, 2)
        gate.post(packed({**orphan, "spans": orphan["spans"][1:]}))
        now = gate.until(lambda: (found := gate.get("/status"))["open"]["traces"] == 2 and found, "both are open")
        first, second = now["traces"]
        metrics = gate.request("GET", "/metrics")
    assert (first["trace_id"], first["spans"], first["waits_for"]) == (f"{1:032x}", 3, "quiet")
    assert (second["trace_id"], second["spans"], second["waits_for"]) == (f"{2:032x}", 1, "root")
    assert 0 < first["left_ms"] <= 60_000 < second["left_ms"] <= 90_000
    assert now["accounts"]["balances"]
    assert metrics.headers["content-type"].startswith("text/plain")
    samples = {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(metrics.body.decode())
        for sample in family.samples
    }
    assert samples["otel_gate_traces_open",] == 2
    assert samples["otel_gate_spans_seen_total",] == samples["otel_gate_spans_open",] == 4
    assert samples["otel_gate_requests_total", "200", "http", "/v1/traces"] == 2
    assert not any(f"{1:032x}" in str(labels) for labels in samples)


@pytest.mark.parametrize("page", ["/status", "/metrics"])
def test_what_was_acknowledged_is_counted_at_once(tmp_path: Path, page: str) -> None:
    """A page that is asked for right after an answer has the trace that was in it."""
    with running(tmp_path / "store", {"quiet_ms": 60_000, "trace_timeout_ms": 90_000}) as gate:
        for number in range(1, 9):
            gate.post(packed(document(number, 3)))
            text = gate.request("GET", page).body.decode()
            if page == "/metrics":
                assert f"otel_gate_spans_seen_total {3.0 * number}\n" in text
                assert f"otel_gate_traces_open {1.0 * number}\n" in text
            else:
                now = json.loads(text)
                open_now = now["open"]["traces"], len(now["traces"]), now["accounts"]["open"]
                assert open_now == (number, number, 3 * number)


def test_status_watch_shows_a_running_gateway(serve: Callable[..., Served], tmp_path: Path) -> None:
    """It finds the gateway of the store by itself, and goes on looking."""
    served = serve("--quiet-ms", "60000")
    served.post(packed(document(1, 3)))
    watching = subprocess.Popen(
        command("--store", str(tmp_path / "store"), "status", "--watch", "--json"), env=ENVIRONMENT,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert watching.stdout is not None
    looks, deadline = [""], time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline and len(looks) < 3:
        line = watching.stdout.readline()
        looks[-1] += line
        if line == "}\n":
            looks.append("")
    watching.send_signal(signal.SIGINT)
    watching.communicate()
    live = json.loads(looks[1])["gateway"]
    assert live["url"] == served.urls["http"]
    assert live["status"]["traces"][0]["spans"] == 3


class Judged(NamedTuple):
    """What is looked at of a record."""

    verdict: Verdict


class Kept(NamedTuple):
    """What is looked at of a record that was saved."""

    record: Judged


def saved(**root: Any) -> Any:
    return Kept(Judged(judge(read_document(document(1, **root), "$"), RULES)))


def test_traces_that_lack_only_a_run_id_are_told_of_once(caplog: pytest.LogCaptureFixture) -> None:
    """When all of the first minute fail G301 alone, a line names the option; one other verdict, and it is not said."""
    now = [0.0]
    cases: Any = (([], 1), ([saved()], 0), ([saved(attributes={}, end_ns=0)], 0))
    for others, expected in cases:
        caplog.clear()
        first = FirstTraces(None, "auto", lambda: now[0])
        first.tick()
        first.saved([saved(attributes={})])
        first.saved(others)
        first.start()
        for passed in (59, 2, 99):
            now[0] += passed
            first.tick()
        first.saved([saved(attributes={})])
        assert [("--run-id conversation" in line) for line in caplog.messages] == [True] * expected


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """Make the first minute a second long, and give what is logged."""
    monkeypatch.setattr(tally, "FIRST_S", 1.0)
    return caplog


@pytest.mark.parametrize(
    ("others", "run_id", "times"),
    [
        ([document(2, attributes={})], "auto", 1), ([], "conversation", 1), ([document(2)], "auto", 0),
        ([document(2, attributes={}, end_ns=0)], "auto", 0), ([], "trace", 0),
    ],
)  # fmt: skip
def test_a_gateway_names_the_option_when_its_first_traces_lack_only_a_run_id(
    tmp_path: Path, quick: pytest.LogCaptureFixture, others: Any, run_id: str, times: int
) -> None:
    """At the end of the first minute it says so, once, as a warning that `serve` prints; else it says nothing."""
    with running(tmp_path / "store", {"run_id": run_id}) as gate:
        gate.post(packed(document(1, attributes={}), *others))
        gate.records(1 + len(others))
        first = gate.gateway._first
        gate.until(lambda: first._is_done or (first._until or 1e9) + 0.5 < time.monotonic(), "the minute is over")
        gate.post(packed(document(3, attributes={})))
        gate.records(2 + len(others))
    said = [record for record in quick.records if "G301" in record.message]
    assert [(record.name, record.levelname) for record in said] == [("otel_gate", "WARNING")] * times
    assert all("--run-id trace (" in one.message for one in said)
    assert all(("--run-id conversation (" in one.message) == (run_id == "auto") for one in said)  # else it is in force
    assert "otel_gate" in LOGGERS


def test_the_loop_is_uvloop_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it, as on Windows, it is asyncio's own."""
    uvloop = pytest.importorskip("uvloop", reason="no package uvloop")
    assert _loop_factory() is uvloop.new_event_loop
    monkeypatch.setitem(sys.modules, "uvloop", None)
    assert _loop_factory() is None


def test_without_the_extra_the_package_says_what_to_install(tmp_path: Path) -> None:
    """The command and the import name the extra; no traceback."""
    script = "import sys; sys.modules['uvicorn'] = None; from otel_gate.cli import main; sys.exit(main(['serve']))"
    found = subprocess.run(
        [sys.executable, "-c", script], env=ENVIRONMENT, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert found.returncode == 64
    assert found.stderr.startswith("otel-gate: the gateway: expected the packages of the extra 'gateway', got no uvi")
    assert "pip install 'otel-gate[gateway]'" in found.stderr
    assert "Traceback" not in found.stderr
