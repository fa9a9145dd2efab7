"""A real gateway on loopback, in a thread with an event loop of its own, and plain clients of both doors."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import threading
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import grpc
import pytest
from google.rpc import status_pb2

from otel_gate.gateway.options import Options
from otel_gate.gateway.server import Gateway
from otel_gate.otlp import wire
from otel_gate.otlp.shape import read_document
from otel_gate.settings import Settings
from otel_gate.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from otel_gate.core.model import Record

PROTOBUF, JSON = "application/x-protobuf", "application/json"
TRACES = "/v1/traces"
EXPORT = "/opentelemetry.proto.collector.{}Service/Export"
TRACE = EXPORT.format("trace.v1.Trace")
PATIENCE_S, STEP_S = 20.0, 0.02


class Answered(NamedTuple):
    """An answer over HTTP."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def rpc(self) -> status_pb2.Status:
        """The google.rpc.Status in it."""
        return status_pb2.Status.FromString(self.body)


class Running:
    """A gateway that runs, and what a client needs of it."""

    def __init__(self, gateway: Gateway, loop: asyncio.AbstractEventLoop) -> None:
        self.gateway, self._loop = gateway, loop
        self.http, self.grpc = gateway.ports.http or 0, gateway.ports.grpc or 0
        self.pipeline = gateway.pipeline

    def do(self, coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(PATIENCE_S)

    def request(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None, **more: Any
    ) -> Answered:
        connection = http.client.HTTPConnection("127.0.0.1", self.http, timeout=PATIENCE_S)
        with contextlib.closing(connection):
            connection.request(method, path, body, headers or {}, **more)
            response = connection.getresponse()
            return Answered(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())

    def post(self, body: Any, media_type: str = PROTOBUF, path: str = TRACES, **headers: str) -> Answered:
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.request("POST", path, body, {"content-type": media_type, **given})

    def export(self, message: bytes, method: str = TRACE, **how: Any) -> bytes:
        with grpc.insecure_channel(f"127.0.0.1:{self.grpc}", compression=how.pop("compression", None)) as channel:
            call: Any = channel.unary_unary(method)
            answer: bytes = call(message, timeout=PATIENCE_S, **how)
            return answer

    def refused(self, message: bytes, method: str = TRACE, **how: Any) -> Any:
        try:
            answer = self.export(message, method, **how)
        except grpc.RpcError as error:
            return error
        pytest.fail(f"it was taken: {answer!r}")

    def get(self, path: str) -> Any:
        return json.loads(self.request("GET", path).body)

    def until(self, condition: Callable[[], Any], what: str) -> Any:
        deadline = time.monotonic() + PATIENCE_S
        while not (found := condition()):
            assert time.monotonic() < deadline, f"{what}: not within {PATIENCE_S:g} s"
            time.sleep(STEP_S)
        return found

    def records(self, number: int) -> list[Record]:
        """Wait for so many records, and return them in the order of their trace ids."""
        self.until(lambda: self.pipeline.status().traces >= number, f"{number} records")
        return recorded(self.gateway.settings.store)


def recorded(root: Path) -> list[Record]:
    store = Store(root)
    with contextlib.closing(store):
        store.reconcile((), lambda _record: False)
        places = [row["place"] for row in store.index.find("", 1_000_000)]
        return sorted((store.load(place) for place in places), key=lambda record: record.trace_id)


@contextlib.contextmanager
def running(store: Path, settings: dict[str, Any] | None = None, /, **options: Any) -> Iterator[Running]:
    """Run a gateway with free ports, and a short quiet time, until the block ends."""
    told = Settings(store=store, **{"quiet_ms": 50, "trace_timeout_ms": 200, **(settings or {})})
    gateway = Gateway(told, Options(**{"grpc_port": 0, "http_port": 0, **options}))
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(gateway.start(), loop).result(PATIENCE_S)
        try:
            yield Running(gateway, loop)
        finally:
            asyncio.run_coroutine_threadsafe(gateway.stop(), loop).result(PATIENCE_S)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(PATIENCE_S)
        loop.close()


def document(number: int, spans: int = 1, **root: Any) -> dict[str, Any]:
    """Return a well-formed trace in the simplified shape: a root, and tool spans below it."""
    first = {
        "span_id": f"{1:016x}", "parent_span_id": "", "name": "agent.run", "start_ns": 1, "end_ns": 9, "status": "ok",
        "attributes": {"run.id": f"run-{number}"}, "events": [],
    }  # fmt: skip
    tools = [
        {
            "span_id": f"{place + 1:016x}", "parent_span_id": f"{1:016x}", "name": "tool.search", "start_ns": 2,
            "end_ns": 5, "attributes": {"tool.name": "search", "input.sha256": "ab" * 32},
        }
        for place in range(1, spans)
    ]  # fmt: skip
    return {"trace_id": f"{number:032x}", "spans": [{**first, **root}, *tools]}


def packed(*documents: dict[str, Any]) -> bytes:
    """Return traces as one request in protobuf."""
    return b"".join(wire.encode(read_document(one, "$")) for one in documents)
