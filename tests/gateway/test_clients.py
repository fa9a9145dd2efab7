"""Real SDKs in three languages send good and broken traces, and get each of them judged."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from otel_gate.cli import main
from tests.collectors import built
from tests.conftest import ROOT, require
from tests.gateway.running import recorded, running

if TYPE_CHECKING:
    from otel_gate.core.model import Record

RULES = ("good", "G103", "good", "G301", "G302", "G303", "G304")
CLIENTS = ("python grpc", "python http", "js proto", "js http", "go grpc", "go http")
PATIENCE_S = 60.0


class Client:
    """An agent of one language with one of its exporters, and what it needs beside the endpoint."""

    def __init__(self, language: str, exporter: str) -> None:
        self.is_grpc = exporter == "grpc"
        self.environ: dict[str, str] = {}
        self.command = [*getattr(self, f"_{language}")(), exporter, *RULES]

    def _python(self) -> list[str]:
        return [sys.executable, str(Path(__file__).with_name("python_agent.py"))]

    def _js(self) -> list[str]:
        node, packages = shutil.which("node"), built("js-client")
        require("js_client", node and packages, "no node, or its packages are not there; .ci/js-client installs them")
        self.environ["NODE_PATH"] = str(packages)
        return [str(node), str(ROOT / "tools" / "js-client" / "agent.cjs")]

    def _go(self) -> list[str]:
        binary = built("go-client")
        require("go_client", binary, "not built here; .ci/go-client builds it")
        return [str(binary)]


@pytest.fixture(params=CLIENTS)
def client(request: pytest.FixtureRequest) -> Client:
    """Give each agent with each of its exporters."""
    return Client(*request.param.split())


def test_a_client_gets_its_traces_judged(client: Client, tmp_path: Path) -> None:
    """Each trace that a client says it made is in a record, with the rule that it broke and no other."""
    with running(tmp_path / "store") as gateway:
        environ = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{gateway.grpc if client.is_grpc else gateway.http}"
        }
        done = subprocess.run(
            client.command, env={**os.environ, **client.environ, **environ}, capture_output=True, text=True,
            check=False, timeout=PATIENCE_S,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
        assert _judged(gateway.records(len(RULES))) == _made(done.stdout)


def test_a_client_is_run(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Under `otel-gate run` a client needs no word about protocols: one address takes gRPC and HTTP."""
    for name, value in client.environ.items():
        monkeypatch.setenv(name, value)
    assert main(["--store", str(tmp_path / "store"), "run", "--", *client.command]) == 2
    out, err = capfd.readouterr()
    assert (err, out.splitlines()[-1]) == ("", "7 traces: 2 shape_ok, 5 not_ok")
    assert _judged(recorded(tmp_path / "store")) == _made(out, len(RULES))


def _made(said: str, most: int | None = None) -> dict[str, set[str]]:
    made = dict(line.split() for line in said.splitlines()[:most])
    assert list(made.values()) == list(RULES)
    return {trace_id: set() if rule == "good" else {rule} for trace_id, rule in made.items()}


def _judged(records: list[Record]) -> dict[str, set[str]]:
    assert {len(record.spans) for record in records} == {2}
    return {record.trace_id: {found.rule for found in record.verdict.violations} for record in records}
