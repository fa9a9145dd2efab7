"""Limits that a client can't talk its way around: streams, handshakes, heads that drip, and what each is by default."""

from __future__ import annotations

import contextlib
import gzip
import socket
import struct
import time
from typing import TYPE_CHECKING, Any

import pytest
from msgspec import structs

from otel_gate.gateway.options import Options
from otel_gate.gateway.pressure import Measure, Pressure, of_bytes, of_traces
from tests.gateway.certificates import Authority
from tests.gateway.running import document, packed, running
from tests.gateway.test_abuse import PREFACE, SETTINGS, headers_frame

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

ACKNOWLEDGED = b"\x00\x00\x00\x04\x01\x00\x00\x00\x00"
RESET, SAID, MOST_STREAMS, REFUSED = 3, 4, 3, 7  # of HTTP/2: frames, a setting, an error
SOON_S = 5.0


def frames(content: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Iterate over the frames of HTTP/2: kind, stream and payload of each."""
    while content:
        size = int.from_bytes(content[:3])
        yield content[3], int.from_bytes(content[5:9]), content[9 : 9 + size]
        content = content[9 + size :]


def received(connection: socket.socket, patience_s: float) -> bytes:
    """Return what comes until nothing more does for so long."""
    connection.settimeout(patience_s)
    content = b""
    with contextlib.suppress(TimeoutError):
        while more := connection.recv(65536):
            content += more
    return content


def test_a_connection_has_so_many_calls(tmp_path: Path) -> None:
    """The number is told to a client, and one that does not listen has every further call refused."""
    with (
        running(tmp_path / "store", max_streams=2) as gate,
        socket.create_connection(("127.0.0.1", gate.grpc), timeout=10) as connection,
    ):
        connection.sendall(PREFACE + SETTINGS)
        told = [payload for kind, _, payload in frames(received(connection, 0.5)) if kind == SAID]
        assert struct.pack(">HI", MOST_STREAMS, 2) in told[0]
        head = headers_frame()
        for stream in (1, 3, 5, 7):
            connection.sendall(ACKNOWLEDGED * (stream == 1) + head[:5] + struct.pack(">I", stream) + head[9:])
        found = frames(received(connection, 1.0))
        resets = {stream: int.from_bytes(payload) for kind, stream, payload in found if kind == RESET}
    assert resets == {5: REFUSED, 7: REFUSED}


@pytest.mark.parametrize("door", ["http", "grpc"])
@pytest.mark.parametrize("sent", [b"", b"\x16\x03\x01\x02\x00"], ids=["nothing", "its begin"])
def test_a_handshake_that_stalls_is_ended(tmp_path: Path, door: str, sent: bytes) -> None:
    """A client of TLS that says nothing, or stops in the middle of it, keeps no connection."""
    certificate, key = Authority(tmp_path / "ca").sign("gate")
    options: dict[str, Any] = {"tls_certificate": str(certificate), "tls_key": str(key), "stall_s": 0.3}
    with (
        running(tmp_path / "store", **options) as gate,
        socket.create_connection(("127.0.0.1", getattr(gate, door)), timeout=10) as connection,
    ):
        connection.sendall(sent)
        began = time.monotonic()
        with contextlib.suppress(ConnectionError):
            received(connection, SOON_S)
    assert time.monotonic() - began < SOON_S


def test_a_head_that_drips_is_ended(tmp_path: Path) -> None:
    """A byte now and then is no head: the time of a head begins once."""
    with (
        running(tmp_path / "store", stall_s=0.3) as gate,
        socket.create_connection(("127.0.0.1", gate.http), timeout=10) as connection,
    ):
        began, is_open = time.monotonic(), True
        connection.settimeout(0.05)
        while is_open and time.monotonic() - began < SOON_S:
            try:
                connection.sendall(b"G")
                is_open = connection.recv(4096) != b""
            except TimeoutError:
                continue
            except ConnectionError:
                is_open = False
    assert time.monotonic() - began < SOON_S


def test_what_each_limit_is_by_default() -> None:
    """No limit is turned off, and none is changed in passing."""
    found = structs.asdict(Options())
    assert {name: number for name, number in found.items() if name.startswith("max_")} == {
        "max_request_bytes": 64 << 20, "max_request_spans": 100_000, "max_request_elements": 1_000_000,
        "max_decoding_bytes": 256 << 20, "max_open_traces": 250_000, "max_connections": 1_000, "max_streams": 100,
        "max_header_bytes": 32 << 10, "max_requests_per_s": 2_000,
    }  # fmt: skip
    assert (found["stall_s"], found["keep_alive_s"], found["insecure_bind"]) == (10.0, 75.0, False)


@pytest.mark.parametrize(
    ("options", "body"),
    [
        ({"max_request_bytes": 100}, packed(document(1, 9))),
        ({"max_request_spans": 4}, packed(document(1, 9))),
        ({"max_request_elements": 4}, packed(document(1, 9, attributes={"a": ["b"] * 40_000}))),
        ({"max_decoding_bytes": 100}, packed(document(1, 9))),
        ({"max_header_bytes": 400}, b""),
        ({"max_requests_per_s": 1}, b""),
        ({"stall_s": 0.2}, None),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_who_meets_a_limit_is_told_which_option_it_is(
    tmp_path: Path, options: dict[str, Any], body: bytes | None
) -> None:
    """The name stands in the answer, so that whoever runs the gateway knows what to set."""
    [name] = options
    long = {"x_long": "a" * 400} if name == "max_header_bytes" else {}
    with running(tmp_path / "store", **options) as gate:
        for _ in range(2 if name == "max_requests_per_s" else 0):
            gate.post(b"")
        answer = gate.post(body, **long) if body is not None else gate.post(b"", content_length="9")
        said = answer.rpc.message
        unpacked = (
            gate.post(gzip.compress(bytes(200)), content_encoding="gzip") if name == "max_request_bytes" else answer
        )
    assert answer.status in {408, 413, 429, 431, 503}
    assert f"--{name.replace('_', '-')}" in said
    assert f"--{name.replace('_', '-')}" in unpacked.rpc.message


@pytest.mark.parametrize(("name", "measured"), [("--max-open-traces", of_traces), ("max_open_bytes", of_bytes)])
def test_closed_doors_name_the_option_too(name: str, measured: Callable[[int, int], Measure]) -> None:
    """It is part of the reason, in answers and at /readyz."""
    pressure = Pressure()
    pressure.look([measured(100, 100)])
    assert name in pressure.reason
