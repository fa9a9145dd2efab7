"""The story of the kill test: a gateway that is killed again and again under load, and a ledger of what it promised.

Clients of both doors send traces in pieces, their spans in any order, and send again as OTLP says: after no answer, and
after an answer that asks for it, with waits that grow. What was acknowledged goes into the ledger. A gateway is killed
at any moment of its life, its start and its taking over included; every fifth one is stopped cleanly.
"""

from __future__ import annotations

import collections
import contextlib
import http.client
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import grpc

from otel_gate.store import Store
from otel_gate.store.accounts import counts
from otel_gate.store.journal import FOLDER
from tests.gateway.running import PROTOBUF, TRACE, TRACES, document, packed
from tests.pipeline.driven import records

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
QUIET_MS, TIMEOUT_MS = 100, 1_000
SOON_S, LATE_S, STARTING_S = 0.1, 0.6, 1.5
ANSWER_S, PATIENCE_S, STEP_S = 5.0, 60.0, 0.02
WAIT_S, MOST_WAIT_S = 0.02, 0.4
AGAIN_HTTP = frozenset({429, 502, 503, 504})
Code = grpc.StatusCode
AGAIN_GRPC = frozenset({
    Code.CANCELLED, Code.DEADLINE_EXCEEDED, Code.ABORTED, Code.OUT_OF_RANGE, Code.UNAVAILABLE, Code.DATA_LOSS,
})  # fmt: skip
FAST = [("grpc.initial_reconnect_backoff_ms", 50), ("grpc.max_reconnect_backoff_ms", 200), ("grpc.enable_retries", 0)]
Place = tuple[str, str]


class Figures(NamedTuple):
    """What came of it: gateways that were killed, spans that were acknowledged, requests sent again, and faults.

    ``refused`` requests were answered for good with something else than success, ``made_up`` spans are in records and
    nobody has sent them, ``unbalanced`` accounts do not balance, or do not say what the records say.
    """

    kills: int = 0
    stops: int = 0
    acknowledged: int = 0
    again: int = 0
    traces: int = 0
    amended: int = 0
    lost: int = 0
    doubled: int = 0
    made_up: int = 0
    refused: int = 0
    unbalanced: int = 0
    left: int = 0
    bad_ends: int = 0

    @property
    def faults(self) -> int:
        """How much is wrong."""
        return sum(self[6:])


class Ledger:
    """What clients have sent, and what of it was acknowledged; for any thread."""

    def __init__(self) -> None:
        self.sent: set[Place] = set()
        self.acknowledged: set[Place] = set()
        self.again = self.refused = 0
        self.said: list[str] = []
        self.is_over = False


class Gateways:
    """Gateways over one store, one after the other, always at the same ports."""

    def __init__(self, folder: Path, layout: str) -> None:
        self.store, self.http, self.grpc = folder / "store", _free_port(), _free_port()
        self._log = (folder / "log").open("ab")
        settings = {"QUIET_MS": QUIET_MS, "TRACE_TIMEOUT_MS": TIMEOUT_MS, "LAYOUT": layout}
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
        own = {f"OTEL_GATE_{name}": str(value) for name, value in settings.items()}
        self._environ = {**inherited, **own, "PYTHONPATH": str(ROOT)}
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [sys.executable, "-m", "otel_gate", "--store", str(self.store), "serve"]
        ports = ["--http-port", str(self.http), "--grpc-port", str(self.grpc)]
        self._process = subprocess.Popen(
            command + ports, env=self._environ, cwd=self.store.parent, stdout=subprocess.DEVNULL, stderr=self._log
        )

    def end(self, by: signal.Signals) -> bool:
        """End the gateway by a signal, and tell whether it ended by that."""
        process, self._process = self._process, None
        if process is None:
            return True
        process.send_signal(by)
        try:
            code = process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return False
        return code in ((0, -by) if by == signal.SIGTERM else (-by,))

    def wait(self) -> None:
        """Wait until it listens."""
        _until(lambda: _is_listening(self.http) and _is_listening(self.grpc), "a gateway that listens")

    def close(self) -> None:
        self.end(signal.SIGKILL)
        self._log.close()


def rounds(folder: Path, kills: int, seed: int, *, layout: str = "files", clients: int = 4) -> Figures:
    """Kill so many gateways under load, let the last one come to an end, and compare its store with the ledger."""
    folder.mkdir(parents=True, exist_ok=True)
    gateways, ledger, chance = Gateways(folder, layout), Ledger(), random.Random(seed)
    sending = [
        threading.Thread(target=_send, args=(gateways, ledger, number, chance.random()), daemon=True)
        for number in range(clients)
    ]
    stops = bad_ends = 0
    with contextlib.closing(gateways):
        for thread in sending:
            thread.start()
        for number in range(kills):
            gateways.start()
            if chance.random() < 1 / 3:
                time.sleep(STARTING_S * chance.random())
            else:
                gateways.wait()
                time.sleep(chance.choice((SOON_S, LATE_S)) * chance.random())
            bad_ends += not gateways.end(signal.SIGKILL)
            if number % 5 == 0:
                gateways.start()
                gateways.wait()
                time.sleep(SOON_S * chance.random())
                bad_ends += not gateways.end(signal.SIGTERM)
                stops += 1
        gateways.start()
        gateways.wait()
        ledger.is_over = True
        for thread in sending:
            thread.join(PATIENCE_S)
            bad_ends += thread.is_alive()
        time.sleep(3 * TIMEOUT_MS / 1000)
        bad_ends += not gateways.end(signal.SIGTERM)
    (folder / "said").write_text("\n".join(ledger.said), encoding="utf-8")
    return _examined(gateways.store, ledger)._replace(kills=kills, stops=stops, bad_ends=bad_ends)


