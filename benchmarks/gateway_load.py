"""What ``gateway.py`` sends and where it ends: requests that are like those of agents, senders, and a sink."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import hashlib
import http.client
import os
import statistics
import sys
import threading
import time
from typing import TYPE_CHECKING, NamedTuple

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

MARK = b"bench.mark"  # in every span once: the sink counts it
AGAIN, PATIENCE_S = frozenset({429, 502, 503, 504}), 120.0
HEADERS = {"content-type": "application/x-protobuf"}


class Sent(NamedTuple):
    """What came of some requests: seconds from the first to the last answer, of each the time, and how many again."""

    seconds: float
    waits_s: list[float]
    again: int

    @property
    def p50_ms(self) -> float:
        """Half of the answers came in less."""
        return statistics.median(self.waits_s) * 1000

    @property
    def p99_ms(self) -> float:
        """All but one in a hundred came in less."""
        return statistics.quantiles(self.waits_s, n=100)[-1] * 1000 if len(self.waits_s) > 1 else self.p50_ms


class Template:
    """A request of so many traces, a root and tool spans below it, with ten attributes each; ids are put in later."""

    def __init__(self, traces: int, spans: int, *, root: bool = True) -> None:
        """Encode it once, and find where its ids are."""
        message = ExportTraceServiceRequest()
        resource = message.resource_spans.add()
        resource.resource.attributes.add(key="service.name").value.string_value = "agent"
        scope = resource.scope_spans.add()
        scope.scope.name = "agent"
        now = time.time_ns()
        self._trace_ids = [os.urandom(16) for _ in range(traces)]
        self._span_ids: list[bytes] = []
        for trace_id in self._trace_ids:
            first = os.urandom(8)
            for number in range(spans):
                span_id = first if number == 0 and root else os.urandom(8)
                self._span_ids.append(span_id)
                span = scope.spans.add(trace_id=trace_id, span_id=span_id, start_time_unix_nano=now + number)
                span.end_time_unix_nano = now + 1_000_000 + number
                span.name = "agent.run" if span_id == first else "tool.search"
                span.parent_span_id = b"" if span_id == first else first
                for key, value in _attributes(number).items():
                    span.attributes.add(key=key).value.string_value = value
        self._content = message.SerializeToString()
        places = {which: _places(self._content, which) for which in (*self._trace_ids, *self._span_ids)}
        self._trace_places = [places[which] for which in self._trace_ids]
        self._span_places = [places[which] for which in self._span_ids]
        self.spans = traces * spans

    def request(self, trace_ids: Sequence[bytes] = ()) -> bytes:
        """Return a request of new spans, of new traces or of these."""
        content = bytearray(self._content)
        for number, places in enumerate(self._trace_places):
            _put(content, places, trace_ids[number] if trace_ids else os.urandom(16))
        for places in self._span_places:
            _put(content, places, os.urandom(8))
        return bytes(content)


def _attributes(number: int) -> dict[str, str]:
    return {
        "run.id": "run-1", "tool.name": "search", "input.sha256": hashlib.sha256(bytes([number % 256])).hexdigest(),
        "gen_ai.operation.name": "execute_tool", "gen_ai.request.model": "small-1", "session.id": "s-42",
        "gen_ai.usage.input_tokens": "512", "server.address": "127.0.0.1", "retry": "false", MARK.decode(): "x",
    }  # fmt: skip


def _places(content: bytes, which: bytes) -> list[int]:
    places, at = [], content.find(which)
    while at >= 0:
        places.append(at)
        at = content.find(which, at + 1)
    return places


def _put(content: bytearray, places: list[int], value: bytes) -> None:
    for at in places:
        content[at : at + len(value)] = value


def send(port: int, requests: Sequence[bytes], senders: int) -> Sent:
    """Post requests from so many threads, each with a connection of its own, and return when all are taken."""
    todo, waits, again = iter(requests), list[float](), list[int]()
    lock = threading.Lock()

    def work() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
        with contextlib.closing(connection):
            while True:
                with lock:
                    body = next(todo, None)
                if body is None:
                    return
                began = time.perf_counter()
                while (wait_s := _posted(connection, body)) is not None:
                    again.append(1)
                    time.sleep(wait_s)
                waits.append(time.perf_counter() - began)

    threads = [threading.Thread(target=work) for _ in range(senders)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if len(waits) != len(requests):
        message = f"expected {len(requests)} answers, got {len(waits)}"
        raise RuntimeError(message)
    return Sent(time.perf_counter() - began, waits, len(again))


def _posted(connection: http.client.HTTPConnection, body: bytes) -> float | None:
    """Post a body; return None when it was taken, else in how many seconds it may be sent again."""
    connection.request("POST", "/v1/traces", body, HEADERS)
    response = connection.getresponse()
    said = response.read()
    if response.status in AGAIN:
        return float(response.headers.get("retry-after", "0.2"))
    if response.status != 200:
        raise RuntimeError(f"{response.status} {said[:200]!r}")  # noqa: TRY003
    return None


async def sink() -> None:
    """Take OTLP/HTTP on a free port, which is said first; each line that is read is answered by the number of spans."""
    counted = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal counted
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                body = b"".join([part async for part in _body(reader, head)])
                counted += (gzip.decompress(body) if b"content-encoding: gzip" in head else body).count(MARK)
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/x-protobuf\r\ncontent-length: 0\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    while await asyncio.to_thread(sys.stdin.readline):
        print(counted, flush=True)


async def _body(reader: asyncio.StreamReader, head: bytes) -> AsyncIterator[bytes]:
    if b"transfer-encoding: chunked" not in head:
        size = int(head.partition(b"content-length:")[2].split(b"\r\n")[0])
        yield await reader.readexactly(size)
        return
    while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
        yield await reader.readexactly(size)
        await reader.readexactly(2)
    await reader.readuntil(b"\r\n")


def wait_for(condition: Callable[[], bool], what: str, patience_s: float = PATIENCE_S) -> None:
    """Return when a condition holds.

    Raises:
        TimeoutError: it does not within ``patience_s`` seconds.
    """
    until = time.monotonic() + patience_s
    while not condition():
        if time.monotonic() > until:
            message = f"{what}: not within {patience_s:g} s"
            raise TimeoutError(message)
        time.sleep(0.05)
