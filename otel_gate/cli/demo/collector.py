"""A real collector on loopback: the binary of the ``rotel`` package, forwarding to an address or to nowhere."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from otel_gate.errors import GateError

if TYPE_CHECKING:
    from collections.abc import Iterator

LOOPBACK = "127.0.0.1"
_given: set[int] = set()  # ports that somebody here has, or is about to take


class Collector(NamedTuple):
    """The addresses of a running collector, and its process."""

    grpc: str
    http: str
    process: subprocess.Popen[bytes]


class NoCollectorError(GateError):
    """The collector is not installed, or does not start on this machine."""


def binary() -> Path | None:
    """Return the ``rotel`` binary, or None when the package is not installed."""
    spec = importlib.util.find_spec("rotel")
    path = Path(spec.origin).parent / "rotel-agent" if spec and spec.origin else None
    return path if path and path.is_file() else None


def free_port() -> int:
    """Return a port of loopback that is free now, and was not returned before."""
    while True:
        with socket.socket() as probe:
            probe.bind((LOOPBACK, 0))
            port: int = probe.getsockname()[1]
        if port not in _given:
            _given.add(port)
            return port


@contextlib.contextmanager
def rotel(to: str = "", *, grpc_port: int = 0, http_port: int = 0, wait_s: float = 15.0) -> Iterator[Collector]:
    """Run the collector until the block ends; spans go on to ``<to>/v1/traces``, or nowhere when ``to`` is empty.

    Raises:
        NoCollectorError: it is not installed, or not listening after ``wait_s`` seconds.
    """
    path = binary()
    if path is None:
        raise NoCollectorError("rotel", expected="the package", got="nothing", try_="pip install rotel")
    grpc_port, http_port = grpc_port or free_port(), http_port or free_port()
    command = [str(path), "start", "--otlp-grpc-endpoint", f"{LOOPBACK}:{grpc_port}"]
    command += ["--otlp-http-endpoint", f"{LOOPBACK}:{http_port}", "--exporter", "otlp" if to else "blackhole"]
    if to:
        command += ["--otlp-exporter-protocol", "http", "--otlp-exporter-endpoint", to]
        command += ["--otlp-exporter-retry-initial-backoff", "200ms"]
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "ROTEL_"))}
    with tempfile.TemporaryDirectory() as folder:
        command += ["--pid-file", f"{folder}/pid", "--log-file", f"{folder}/log"]
        said = Path(folder, "said")
        with said.open("wb") as out:
            process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=environ)  # noqa: S603 - our own
        try:
            _await(process, grpc_port, wait_s, said)
            yield Collector(f"http://{LOOPBACK}:{grpc_port}", f"http://{LOOPBACK}:{http_port}", process)
        finally:
            _end(process)


def _await(process: subprocess.Popen[bytes], port: int, wait_s: float, said: Path) -> None:
    deadline = time.monotonic() + wait_s
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection((LOOPBACK, port), 0.2):
            return
        time.sleep(0.02)
    got = said.read_text(errors="replace")[-500:].strip() or f"exit code {process.poll()}"
    raise NoCollectorError("rotel", f"a server on port {port}", got, "installing libpython3.11, which its binary wants")


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