def _examined(root: Path, ledger: Ledger) -> Figures:
    times: collections.Counter[Place] = collections.Counter()
    found = records(root).values()
    for record in found:
        times.update((record.trace_id, span.span_id) for span in record.spans)
    store = Store(root)
    with contextlib.closing(store):
        store.reconcile((), lambda _record: False)
        rows = [counts(row) for row in store.accounts.rows()]
        total = store.accounts.total()
    unbalanced = sum(not row.balances for row in rows) + abs(total.recorded - sum(times.values()))
    return Figures(
        acknowledged=len(ledger.acknowledged), again=ledger.again, traces=len(found),
        amended=sum(record.revision > 1 for record in found), lost=len(ledger.acknowledged - set(times)),
        doubled=sum(count > 1 for count in times.values()) + len(found) - len({one.trace_id for one in found}),
        made_up=len(set(times) - ledger.sent), refused=ledger.refused,
        unbalanced=unbalanced + total.open + total.lost, left=len(list((root / FOLDER).glob("*/*.segment"))),
    )  # fmt: skip


def _send(gateways: Gateways, ledger: Ledger, number: int, seed: float) -> None:
    """Send traces until it is over, each in requests of its own, several traces at once."""
    chance = random.Random(seed)
    door = _Http(gateways.http) if number % 2 else _Grpc(gateways.grpc)
    with contextlib.closing(door):
        while not ledger.is_over:
            for request in _requests(number, chance):
                _insist(door, request, ledger, chance)


def _requests(client: int, chance: random.Random) -> Iterator[list[dict[str, Any]]]:
    """Make the requests of a few traces, whose spans come in any order."""
    traces = [document(chance.getrandbits(96) << 8 | client, spans=chance.randrange(1, 8)) for _ in range(6)]
    spans = [(trace, span) for trace in traces for span in trace["spans"]]
    chance.shuffle(spans)
    while spans:
        size = chance.randrange(1, 9)
        taken, spans = spans[:size], spans[size:]
        yield [{**trace, "spans": [span]} for trace, span in taken]


def _insist(door: _Http | _Grpc, request: list[dict[str, Any]], ledger: Ledger, chance: random.Random) -> None:
    """Send a request until it is answered for good."""
    body, wait_s = packed(*request), WAIT_S
    places = {(one["trace_id"], span["span_id"]) for one in request for span in one["spans"]}
    ledger.sent |= places
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        answer = door.send(body)
        if answer == "":
            ledger.acknowledged |= places
            return
        if answer is not None:
            break
        ledger.again += 1
        time.sleep(wait_s * chance.random())
        wait_s = min(wait_s * 2, MOST_WAIT_S)
    else:
        answer = "no answer for long"
    ledger.refused += 1
    ledger.said.append(answer)


class _Http:
    """Sends over HTTP; an answer is empty (success), None (send it again) or what was said."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=ANSWER_S)

    def send(self, body: bytes) -> str | None:
        try:
            self._connection.request("POST", TRACES, body, {"content-type": PROTOBUF})
            response = self._connection.getresponse()
            said = response.read()
        except (OSError, http.client.HTTPException):
            self._connection.close()
            return None
        if response.status in AGAIN_HTTP:
            return None
        return "" if response.status == 200 and not said else f"{response.status} {said!r}"

    def close(self) -> None:
        self._connection.close()


class _Grpc:
    """The same over gRPC."""

    def __init__(self, port: int) -> None:
        self._channel = grpc.insecure_channel(f"127.0.0.1:{port}", options=FAST)
        self._call: Any = self._channel.unary_unary(TRACE)

    def send(self, body: bytes) -> str | None:
        try:
            said = self._call(body, timeout=ANSWER_S)
        except grpc.RpcError as error:
            call: Any = error
            return None if call.code() in AGAIN_GRPC else f"{call.code()} {call.details()}"
        return repr(said) if said else ""

    def close(self) -> None:
        self._channel.close()


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _is_listening(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1.0):
        return True
    return False


def _until(condition: Any, what: str) -> None:
    until = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > until:
            message = f"{what}: not within {PATIENCE_S:g} s"
            raise TimeoutError(message)
        time.sleep(STEP_S)
