"""Real collectors for tests: ``rotel`` from its package, and ``otelcol`` where ``make otelcol`` built it, or on PATH.

``otelcol`` runs with the configurations that we publish, each port moved to a free one; what a test needs apart from
that it says.
"""

from __future__ import annotations

import contextlib
import http.client
import re
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from otel_gate.cli.demo.collector import LOOPBACK, Collector, binary, free_port, rotel
from tests.conftest import ROOT, require

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager

CONFIGS = ROOT / "collector-config"
START_S, END_S, STEP_S = 20.0, 10.0, 0.02
PORT = re.compile(r"(127\.0\.0\.1:|port: )(\d+)")


class Run(Protocol):
    """Run a collector until the block ends; spans go on to ``<to>/v1/traces``."""

    def __call__(self, to: str, *, grpc_port: int = 0, http_port: int = 0) -> AbstractContextManager[Collector]: ...


class Kind(NamedTuple):
    """How a collector is found and run, and what its absence means.

    ``passes_on_first`` says that it accepts spans only after the next in line has them.
    """

    find: Callable[[], Path | None]
    run: Run
    absent: str
    passes_on_first: bool


def otelcol_binary() -> Path | None:
    """Return the Collector of ``builder.yaml``, else one on PATH; None when there is neither."""
    return built("otelcol") or _on_path("otelcol")


def built(script: str) -> Path | None:
    """Return what a script of ``.ci/`` has built on this machine; None when that, or a shell to ask, is missing."""
    path = ROOT / ".ci" / script
    if not path.is_file() or shutil.which("bash") is None:
        return None
    found = subprocess.run(["bash", str(path), "--built"], capture_output=True, text=True, check=False)  # noqa: S607
    return Path(found.stdout.strip()) if found.returncode == 0 else None


def _on_path(name: str) -> Path | None:
    found = shutil.which(name)
    return Path(found) if found else None


class Moved(dict[int, int]):
    """Free ports by those that our files name: where two files name the same one, they clash as they would there."""

    def __missing__(self, port: int) -> int:
        self[port] = free_port()
        return self[port]

    def text(self, name: str) -> str:
        """Return a file of ``collector-config/`` with other ports, and otherwise as it is."""
        text = (CONFIGS / name).read_text(encoding="utf-8")
        return PORT.sub(lambda found: f"{found[1]}{self[int(found[2])]}", text)


@contextlib.contextmanager
def configured(
    name: str, port: int, apart: Mapping[str, object], moved: Moved | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """Run otelcol with a configuration of ours, and some values apart, until the block ends; it listens on a port."""
    text = (Moved() if moved is None else moved).text(name)
    command = [str(otelcol_binary()), f"--config=yaml:{text}"]
    command += [f"--config=yaml:{key}: {value}" for key, value in apart.items()]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        listening(process, port)
        yield process
    finally:
        end(process)


def receives(grpc_port: int, http_port: int) -> dict[str, object]:
    """Return the settings of a receiver that listens there."""
    return {
        "receivers::otlp::protocols::grpc::endpoint": f"{LOOPBACK}:{grpc_port}",
        "receivers::otlp::protocols::http::endpoint": f"{LOOPBACK}:{http_port}",
    }


def in_front(folder: Path, gate: str) -> dict[str, object]:
    """Return what the Collector in front of a gate has apart: where the gate is, and a folder of its own."""
    return {
        "exporters::otlp_grpc::endpoint": gate,
        "extensions::file_storage::directory": folder / "queue",
    }


def post(port: int, body: bytes) -> int:
    """Send an OTLP/HTTP request in protobuf, and return the status of its answer."""
    with contextlib.closing(http.client.HTTPConnection(LOOPBACK, port, timeout=START_S)) as connection:
        connection.request("POST", "/v1/traces", body, {"content-type": "application/x-protobuf"})
        return connection.getresponse().status


@contextlib.contextmanager
def otelcol(to: str, *, grpc_port: int = 0, http_port: int = 0) -> Iterator[Collector]:
    """Run the Collector behind a gate until the block ends; spans go on to ``<to>/v1/traces``."""
    grpc_port, http_port = grpc_port or free_port(), http_port or free_port()
    apart = {**receives(grpc_port, http_port), "exporters::otlp_http::endpoint": to}
    with configured("gate-to-backend.yaml", grpc_port, apart) as process:
        yield Collector(f"http://{LOOPBACK}:{grpc_port}", f"http://{LOOPBACK}:{http_port}", process)


def listening(process: subprocess.Popen[bytes], port: int) -> None:
    """Return when somebody listens on a port; fail when the process ends first, or not in ``START_S`` seconds."""

    def answered() -> bool:
        assert process.poll() is None, f"{process.args!r} ended with exit code {process.returncode}"
        with contextlib.suppress(OSError), socket.create_connection((LOOPBACK, port), 0.2):
            return True
        return False

    until(answered, f"somebody listens on port {port}", START_S)


def until(condition: Callable[[], object], what: str, patience_s: float) -> None:
    """Return when a condition holds; fail when ``patience_s`` seconds are over first."""
    deadline = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < deadline, f"{what}: not within {patience_s:g} s"
        time.sleep(STEP_S)


def end(process: subprocess.Popen[bytes]) -> None:
    """End a process of ours: asked first, killed after ``END_S`` seconds."""
    process.terminate()
    try:
        process.wait(END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


KINDS = {
    "rotel": Kind(binary, rotel, "the rotel package is not installed", passes_on_first=False),
    "otelcol": Kind(otelcol_binary, otelcol, "not built here; make otelcol builds it", passes_on_first=True),
}


def required(name: str) -> Kind:
    """Return a kind of collector; skip, or fail, the test when this machine has none."""
    kind = KINDS[name]
    require(name, kind.find(), kind.absent)
    return kind
