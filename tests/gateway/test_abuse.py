"""Bombs and abuse: a clear answer, bounded memory, and others are served meanwhile. One test each."""

from __future__ import annotations

import concurrent.futures
import contextlib
import gzip
import resource
import socket
import struct
import sys
import time
from typing import TYPE_CHECKING, NamedTuple

import grpc
import pytest

from otel_gate.otlp.wire_values import sized
from tests.gateway.running import JSON, PROTOBUF, document, packed, recorded
from tests.gateway.served import MIB, Others, Served, served

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.gateway.served import Harm

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")

Code = grpc.StatusCode
STALL_S = 1.0
LIMIT = 64 * MIB
GROWS_BYTES = 768 * MIB  # four bodies may be in memory, and one of them is being decoded
LONGEST_S = 5.0  # on a busy machine; without a bomb it is milliseconds
CONNECTIONS = 10_000
SPARE_FILES = 200
HEAD = b"POST /v1/traces HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-protobuf\r\n"


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("gate"), "--stall-s", str(STALL_S)) as found:
        yield found


def unharmed(harm: Harm) -> None:
    """Hold that others were served, in time, and that memory did not grow beyond its bound."""
    assert harm.wrong == []
    assert harm.answered > 4
    assert harm.longest_s < LONGEST_S
    assert harm.grown_bytes < GROWS_BYTES, f"{harm.grown_bytes / MIB:.0f} MiB"


def in_a_span(inner: bytes) -> bytes:
    """Return a request with one span of these fields, and ids."""
    ids = b"\x0a\x10" + b"\x01" * 16 + b"\x12\x08" + b"\x02" * 8
    return sized(b"\x0a", sized(b"\x12", sized(b"\x12", ids + inner)))


def nested(depth: int, open_: bytes = b"\x2a", within: bytes = b"\x0a") -> bytes:
    """Return an attribute whose value is an array in an array, so many deep."""
    value = b""
    for _ in range(depth):
        value = sized(open_, sized(within, value))
    return sized(b"\x4a", b"\x0a\x01k" + sized(b"\x12", value))


class Bomb(NamedTuple):
    """A body, and the answers of both doors; over gRPC it is not sent in JSON."""

    body: Callable[[], bytes]
    http: int
    code: Code | None = None
    media_type: str = PROTOBUF
    encoding: str = ""
    said: str = ""


