"""``otel-gate serve`` as a process of its own: its memory, and clients that hope not to be harmed by what others do."""

from __future__ import annotations

import contextlib
import http.client
import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import grpc

from tests.gateway.running import PROTOBUF, TRACE, TRACES, Answered, document, packed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

ROOT = Path(__file__).parents[2]
PATIENCE_S, REST_S = 60.0, 0.02
MIB = 1 << 20
_numbers = itertools.count(1)
LARGE = [("grpc.max_send_message_length", -1)]


class Served:
    """A gateway that runs; ``http`` and ``grpc`` are its ports."""

    def __init__(self, process: subprocess.Popen[str], store: Path, ports: dict[str, int], *, token: str = "") -> None:
        self.process, self.store, self.token = process, store, token
        self.http, self.grpc = ports["http"], ports["grpc"]

    def post(self, body: Any, media_type: str = PROTOBUF, **headers: str) -> Answered:
        given = {"content-type": media_type, **{name.replace("_", "-"): value for name, value in headers.items()}}
        connection = http.client.HTTPConnection("127.0.0.1", self.http, timeout=PATIENCE_S)
        with contextlib.closing(connection):
            with contextlib.suppress(ConnectionError):  # it may answer and close before it has read all
                connection.request("POST", TRACES, body, given)
            response = connection.getresponse()
            return Answered(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())

    def export(self, message: bytes, **how: Any) -> tuple[grpc.StatusCode, str]:
        """Call over gRPC, and return the code and what was said."""
        with grpc.insecure_channel(f"127.0.0.1:{self.grpc}", options=LARGE) as channel:
            call: Any = channel.unary_unary(TRACE)
            try:
                answer: bytes = call(message, timeout=PATIENCE_S, **how)
            except grpc.RpcError as error:
                refused: Any = error
                return refused.code(), refused.details()
            return grpc.StatusCode.OK, answer.decode("utf-8", "replace")

    @property
    def resident_bytes(self) -> int:
        """How much memory it has now."""
        return self._memory("VmRSS")

    @property
    def peak_bytes(self) -> int:
        """How much memory it had at most, since ``forget_peak``."""
        return self._memory("VmHWM")

    @property
    def cpu_s(self) -> float:
        """How much processor time it has taken."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def status(self) -> Any:
        """Return what it says of itself."""
        connection = http.client.HTTPConnection("127.0.0.1", self.http, timeout=PATIENCE_S)
        with contextlib.closing(connection):
            connection.request("GET", "/status")
            return json.loads(connection.getresponse().read())

    def until(self, condition: Callable[[], Any], what: str) -> None:
        """Wait for something."""
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < deadline, f"{what}: not within {PATIENCE_S:g} s"
            time.sleep(REST_S)

    def forget_peak(self) -> None:
        Path(f"/proc/{self.process.pid}/clear_refs").write_text("5", encoding="ascii")

    def stop(self) -> int:
        """End it cleanly, and return its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE_S)

    def _memory(self, name: str) -> int:
        text = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        return int(text.partition(f"{name}:")[2].split()[0]) * 1024


@contextlib.contextmanager
def served(
    folder: Path, *argv: str, token: str = "", environ: Mapping[str, str] | None = None, **settings: Any
) -> Iterator[Served]:
    """Run a gateway until the block ends, with settings, and with these in its environment beside them."""
    folder.mkdir(parents=True, exist_ok=True)
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    own = {f"OTEL_GATE_{name.upper()}": str(value) for name, value in {"quiet_ms": 50, **settings}.items()}
    command = [sys.executable, "-m", "otel_gate", "--store", str(folder / "store"), "serve"]
    command += ["--http-port", "0", "--grpc-port", "0", *argv]
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(
            command, env={**inherited, **own, **(environ or {}), "PYTHONPATH": str(ROOT)}, cwd=folder,
            stdout=subprocess.PIPE, stderr=log, text=True,
        )  # fmt: skip
        try:
            assert process.stdout is not None
            lines = [process.stdout.readline().split() for _ in range(2)]
            ports = {line[0]: int(line[1].rpartition(":")[2]) for line in lines}
            yield Served(process, folder / "store", ports, token=token)
        finally:
            process.kill()
            process.communicate()


class Harm(NamedTuple):
    """What came of others: requests answered, the longest wait, what went wrong, and memory at its peak."""

    answered: int
    longest_s: float
    wrong: list[str]
    grown_bytes: int


class Others:
    """Clients of both doors that send a small trace again and again; ``harm`` says at the end what came of them."""

    def __init__(self, gate: Served) -> None:
        self._gate, self._is_over = gate, threading.Event()
        self.answered, self.longest_s, self.wrong = 0, 0.0, list[str]()
        self.harm: Harm

    def __enter__(self) -> Self:
        self._headers = {"authorization": f"Bearer {self._gate.token}"} if self._gate.token else {}
        self._before = self._gate.resident_bytes
        self._gate.forget_peak()
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._over_http, self._over_grpc)]
        ready = self.answered
        for thread in self._threads:
            thread.start()
        until = time.monotonic() + PATIENCE_S
        while self.answered < ready + 2 and time.monotonic() < until:
            time.sleep(REST_S)
        return self

    def __exit__(self, *_: object) -> None:
        time.sleep(REST_S * 5)
        self._is_over.set()
        for thread in self._threads:
            thread.join(PATIENCE_S)
        grown = self._gate.peak_bytes - self._before
        self.harm = Harm(self.answered, self.longest_s, self.wrong, grown)

    def _over_http(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._gate.http, timeout=PATIENCE_S)

        def send(body: bytes) -> str:
            connection.request("POST", TRACES, body, {"content-type": PROTOBUF, **self._headers})
            response = connection.getresponse()
            said = response.read()
            return "" if response.status == 200 else f"{response.status} {said!r}"

        self._until_over(send)
        connection.close()

    def _over_grpc(self) -> None:
        with grpc.insecure_channel(f"127.0.0.1:{self._gate.grpc}") as channel:
            call: Any = channel.unary_unary(TRACE)

            def send(body: bytes) -> str:
                call(body, timeout=PATIENCE_S, metadata=tuple(self._headers.items()))
                return ""

            self._until_over(send)

    def _until_over(self, send: Any) -> None:
        while not self._is_over.is_set():
            began = time.monotonic()
            try:
                said = send(packed(document((1 << 100) + next(_numbers), 3)))
            except (OSError, http.client.HTTPException, grpc.RpcError) as error:
                said = f"{type(error).__name__}: {error}"
            self.longest_s = max(self.longest_s, time.monotonic() - began)
            self.answered += 1
            if said:
                self.wrong.append(said)
                return
            self._is_over.wait(REST_S)
