"""Places for messages that are on their way: few of them, and none is kept from who comes."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import socket
import struct
import sys
from typing import TYPE_CHECKING

import grpc
import pytest

from otel_gate.gateway.readers import EndedError, Readers, places
from tests.gateway.running import document, packed, running
from tests.gateway.served import MIB, served
from tests.gateway.test_abuse import PREFACE, SETTINGS, data_frame, headers_frame

if TYPE_CHECKING:
    from pathlib import Path

FAIR_S, LONG_S = 0.1, 30.0
NEVER_WHOLE = PREFACE + SETTINGS + headers_frame() + data_frame(b"\x00" + struct.pack(">I", 100_000) + b"ab")
SENDERS, MESSAGE, MOST_GROWN = 32, 64 * MIB, 1_280 * MIB


def test_places_have_as_much_room_as_requests_in_memory() -> None:
    """Four by default, more when requests are small, at least four and at most 64."""
    sizes = [(256, 64), (256, 16), (256, 1), (1, 64)]
    assert [places(decoding * MIB, request * MIB) for decoding, request in sizes] == [4, 16, 64, 4]


def test_who_finds_no_place_takes_that_of_the_newest_one_that_had_its_time() -> None:
    """The older one goes on, the newest is told that it gave its place, and nobody is ended within its time."""

    async def story() -> list[str]:
        readers, said = Readers(2, LONG_S, FAIR_S), list[str]()
        loop = asyncio.get_running_loop()
        began = loop.time()

        async def read(name: str, message: asyncio.Event) -> None:
            try:
                async with readers.place():
                    await message.wait()
                said.append(f"{name} whole")
                is_done.set()
            except EndedError:
                said.append(f"{name} ended")

        first, second, third, is_done = asyncio.Event(), asyncio.Event(), asyncio.Event(), asyncio.Event()
        third.set()
        async with asyncio.TaskGroup() as group:
            for name, message in (("first", first), ("second", second), ("third", third)):
                group.create_task(read(name, message))
                await asyncio.sleep(0)
            await is_done.wait()
            assert said[0] == "third whole"
            assert loop.time() - began >= FAIR_S
            first.set()
        return said

    assert sorted(asyncio.run(story())) == ["first whole", "second ended", "third whole"]


def test_patience_ends_who_reads_and_who_waits() -> None:
    """Both are told that the time is over, and a place that was given back is free."""

    async def story() -> None:
        readers, never = Readers(1, 0.05, LONG_S), asyncio.Event()

        async def read() -> None:
            async with readers.place():
                await never.wait()

        found = await asyncio.gather(read(), read(), return_exceptions=True)
        assert [type(one) for one in found] == [TimeoutError, TimeoutError]
        async with readers.place():
            pass

    asyncio.run(story())


def test_messages_that_hardly_come_keep_nobody_out(tmp_path: Path) -> None:
    """Twenty of them, and a client of the same door is served; those that gave their place are to come again."""
    with running(tmp_path / "store", stall_s=30) as gate, contextlib.ExitStack() as stack:
        opened = [stack.enter_context(socket.create_connection(("127.0.0.1", gate.grpc), 10)) for _ in range(20)]
        for one in opened:
            one.sendall(NEVER_WHOLE)
        gate.until(lambda: len(gate.gateway._grpc._readers._held) == 4, "every place is taken")
        for number in range(1, 6):
            assert gate.export(packed(document(number))) == b""
        assert b'code="UNAVAILABLE",door="grpc"' in gate.request("GET", "/metrics").body


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_many_large_messages_at_once_have_a_bound(tmp_path: Path) -> None:
    """Of 32 clients with 64 MiB each a few are on their way at a time: without places it was twice as much."""
    body = bytes(MESSAGE)
    with served(tmp_path) as gate, concurrent.futures.ThreadPoolExecutor(SENDERS) as pool:
        before = gate.resident_bytes
        codes = {code for code, _ in pool.map(gate.export, [body] * SENDERS)}
        assert codes <= {grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.UNAVAILABLE}
        assert gate.peak_bytes - before < MOST_GROWN
        assert gate.export(packed(document(1)))[0] is grpc.StatusCode.OK
