"""What keeps a gateway from starting: `serve --check-config` answers as `serve` does, and nothing is left behind."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from otel_gate.cli import main
from otel_gate.cli.demo.collector import free_port
from otel_gate.errors import SettingsError, UsageError, WriteError
from otel_gate.gateway import circle, claim
from otel_gate.gateway.claim import LOCK, Claim
from otel_gate.gateway.options import Ports
from otel_gate.store.files import Files
from tests.conftest import ROOT
from tests.gateway.running import document, packed, running

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ANY = "0.0.0.0"  # noqa: S104 - nothing is bound to it
OTLP = "OTEL_EXPORTER_OTLP_ENDPOINT"
HTTP = {"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}


@pytest.fixture
def taken() -> Iterator[int]:
    """Give a port of loopback that somebody has."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


CASES: dict[str, tuple[list[str], dict[str, str], int, str]] = {
    "http port": (["--http-port", "{taken}"], {}, 64, "http_port: expected to listen on 127.0.0.1:{taken}, got Addr"),
    "grpc port": (["--grpc-port", "{taken}"], {}, 64, "grpc_port: expected to listen on 127.0.0.1:{taken}, got Addr"),
    "host": (["--host", "192.0.2.7", "--insecure-bind"], {}, 64, "host 192.0.2.7: expected a name or an address of th"),
    "name": (["--host", "nosuch.invalid", "--insecure-bind"], {}, 64, "host nosuch.invalid: expected a name or an add"),
    "store": (["--store", "file"], {}, 74, "the store {here}/file: expected a folder to write to"),
    "below a file": (["--store", "file/store"], {}, 74, "the store {here}/file/store: expected a folder to write to"),
    "journal": (["--store", "broken"], {}, 74, "the store {here}/broken: expected a folder to write to"),
    "endpoint": ([], {OTLP: "ht!tp:/bad"}, 64, f"{OTLP}: expected http://HOST:PORT or https://HOST:PORT, got ht!tp:"),
    "own door": (
        ["--http-port", "{free}"], {OTLP: "http://localhost:{free}", **HTTP}, 64,
        "destination otlp: expected another place than this gateway, got localhost:{free}, its own door for http; try",
    ),
    "own door of gRPC": (
        ["--grpc-port", "{free}"], {OTLP: "127.0.0.1:{free}"}, 64, "destination otlp: expected another place than this",
    ),
    "own door for metrics": (
        ["--http-port", "{free}", "--pass-through", "http://127.0.0.1:{free}"], {}, 64,
        "pass_through: expected another place than this gateway",
    ),
    "certificate": (
        ["--tls-certificate", "none.pem", "--tls-key", "file"], {}, 64, "tls_certificate none.pem: expected a file in",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_check_config_exits_as_serve_would(
    case: str, taken: int, project: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The same code and the same words, the first ones; and the folder is as it was."""
    argv, variables, code, said = CASES[case]
    words = {"taken": taken, "free": free_port(), "here": project}
    monkeypatch.chdir(project)
    monkeypatch.setenv("OTEL_GATE_STORE", ".otel-gate")
    for name, text in variables.items():
        monkeypatch.setenv(name, text.format(**words))
    (project / "file").touch()
    (project / "broken").mkdir()
    (project / "broken" / "journal").touch()
    before = files(project)
    asked = ["serve", "--http-port", "0", "--grpc-port", "0", *(word.format(**words) for word in argv)]
    assert main([*asked, "--check-config"]) == code
    checked = capfd.readouterr().err
    assert files(project) == before
    served = subprocess.run(
        [sys.executable, "-m", "otel_gate", *asked], env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True,
        text=True, check=False, timeout=20,
    )  # fmt: skip
    assert (served.returncode, served.stderr) == (code, checked)
    assert files(project) == before
    assert checked.startswith(f"otel-gate: {said.format(**words)}")


def test_check_config_leaves_nothing_behind(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not the folder of a new store nor those that it is in; the ports are free again, and it can be asked twice."""
    monkeypatch.chdir(project)
    ports = [f"--{name}-port={free_port()}" for name in ("grpc", "http")]
    for _ in range(2):
        assert main(["serve", "--store", "a/b/c", *ports, "--check-config"]) == 0
    assert files(project) == [".git"]
    assert capsys.readouterr().err == ""


def test_check_config_changes_nothing_of_a_store(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Traces that the last gateway left open stay open: no journal is opened."""
    monkeypatch.chdir(project)
    with running(project / "store", {"quiet_ms": 60_000}) as gate:
        gate.post(packed(document(1)))
    before = {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}
    assert main(["serve", "--store", "store", "--http-port", "0", "--grpc-port", "0", "--check-config"]) == 0
    assert {path: path.read_bytes() for path in project.rglob("*") if path.is_file()} == before
    assert capsys.readouterr().err == ""


def test_a_store_that_a_gateway_has_is_refused(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As serve would be; the one that has it goes on."""
    monkeypatch.chdir(project)
    with running(project / "store") as gate:
        assert main(["serve", "--store", "store", "--http-port", "0", "--grpc-port", "0", "--check-config"]) == 64
        assert gate.post(packed(document(1))).status == 200
        assert (project / "store" / "gateway.json").exists()
    assert "; try another --store, or stopping that one first\n" in capsys.readouterr().err


def test_a_claim_that_is_undone_leaves_what_was_there(tmp_path: Path) -> None:
    """What it made is removed, and what others put there meanwhile is not."""
    root = tmp_path / "store"
    Claim(root, Files()).undo()
    assert files(tmp_path) == []
    first = Claim(root, Files())
    (root / "note").touch()
    first.undo()
    assert files(tmp_path) == ["store", "store/note"]
    Claim(root, Files()).release()
    Claim(root, Files()).undo()
    assert (root / LOCK).exists()


class Undoing(Files):
    """Files in which the lock is removed, by who undid a claim, between the moment it is opened and the lock taken."""

    undone = False

    def hold(self, path: Path) -> int | None:
        lock = super().hold(path)
        if not self.undone:
            self.undone = True
            path.unlink()
        return lock


def test_a_lock_whose_file_was_removed_is_none(tmp_path: Path) -> None:
    """Else two gateways could have one store."""
    mine = Claim(tmp_path, Undoing())
    with pytest.raises(UsageError, match="no other gateway with it"):
        Claim(tmp_path, Files())
    mine.release()


def test_a_claim_that_fails_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of journals that takes no file ends it, and the lock is free again."""

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as closed:
        closed.setattr(claim, "_probe", refuse)
        with pytest.raises(WriteError, match="Permission denied"):
            Claim(tmp_path / "store", Files())
    assert files(tmp_path) == []
    Claim(tmp_path / "store", Files()).release()


HERE = [
    ("http://127.0.0.1:4318", "127.0.0.1", "http"), ("http://localhost:4318/v1/traces", "127.0.0.1", "http"),
    ("http://user:word@127.0.0.1:4318/?a=b", "localhost", "http"), ("localhost:4317", "127.0.0.1", "grpc"),
    ("http://127.0.0.1:4317", ANY, "grpc"), ("http://127.8.8.8:4318", ANY, "http"), (f"http://{ANY}:4318", ANY, "http"),
    (f"http://{ANY}:4318", "127.0.0.1", "http"), ("http://[::1]:4318", "::1", "http"),
    ("http://[::1]:4318", "::", "http"),
]  # fmt: skip
ELSEWHERE = [
    ("http://127.0.0.1:4319", "127.0.0.1"), ("http://192.0.2.7:4318", ANY), ("http://192.0.2.7:4318", "127.0.0.1"),
    ("http://127.8.8.8:4318", "127.0.0.1"), ("http://nosuch.invalid:4318", ANY), ("http://127.0.0.1", "127.0.0.1"),
]  # fmt: skip


@pytest.mark.parametrize(("url", "host", "door"), HERE)
def test_a_gateway_does_not_send_to_itself(url: str, host: str, door: str) -> None:
    """By whatever name or address of this machine it goes there, and with whatever credentials."""
    with pytest.raises(SettingsError) as caught:
        circle.refuse({"destination a": url}, host, Ports(4317, 4318))
    assert caught.value.which == "destination a"
    assert f"its own door for {door}" in caught.value.got
    assert "word" not in str(caught.value)


@pytest.mark.parametrize(("url", "host"), ELSEWHERE)
def test_the_same_port_elsewhere_is_another_one(url: str, host: str) -> None:
    """A collector of another machine, or at another address of this one, is where traces go."""
    circle.refuse({"destination a": url}, host, Ports(4317, 4318))


def test_this_machine_s_own_address_is_here() -> None:
    """Behind 0.0.0.0 every address of the machine is the gateway's."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        with contextlib.suppress(OSError):
            probe.connect(("192.0.2.7", 9))
        own = probe.getsockname()[0]
    if own in {ANY, "127.0.0.1"}:
        pytest.skip("network: this machine has no address but loopback")
    with pytest.raises(SettingsError):
        circle.refuse({"destination a": f"http://{own}:4318"}, ANY, Ports(None, 4318))
    circle.refuse({"destination a": f"http://{own}:4318"}, "127.0.0.1", Ports(None, 4318))


TWO = """
[[destinations]]
name = "a"
endpoint = "http://me:hunter2@c:1"
[[destinations]]
name = "b"
endpoint = "https://d"
protocol = "http/protobuf"
"""


@pytest.mark.parametrize(
    ("toml", "variables", "line"),
    [
        ("", {}, "forwards to nobody: no endpoint is set"),
        ("", {OTLP: "http://me:hunter2@c:1/in?key=hunter2"}, "forwards to otlp at http://c:1/in (grpc)"),
        ("", {OTLP: "c:4317"}, "forwards to otlp at c:4317 (grpc)"),
        (
            TWO, {},
            "forwards to a at http://c:1 (grpc), b at https://d/v1/traces (http/protobuf)",
        ),
        ("forward_arguments = 'hash'", {OTLP: "c:4317"}, "forwards to otlp at c:4317 (grpc)"),
    ],
)  # fmt: skip
def test_check_config_says_where_traces_go(  # noqa: PLR0913, PLR0917
    toml: str, variables: dict[str, str], line: str, project: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """The address stands beside the name, with its protocol and without credentials."""
    monkeypatch.chdir(project)
    for name, text in variables.items():
        monkeypatch.setenv(name, text)
    (project / "otel-gate.toml").write_text(toml, encoding="ascii")
    assert main(["serve", "--http-port", "0", "--grpc-port", "-1", "--check-config"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[1:] == [
        "listens on 127.0.0.1 (gRPC none, HTTP a free port), without TLS",
        "lets every client in, without tokens or certificates",
        "run id: auto",
        line,
    ]
