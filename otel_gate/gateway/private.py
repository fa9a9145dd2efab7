"""A gateway for one command: one port for both doors, a store that others may use too, every trace recorded at its end.

gRPC opens a connection with the preface of HTTP/2, and no request of HTTP/1 begins like it: three bytes tell to which
door a connection belongs, whatever exporter a command has.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import TYPE_CHECKING, Any

from otel_gate.conventions import TABLE
from otel_gate.errors import WriteError
from otel_gate.gateway.options import Options
from otel_gate.gateway.server import RECORDS_S, Gateway
from otel_gate.gateway.tally import NO_RUN_ID, FirstTraces

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from otel_gate.conventions.recognise import Table
    from otel_gate.settings import Settings
    from otel_gate.store import Saved

LOOPBACK = "127.0.0.1"
PREFACE = b"PRI"
CHUNK_BYTES = 1 << 16
LOOK_S = 0.02
RECOVERS = "otel-gate-recover"  # the thread that records what processes that have ended left in the store


class PrivateGateway(Gateway):
    """Takes what one command sends; ``url`` is its address, for gRPC and for HTTP.

    ``places`` has the records that came of it, with the rules that each violates; ``is_kept`` is False when a trace has
    none.
    """

    goes_on = False

    def __init__(self, settings: Settings, rules: Sequence[Any], conventions: Table = TABLE) -> None:
        """Make the parts; nothing is opened yet.

        Raises:
            SettingsError: a destination has a value that it can't have.
        """
        self.places: dict[str, frozenset[str]] = {}
        self.url, self.is_kept = "", True
        super().__init__(settings, Options(grpc_port=0, http_port=0, max_requests_per_s=0), rules, conventions)
        self._connections: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Open the journal, both doors, and the port before them.

        Raises:
            UsageError: it can't listen.
            WriteError: the store can't be written.
        """
        await super().start()
        if not self.pipeline.is_open:  # it would be tried again, but a command is not to begin meanwhile
            await super().stop()
            store = str(self.settings.store)
            raise WriteError(store, "a folder with a journal", "none that can be written", "another --store")
        self._front = await asyncio.start_server(self._connected, LOOPBACK, 0)
        self.url = f"http://{LOOPBACK}:{self._front.sockets[0].getsockname()[1]}"

    async def quiet(self, quiet_s: float) -> None:
        """Return when nothing has come for so many seconds."""
        loop = asyncio.get_running_loop()
        seen, until = self.pipeline.snapshot.seen, loop.time() + quiet_s
        while loop.time() < until:
            await asyncio.sleep(LOOK_S)
            now = self.pipeline.snapshot.seen
            if now != seen:
                seen, until = now, loop.time() + quiet_s

    async def stop(self) -> None:
        """Take nothing more, and record every trace."""
        self._front.close()
        await super().stop()
        for connection in self._connections:
            connection.cancel()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass a connection on to the door that it is for."""
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a server calls it in one
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)
        with contextlib.closing(writer), contextlib.suppress(OSError, asyncio.IncompleteReadError):
            first = await reader.readexactly(len(PREFACE))
            port = self.ports.grpc if first == PREFACE else self.ports.http
            inner_reader, inner_writer = await asyncio.open_connection(LOOPBACK, port)
            with contextlib.closing(inner_writer):
                inner_writer.write(first)
                await asyncio.gather(_passed(reader, inner_writer), _passed(inner_reader, writer))

    @property
    def lacks_run_id(self) -> bool:
        """Whether nothing is wrong with any trace but that its root carries no run id."""
        return bool(self.places) and set(self.places.values()) == {NO_RUN_ID}

    def _hearing(self) -> FirstTraces:
        return _Places(self.forwarder, str(self.settings.run_id), self.places)

    def _claimed(self) -> Any:
        return _Unclaimed()

    def _leave(self) -> None:
        self.is_kept = self.pipeline.shutdown(RECORDS_S)


class _Places(FirstTraces):
    """Keeps the places of records, each once; what is only recovered here, others have left."""

    def __init__(self, forwarder: Any, policy: str, places: dict[str, frozenset[str]]) -> None:
        super().__init__(forwarder, policy)
        self._places = places

    def tick(self) -> None:
        """Say nothing meanwhile."""

    def _look(self, group: Sequence[Saved]) -> None:
        if threading.current_thread().name != RECOVERS:
            for place, verdict in ((one.place, one.record.verdict) for one in group):
                self._places[place] = frozenset(found.rule for found in verdict.violations)


class _Unclaimed:
    """No claim: nothing is left open for a gateway that comes after, so several can have a store at once."""

    def tell(self, urls: Mapping[str, str], certificate: str = "") -> None:
        """Tell nobody where it listens."""

    def release(self) -> None:
        """Give nothing back."""

    undo = release


async def _passed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while chunk := await reader.read(CHUNK_BYTES):
            writer.write(chunk)
            await writer.drain()
        writer.write_eof()
