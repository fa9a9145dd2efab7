"""Real collectors on loopback, by name: ``rotel`` from its package, ``otelcol`` as ``.ci/otelcol`` built it.

``otelcol`` runs with the configuration that we publish; only ports, and metrics of its own, are set apart.
"""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from otel_gate.cli.demo.collector import LOOPBACK, Collector, binary, free_port, rotel
from tests.conftest import ROOT, require

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

CONFIG = ROOT / "collector-config" / "otelcol.yaml"
BUILDER = ROOT / ".ci" / "otelcol"
START_S, END_S, STEP_S = 20.0, 10.0, 0.02


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
    """Return the collector that was built from ``tools/otelcol``; None when that, or a shell to ask, is missing."""
    if not BUILDER.is_file() or shutil.which("bash") is None:
        return None
    found = subprocess.run(["bash", str(BUILDER), "--built"], capture_output=True, text=True, check=False)  # noqa: S607
    return Path(found.stdout.strip()) if found.returncode == 0 else None


@contextlib.contextmanager
def otelcol(to: str, *, grpc_port: int = 0, http_port: int = 0) -> Iterator[Collector]:
    """Run otelcol until the block ends; spans go on to ``<to>/v1/traces``."""
    grpc_port, http_port = grpc_port or free_port(), http_port or free_port()
    settings = {
        "receivers::otlp::protocols::grpc::endpoint": f"{LOOPBACK}:{grpc_port}",
        "receivers::otlp::protocols::http::endpoint": f"{LOOPBACK}:{http_port}",
        "exporters::otlp_http::endpoint": to,
        "service::telemetry::metrics::level": "none",
    }
    command = [str(otelcol_binary()), f"--config={CONFIG}"]
    command += [f"--config=yaml:{name}: {value}" for name, value in settings.items()]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        listening(process, grpc_port)
        yield Collector(f"http://{LOOPBACK}:{grpc_port}", f"http://{LOOPBACK}:{http_port}", process)
    finally:
        end(process)


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
    "otelcol": Kind(otelcol_binary, otelcol, "not built here; .ci/otelcol builds it", passes_on_first=True),
}


def required(name: str) -> Kind:
    """Return a kind of collector; skip, or fail, the test when this machine has none."""
    kind = KINDS[name]
    require(name, kind.find(), kind.absent)
    return kind
