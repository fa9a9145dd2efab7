"""Back-pressure and caps: at the door, never in the middle."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import http.client
import socket
import threading
from typing import TYPE_CHECKING, Any

import grpc
import pytest

from otel_gate.gateway.budget import Budget
from otel_gate.gateway.group import GroupSync
from otel_gate.gateway.pressure import Pressure, of_bytes, of_traces
from otel_gate.gateway.rate import MOST_CLIENTS, Rates
from otel_gate.gateway.reception import LARGE_BYTES
from tests.gateway.running import EXPORT, document, packed, running

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable
    from concurrent.futures import Executor
    from pathlib import Path

NOBODY = "http://127.0.0.1:9"
HEAD = "POST /v1/traces HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"


def test_the_doors_open_clearly_below_the_mark_at_which_they_closed() -> None:
    """Between the marks the doors stay as they are: closed after 100 traces, open again below 75."""
    pressure, seen = Pressure(), []
    for now in (0, 99, 100, 90, 75, 74, 99):
        pressure.look((of_traces(now, 100), of_bytes(0, 100)))
        seen.append(bool(pressure.reason))
    assert seen == [False, False, True, True, True, False, False]


def test_the_reason_says_what_is_too_much() -> None:
    """Each measure that closed the doors is named, with the number below which they open."""
    pressure = Pressure()
    pressure.look((of_traces(500, 100), of_bytes(90 << 20, 100 << 20)))
    assert "500 traces wait for a record, the doors open again below 75 traces" in pressure.reason
    assert "90.0 MiB of spans wait for a record, the doors open again below 45.0 MiB of spans" in pressure.reason


def test_a_budget_gives_what_is_left_and_nothing_more() -> None:
    """What is taken is counted until it is given back."""
    budget = Budget(10)
    assert [budget.take(6), budget.take(5), budget.take(4)] == [True, False, True]
    budget.give(6)
    assert budget.take(6)


def test_a_client_has_its_rate_and_a_burst() -> None:
    """Twice the rate at once, then as time goes by; another client has its own."""
    now = [0.0]
    rates = Rates(10, lambda: now[0])
    assert [rates.wait_s("a") for _ in range(21)] == [0.0] * 20 + [pytest.approx(0.1)]
    assert not rates.wait_s("b")
    now[0] = 0.1
    assert [bool(rates.wait_s("a")) for _ in range(2)] == [False, True]
    assert not any(Rates(0).wait_s("a") for _ in range(9999))


def test_only_so_many_clients_are_remembered() -> None:
    """The client that was not seen for the longest is forgotten first."""
    rates = Rates(1, lambda: 0.0)
    for number in range(MOST_CLIENTS + 5):
        rates.wait_s(str(number))
    assert len(rates._buckets) == MOST_CLIENTS
    assert "4" not in rates._buckets


def test_too_many_requests_of_a_client_are_429(tmp_path: Path) -> None:
    """Over the rate both doors say when to come again, and the health of the gateway can still be asked for."""
    with running(tmp_path / "store", max_requests_per_s=1) as gate:
        statuses = [gate.post(b"") for _ in range(4)]
        assert [one.status for one in statuses[:2]] == [200, 200]
        assert statuses[3].status == 429
        assert statuses[3].headers["retry-after"] == "1"
        error = gate.refused(b"")
        assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert "grpc-status-details-bin" in dict(error.trailing_metadata())
        assert gate.request("GET", "/healthz").status == 200


def test_open_traces_close_the_doors_until_there_are_fewer(tmp_path: Path) -> None:
    """Over the mark both doors say 503 and UNAVAILABLE, readyz too; they open again when traces have records."""
    with running(tmp_path / "store", {"quiet_ms": 1_500}, max_open_traces=4) as gate:
        assert gate.post(packed(*map(document, range(1, 6)))).status == 200
        gate.until(lambda: gate.request("GET", "/readyz").status == 503, "the doors close")
        answer, error = gate.post(packed(document(9))), gate.refused(packed(document(9)))
        assert (answer.status, answer.headers["retry-after"]) == (503, "2")
        assert "traces wait for a record" in answer.rpc.message
        assert error.code() is grpc.StatusCode.UNAVAILABLE
        gate.until(lambda: gate.request("GET", "/readyz").status == 200, "the doors open")
        assert gate.post(packed(document(9))).status == 200
        assert len(gate.records(6)) == 6


def test_open_bytes_close_the_doors_before_a_trace_is_capped(tmp_path: Path) -> None:
    """What spans take closes the doors at three fifths of max_open_bytes: nothing is capped."""
    settings = {"quiet_ms": 1_500, "max_open_bytes": 1_000_000}
    with running(tmp_path / "store", settings) as gate:
        assert gate.post(packed(document(1, 2_600))).status == 200
        gate.until(lambda: gate.post(b"").status == 503, "the doors close")
        gate.until(lambda: gate.post(b"").status == 200, "the doors open")
        [record] = gate.records(1)
    assert record.verdict.shape_ok


def test_no_room_for_a_body_is_503(tmp_path: Path) -> None:
    """A body that finds no room is refused while it comes, and its bytes are given back."""
    with running(tmp_path / "store", max_decoding_bytes=1_000) as gate:
        assert gate.post(packed(document(1, 50))).status == 503
        assert gate.post(packed(document(1))).status == 200
        assert gate.gateway._reception.budget.taken == 0


def test_connections_over_the_cap_are_closed(tmp_path: Path) -> None:
    """A connection too many is closed at once, and those that are there are served."""
    with running(tmp_path / "store", max_connections=2) as gate, contextlib.ExitStack() as stack:
        there = [http.client.HTTPConnection("127.0.0.1", gate.http, timeout=5) for _ in range(3)]
        for one in there:
            stack.callback(one.close)
            one.connect()
        with pytest.raises((http.client.RemoteDisconnected, ConnectionError)):
            health(there[2])
        assert [health(one) for one in there[:2]] == [200, 200]


def health(connection: http.client.HTTPConnection) -> int:
    connection.request("GET", "/healthz")
    return connection.getresponse().status


def test_a_request_with_too_many_spans_is_413(tmp_path: Path) -> None:
    """The cap on spans holds for both forms, whatever the size of the body."""
    with running(tmp_path / "store", max_request_spans=4) as gate:
        assert gate.post(packed(document(1, 5))).status == 413
        spans = ",".join(f'{{"traceId": "{1:032x}", "spanId": "{number:016x}"}}' for number in range(1, 6))
        text = f'{{"resourceSpans": [{{"scopeSpans": [{{"spans": [{spans}]}}]}}]}}'
        assert gate.post(text.encode(), "application/json").status == 413
        assert gate.post(packed(document(1, 4))).status == 200


def in_a_loop(story: Callable[[Executor], Coroutine[Any, Any, None]]) -> None:
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

    with ThreadPoolExecutor(1) as thread:
        asyncio.run(story(thread))


def test_those_who_wait_at_the_same_time_share_one_sync() -> None:
    """While one sync runs, all who come wait for the next one together."""
    calls: list[set[int]] = []
    begun, go_on = threading.Event(), threading.Event()

    def sync(files: Iterable[int]) -> None:
        calls.append(set(files))
        begun.set()
        go_on.wait(10)

    async def story(thread: Executor) -> None:
        group = GroupSync(sync, thread)
        first = asyncio.create_task(group.wait({0}))
        await asyncio.to_thread(begun.wait, 10)
        others = [asyncio.create_task(group.wait({number})) for number in (1, 2, 2)]
        await asyncio.sleep(0)
        assert not first.done()
        others[2].cancel()
        go_on.set()
        await asyncio.gather(first, *others[:2])

    in_a_loop(story)
    assert calls == [{0}, {1, 2}]


def test_a_sync_that_the_disk_refuses_is_told_to_all_who_waited() -> None:
    """Each of them is told, and who comes later has a sync of its own."""
    refusals = [OSError("no space"), None]

    def sync(_files: Iterable[int]) -> None:
        if (refusal := refusals.pop(0)) is not None:
            raise refusal

    async def story(thread: Executor) -> None:
        group = GroupSync(sync, thread)
        told = await asyncio.gather(group.wait({1}), group.wait({1}), return_exceptions=True)
        assert [type(one) for one in told] == [OSError, OSError]
        await group.wait({1})

    in_a_loop(story)


def test_an_unpacked_body_needs_room_too(tmp_path: Path) -> None:
    """A small body that unpacks to a large one is refused when there is no room for that, and gives back its own."""
    with running(tmp_path / "store", max_decoding_bytes=50_000) as gate:
        answer = gate.post(gzip.compress(bytes(60_000)), content_encoding="gzip")
        assert (answer.status, answer.headers["retry-after"]) == (503, "2")
        assert gate.gateway._reception.budget.taken == 0


def test_nobody_waits_behind_a_large_request(tmp_path: Path) -> None:
    """While a large request is being decoded, a small one is answered."""
    held, go_on = threading.Event(), threading.Event()
    with running(tmp_path / "store") as gate:
        accept = gate.pipeline.accept

        def accept_slowly(pieces: Any, raw: bytes = b"") -> Any:
            if len(raw) > LARGE_BYTES:
                held.set()
                assert go_on.wait(10)
            return accept(pieces, raw)

        gate.pipeline.accept = accept_slowly  # type: ignore[method-assign]
        large = threading.Thread(target=gate.post, args=(packed(document(1, name="x" * LARGE_BYTES)),))
        large.start()
        assert held.wait(10)
        assert gate.post(packed(document(2))).status == 200
        go_on.set()
        large.join(10)
        assert len(gate.records(2)) == 2


def test_a_message_gives_back_its_room(tmp_path: Path) -> None:
    """Taken or refused, a message has no room when it is answered."""
    with running(tmp_path / "store", pass_through=NOBODY) as gate:
        gate.export(packed(document(1, 9)))
        gate.refused(b"\xff" * 99)
        gate.refused(b"m" * 99, EXPORT.format("logs.v1.Logs"))
        assert gate.gateway._reception.budget.taken == 0
        assert gate.gateway._passing is not None
        assert gate.gateway._passing.budget.taken == 0


def test_a_client_that_leaves_gives_back_its_room(tmp_path: Path) -> None:
    """A connection that ends in the middle of a body takes nothing with it."""
    with running(tmp_path / "store") as gate:
        with socket.create_connection(("127.0.0.1", gate.http)) as connection:
            connection.sendall(f"{HEAD}content-length: 999\r\n\r\n{' ' * 500}".encode())
            gate.until(lambda: gate.gateway._reception.budget.taken == 500, "half of the body is there")
        gate.until(lambda: gate.gateway._reception.budget.taken == 0, "its room is given back")


def test_who_asks_first_is_told_before_it_sends(tmp_path: Path) -> None:
    """With ``Expect: 100-continue`` a body that is too large is refused unsent, and any other is asked for."""
    with running(tmp_path / "store", max_request_bytes=1_000) as gate:
        with socket.create_connection(("127.0.0.1", gate.http), timeout=10) as connection:
            connection.sendall(f"{HEAD}expect: 100-continue\r\ncontent-length: 1001\r\n\r\n".encode())
            answer = b"".join(iter(lambda: connection.recv(4096), b""))
        assert answer.startswith(b"HTTP/1.1 413 ")
        with socket.create_connection(("127.0.0.1", gate.http), timeout=10) as connection:
            connection.sendall(f"{HEAD}expect: 100-continue\r\ncontent-length: 2\r\n\r\n".encode())
            assert connection.recv(4096).startswith(b"HTTP/1.1 100 ")
            connection.sendall(b"{}")
            assert connection.recv(4096).startswith(b"HTTP/1.1 200 ")