ATTRIBUTE = b"\x4a\x03\x0a\x01k"
SPAN_JSON = b'{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"%s","spanId":"%s","name":%s}]}]}]}'
BOMBS = {
    "a gzip bomb": Bomb(lambda: gzip.compress(bytes(1024 * MIB), 9), 413, Code.RESOURCE_EXHAUSTED, encoding="gzip"),
    "a gzip bomb of gzip bombs": Bomb(
        lambda: gzip.compress(gzip.compress(bytes(256 * MIB), 9) * 200), 400, Code.INVALID_ARGUMENT, encoding="gzip"
    ),
    "64 MiB of empty spans": Bomb(
        lambda: sized(b"\x0a", sized(b"\x12", b"\x12\x00" * (LIMIT // 2 - 20))), 413, Code.RESOURCE_EXHAUSTED
    ),
    "64 MiB of empty attributes": Bomb(
        lambda: in_a_span(b"\x4a\x00" * (LIMIT // 2 - 50)), 413, Code.RESOURCE_EXHAUSTED
    ),
    "64 MiB of empty ResourceSpans": Bomb(lambda: b"\x0a\x00" * (LIMIT // 2), 413, Code.RESOURCE_EXHAUSTED),
    "64 MiB of zeros": Bomb(lambda: bytes(LIMIT), 400, Code.INVALID_ARGUMENT),
    "one byte more than 64 MiB": Bomb(lambda: bytes(LIMIT + 1), 413, Code.RESOURCE_EXHAUSTED),
    "deep JSON": Bomb(lambda: b'{"resourceSpans":' + b"[" * MIB, 400, media_type=JSON),
    "deep JSON that ends": Bomb(
        lambda: b'{"resourceSpans":' + b"[" * 100_000 + b"]" * 100_000 + b"}", 400, media_type=JSON
    ),
    "64 MiB of JSON brackets": Bomb(
        lambda: b'{"resourceSpans":[' + b"{}," * (21 * MIB) + b"{}]}", 413, media_type=JSON
    ),
    "a number of a million digits": Bomb(
        lambda: SPAN_JSON % (b"1" * 32, b"2" * 16, b"9" * 1_000_000), 200, media_type=JSON
    ),
    "deep protobuf": Bomb(lambda: in_a_span(nested(5_000)), 400, Code.INVALID_ARGUMENT),
    "a million attributes": Bomb(lambda: in_a_span(ATTRIBUTE * 1_000_000), 413, Code.RESOURCE_EXHAUSTED),
    "as many attributes as are let in": Bomb(lambda: in_a_span(ATTRIBUTE * 450_000), 200, Code.OK),
    "a name of 64 MiB": Bomb(lambda: in_a_span(sized(b"\x2a", b"n" * (LIMIT - 200))), 200, Code.OK),
    "a name of bad UTF-8": Bomb(lambda: in_a_span(sized(b"\x2a", b"\xff\xfe name")), 400, Code.INVALID_ARGUMENT),
    "JSON in bad UTF-8": Bomb(
        lambda: SPAN_JSON % (b"3" * 32, b"4" * 16, b'"\xff\xfe"'), 200, media_type=JSON
    ),
    "ids of 16 MiB": Bomb(
        lambda: sized(
            b"\x0a", sized(b"\x12", sized(b"\x12", sized(b"\x0a", b"t" * 16 * MIB) + sized(b"\x12", b"s" * 16 * MIB)))
        ),
        200, Code.OK, said="not kept",
    ),
    "ids like paths": Bomb(
        lambda: sized(b"\x0a", sized(b"\x12", sized(b"\x12", b"\x0a\x10../../../evil/id\x12\x08../evil/"))),
        200, Code.OK,
    ),
    "ids like paths, in JSON": Bomb(
        lambda: SPAN_JSON % (b"../../../../evil", b"../evil", b'"a"'), 200, media_type=JSON, said="rejectedSpans"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_has_an_answer_and_harms_nobody(gate: Served, name: str) -> None:
    """Both doors say what is wrong, others are served meanwhile, and memory stays below its bound."""
    bomb = BOMBS[name]
    body = bomb.body()
    with Others(gate) as others:
        answer = gate.post(body, bomb.media_type, **({"content_encoding": bomb.encoding} if bomb.encoding else {}))
        code, said = gate.export(body) if bomb.code else (bomb.code, "")
    assert (answer.status, code) == (bomb.http, bomb.code), (answer.body[:300], said[:300])
    assert bomb.said in answer.body.decode("utf-8", "replace")
    if answer.status != 200:
        assert len(answer.body) < 2_000
        assert "expected" in answer.body.decode("utf-8", "replace")
    unharmed(others.harm)


@pytest.mark.parametrize("door", ["http", "grpc"])
def test_bombs_again_and_again(tmp_path: Path, door: str) -> None:
    """What was refused is let go of: a dozen of 64 MiB leave no more memory behind than one or two."""
    body = BOMBS["64 MiB of empty ResourceSpans"].body()
    with served(tmp_path / "gate") as gate:
        before = gate.resident_bytes
        for _ in range(12):
            gate.post(body) if door == "http" else gate.export(body)
        assert gate.resident_bytes - before < 4 * LIMIT


def test_bombs_all_at_once(gate: Served) -> None:
    """Eight clients with 64 MiB each: what finds no room is told to come again, and memory has the same bound."""
    body = in_a_span(sized(b"\x2a", b"n" * (LIMIT - 200)))
    with Others(gate) as others, concurrent.futures.ThreadPoolExecutor(8) as pool:
        found = [one.status for one in pool.map(gate.post, [body] * 8)]
    assert set(found) <= {200, 503}
    assert 200 in found
    assert all("too many bytes of requests" in said for said in others.harm.wrong)  # room is first come, first served
    assert others.harm.grown_bytes < GROWS_BYTES + 4 * LIMIT


def connected(port: int, number: int, stack: contextlib.ExitStack) -> list[socket.socket]:
    opened = []
    for _ in range(number):
        one = socket.socket()
        stack.callback(one.close)
        one.settimeout(5)
        with contextlib.suppress(OSError):  # it is closed already, or the queue is full
            one.connect(("127.0.0.1", port))
        opened.append(one)
    return opened


def is_closed(one: socket.socket, patience_s: float) -> bool:
    one.settimeout(patience_s)
    try:
        while one.recv(4096):
            pass
    except TimeoutError:
        return False
    except OSError:
        return True
    return True


@pytest.mark.parametrize("door", ["http", "grpc"])
def test_ten_thousand_connections(gate: Served, door: str, record_property: Callable[[str, object], None]) -> None:
    """Those over the cap are closed, those below it are closed when they say nothing; who was there is served."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = CONNECTIONS + SPARE_FILES if hard == resource.RLIM_INFINITY else min(hard, CONNECTIONS + SPARE_FILES)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(most, soft), hard))
    number = min(CONNECTIONS, max(most, soft) - SPARE_FILES)
    record_property("connections", number)
    with Others(gate) as others, contextlib.ExitStack() as stack:
        opened = connected(getattr(gate, door), number, stack)
        until = time.monotonic() + 20 * STALL_S
        closed = [is_closed(one, max(until - time.monotonic(), 0.001)) for one in opened]
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert all(closed), f"{closed.count(False)} of {number} stay open"
    unharmed(others.harm)
    assert gate.post(packed(document(9))).status == 200
    assert gate.export(packed(document(9)))[0] is Code.OK


SETTINGS = struct.pack(">I", 0)[1:] + b"\x04\x00" + bytes(4)
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def headers_frame() -> bytes:
    pairs = {
        ":method": "POST", ":scheme": "http", ":authority": "localhost", "te": "trailers",
        ":path": "/opentelemetry.proto.collector.trace.v1.TraceService/Export", "content-type": "application/grpc",
    }  # fmt: skip
    order = sorted(pairs, key=lambda name: not name.startswith(":"))
    block = b"".join(
        b"\x00" + bytes([len(name)]) + name.encode() + bytes([len(pairs[name])]) + pairs[name].encode()
        for name in order
    )
    return struct.pack(">I", len(block))[1:] + b"\x01\x04" + struct.pack(">I", 1) + block


def data_frame(content: bytes) -> bytes:
    return struct.pack(">I", len(content))[1:] + b"\x00\x00" + struct.pack(">I", 1) + content


STALLS = {
    "http: nothing": ("http", b""),
    "http: half a head": ("http", HEAD),
    "http: half a body": ("http", HEAD + b"content-length: 9999\r\n\r\nab"),
    "http: half a chunk": ("http", HEAD + b"transfer-encoding: chunked\r\n\r\nff\r\nab"),
    "grpc: nothing": ("grpc", b""),
    "grpc: half a preface": ("grpc", PREFACE[:9]),
    "grpc: half a message": (
        "grpc", PREFACE + SETTINGS + headers_frame() + data_frame(b"\x00" + struct.pack(">I", 1000) + b"ab"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("stalls", STALLS.values(), ids=STALLS)
def test_what_stalls_is_ended(gate: Served, stalls: tuple[str, bytes]) -> None:
    """A head, a body and a message that stop coming are answered or closed within their time."""
    door, sent = stalls
    with Others(gate) as others, socket.create_connection(("127.0.0.1", getattr(gate, door)), 5) as one:
        one.sendall(sent)
        assert ended(one, 12 * STALL_S)
    unharmed(others.harm)


def ended(one: socket.socket, patience_s: float) -> bool:
    """Tell whether a connection is closed, or its call answered: with trailers that end the stream."""
    until, received = time.monotonic() + patience_s, b""
    while time.monotonic() < until:
        one.settimeout(max(until - time.monotonic(), 0.01))
        try:
            more = one.recv(4096)
        except TimeoutError:
            return False
        except OSError:
            return True
        if not more:
            return True
        received += more
        if b"grpc-status" in received:
            return True
    return False


@pytest.mark.parametrize("door", ["http", "grpc"])
def test_what_drips_is_ended(gate: Served, door: str) -> None:
    """A byte now and then does not keep a request alive."""
    begin = HEAD + b"content-length: 9999\r\n\r\n"
    if door == "grpc":
        begin = PREFACE + SETTINGS + headers_frame() + data_frame(b"\x00" + struct.pack(">I", 100_000))
    drop = data_frame(b"a") if door == "grpc" else b"a"
    with Others(gate) as others, socket.create_connection(("127.0.0.1", getattr(gate, door)), 5) as one:
        one.sendall(begin)
        began, is_ended = time.monotonic(), False
        while not is_ended and time.monotonic() - began < 15 * STALL_S:
            try:
                one.sendall(drop)
            except OSError:
                is_ended = True
            is_ended = is_ended or ended(one, 0.1)
    assert is_ended
    unharmed(others.harm)


def test_who_is_not_authenticated_costs_nothing(tmp_path: Path) -> None:
    """401 and UNAUTHENTICATED, before 64 MiB are read; with a token one is served."""
    token = tmp_path / "tokens"
    token.write_text("secret\n", encoding="ascii")
    with served(tmp_path / "gate", "--token-file", str(token), token="secret") as gate:  # noqa: S106
        body = bytes(LIMIT)
        with Others(gate) as others:
            answers = [gate.post(body), gate.post(body, authorization="Bearer wrong")]
            codes = [gate.export(body)[0], gate.export(body, metadata=(("authorization", "Bearer wrong"),))[0]]
        assert {one.status for one in answers} == {401}
        assert set(codes) <= {Code.UNAUTHENTICATED, Code.RESOURCE_EXHAUSTED}
        assert gate.export(b"")[0] is Code.UNAUTHENTICATED
        assert others.harm.wrong == []
        assert others.harm.grown_bytes < 2 * LIMIT


def test_a_wrong_host_is_refused(gate: Served) -> None:
    """What a browser was made to send to a name that is not ours is 403, with the reason."""
    with Others(gate) as others:
        answers = [gate.post(packed(document(5)), host="evil.example"), gate.post(b"{}", JSON, origin="http://evil")]
    assert [one.status for one in answers] == [403, 403]
    assert "--allow-host" in answers[0].rpc.message
    unharmed(others.harm)


def test_nothing_was_written_beside_the_store(tmp_path: Path) -> None:
    """Ids that look like paths are content: every record has the name of a hash or of a trace id."""
    with served(tmp_path / "gate") as gate:
        for name in ("ids like paths", "ids like paths, in JSON", "ids of 16 MiB"):
            assert gate.post(BOMBS[name].body(), BOMBS[name].media_type).status == 200
        gate.until(lambda: gate.status()["accounts"]["recorded"] == 2, "two records")
        assert gate.stop() == 0
    records = recorded(tmp_path / "gate" / "store")
    beside = {path.name for path in (tmp_path / "gate").iterdir()}
    assert beside == {"store", "log"}
    assert all("evil" not in path.name for path in tmp_path.parent.rglob("*"))
    assert {record.trace_id for record in records} == {b"../../../evil/id".hex(), "../../../../evil"}
