"""The gateway itself: a pipeline behind two doors, in one event loop.

It starts in the order in which it can refuse (options, certificates, the store, the ports), and stops in the order in
which nothing is lost: doors closed, requests answered, journal synced and closed, destinations told.
"""

from __future__ import annotations

import asyncio
import logging
import os
from typing import TYPE_CHECKING, Any

from otel_gate.conventions import TABLE
from otel_gate.forward import Forwarder, destinations, endpoints, without_content
from otel_gate.gateway import circle, pressure, view
from otel_gate.gateway.claim import Claim
from otel_gate.gateway.disk import Disk
from otel_gate.gateway.grpc_door import GrpcDoor
from otel_gate.gateway.http import HttpDoor
from otel_gate.gateway.listener import Listener
from otel_gate.gateway.numbers import Numbers
from otel_gate.gateway.options import Options, Ports
from otel_gate.gateway.passing import Passing
from otel_gate.gateway.places import listen, place
from otel_gate.gateway.presented import Presented, fingerprint
from otel_gate.gateway.ranges import OFF
from otel_gate.gateway.reception import Reception
from otel_gate.gateway.reloading import Reloading
from otel_gate.gateway.security import Names, Tokens, check_bind
from otel_gate.gateway.tally import FirstTraces, Requests
from otel_gate.gateway.tls import certificates
from otel_gate.pipeline import Pipeline, Policy, limits
from otel_gate.pipeline.withhold import Withholding
from otel_gate.rules import RULES
from otel_gate.settings import resolve
from otel_gate.store import Store
from otel_gate.store.files import Files

if TYPE_CHECKING:
    from collections.abc import Sequence
    from socket import socket

    from otel_gate.conventions.recognise import Table
    from otel_gate.settings import Settings

logger = logging.getLogger("otel_gate")
STOP_S, RECORDS_S, FAREWELL_S, TICK_S = 10.0, 10.0, 2.0, 0.25
RELOAD_TICKS, PASSING = 4, 4


class Gateway:
    """Takes OTLP for one store. ``start`` and ``stop`` belong to the same event loop.

    ``rules`` are what traces are judged by, the settings' own among them. One that ``goes_on`` begins with the traces
    that the one before it has left open, and leaves its own to the next.
    """

    goes_on = True

    def __init__(
        self, settings: Settings, options: Options | None = None, rules: Sequence[Any] = RULES,
        conventions: Table = TABLE,
    ) -> None:  # fmt: skip
        """Make the parts; nothing is opened yet.

        Raises:
            SettingsError: an option or a destination has a value that it can't have.
        """
        self.settings, self.options = settings, options or Options()
        check_bind(self.options)
        self._tokens, self._tls = Tokens(self.options.token_file), certificates(self.options)
        self._passing = _passing(self.options)
        to = destinations(settings.exporter, os.environ, settings.destinations, strict=True)
        self.endpoints = endpoints(settings.exporter, os.environ, settings.destinations)
        if settings.forward_arguments == "hash":
            to = without_content(to, conventions)
        run_id = settings.run_id if isinstance(settings.run_id, str) else "auto"
        policy = Policy(
            rules=tuple(rules), conventions=conventions, door="otlp", run_id=run_id,
            remote_parent=settings.remote_parent or "reject", mode=settings.mode,
            keep_arguments=settings.keep_arguments, destinations=tuple(one.name for one in to),
        )  # fmt: skip
        self.forwarder = Forwarder(to, self._store, forwardable=policy.forwardable) if to else None
        self._first = self._hearing()
        self.pipeline = Pipeline(
            policy,
            limits(settings),
            settings.store,
            self._store,
            forward=self._first,
            grouped=True,
            goes_on=self.goes_on,
            withholding=self._withholding(conventions),
        )
        self.ports = Ports(None, None)
        self._ticking: asyncio.Task[None] | None = None
        self._looking: asyncio.Task[None] | None = None
        self._reloading = Reloading(
            *([self._tokens] if self._tokens else []), *([Presented(self._tls, self._tell)] if self._tls else [])
        )

    def _withholding(self, conventions: Table) -> Withholding | None:
        """Return what takes content out of spans, when a setting asks for that."""
        settings = self.settings
        redact: Any = resolve(settings.redact) if isinstance(settings.redact, str) else settings.redact
        if settings.keep_arguments and redact is None:
            return None
        return Withholding(conventions, redact if settings.keep_arguments else None, _redact_met)

    async def start(self) -> None:
        """Take the store, open the journal and both doors; ``ports`` says where.

        Raises:
            UsageError: another gateway has the store, or it can't listen where it was told to.
            WriteError: the store can't be written.
        """
        self._claim = self._claimed()
        try:
            await self._open()
            self._tell()
        except BaseException:
            self._claim.undo()
            raise
        self._ticking = asyncio.create_task(self._tick())

    async def rehearse(self) -> None:
        """Take the store and both ports as ``start`` does, and give them back: nothing is left behind.

        Raises:
            GateError: what ``start`` would raise.
        """
        self._claim = self._claimed()
        try:
            listening = self._bind()
            if listening is not None:
                listening.close()
            if self.ports.grpc is not None:  # one that has never begun would keep its port
                await self._grpc.start()
                await self._grpc.stop(0)
        finally:
            self._claim.undo()

    async def stop(self) -> None:
        """Stop accepting, answer what is in flight, sync and close."""
        if self._ticking is not None:
            self._ticking.cancel()
        await asyncio.gather(self._http.stop(STOP_S), self._grpc.stop(STOP_S))
        await asyncio.to_thread(self._close)

    @property
    def urls(self) -> dict[str, str]:
        """The URL of each door that listens, as agents have to name it."""
        scheme, host = "https" if self._tls else "http", self.options.host
        return {
            name: f"{scheme}://{place(host, port)}" for name, port in self.ports._asdict().items() if port is not None
        }

    @property
    def not_ready(self) -> str:
        """What the gateway waits for before it takes traces; empty when it takes them."""
        return self._reception.not_ready

    def _tell(self) -> None:
        """Tell whoever looks for the gateway of this store where it is, and what it presents."""
        self._claim.tell(self.urls, fingerprint(self.options.tls_certificate))

    async def _open(self) -> None:
        """Bind both ports, then open the journal, then accept."""
        listening = self._bind()
        await asyncio.to_thread(self.pipeline.start)
        if self.ports.grpc is not None:
            await self._grpc.start()
        if listening is not None:
            await self._http.start(listening)

    def _bind(self) -> socket | None:
        """Make both doors, bind their ports, and return the socket of the one for HTTP; neither may lead back here."""
        self._make()
        options, grpc = self.options, None
        circle.refuse(self._sent_to(), options.host, Ports(options.grpc_port, options.http_port))
        listening = None if options.http_port == OFF else listen(options.host, options.http_port)
        try:
            if options.grpc_port != OFF:
                listen(options.host, options.grpc_port, "grpc_port").close()  # gRPC does not say what stands against it
                grpc = self._grpc.listen(options.host, options.grpc_port, self._tls)
            self.ports = Ports(grpc, listening.getsockname()[1] if listening else None)
        except BaseException:
            if listening is not None:
                listening.close()
            raise
        return listening

    def _sent_to(self) -> dict[str, str]:
        """Return each URL that something is sent to, by what it is called."""
        there = {f"destination {name}": endpoint.url for name, endpoint in self.endpoints.items()}
        return {**there, **({"pass_through": self.options.pass_through} if self.options.pass_through else {})}

    def _make(self) -> None:
        options = self.options
        disk = Disk(self.settings.store, Files())
        self._reception, requests = Reception(self.pipeline, options, disk), Requests()
        numbers = Numbers(self.pipeline, self._reception, requests, self.settings.store)
        pages = view.pages(self.pipeline, lambda: self.not_ready, numbers.text)
        names = Names(options)
        door = HttpDoor(self._reception, options, self._tokens, names, requests, self._passing, pages)
        self._http = Listener(door.app, options, requests, self._tls.context if self._tls else None)
        self._grpc = GrpcDoor(self._reception, options, self._tokens, requests, self._passing)

    def _close(self) -> None:
        self._reception.close()
        if self._passing is not None:
            self._passing.close()
        self._leave()
        if self.forwarder is not None:
            self.forwarder.shutdown(FAREWELL_S)
        self._claim.release()

    def _hearing(self) -> FirstTraces:
        """Return who is told of records before the forwarder is."""
        return FirstTraces(self.forwarder, str(self.settings.run_id))

    def _claimed(self) -> Claim:
        return Claim(self.settings.store, Files())

    def _leave(self) -> None:
        self.pipeline.suspend(RECORDS_S)

    async def _tick(self) -> None:
        ticks = 0
        while True:
            await asyncio.sleep(TICK_S)
            ticks += 1
            try:
                self._look()
                if ticks % RELOAD_TICKS == 0:
                    self._look_at_disk()
                    await asyncio.to_thread(self._reloading.look)
            except Exception:
                logger.exception("otel-gate: the gateway met a fault and goes on")

    def _look(self) -> None:
        self._http.tick()
        self._first.tick()
        self._reception.pressure.look(
            (
                pressure.of_traces(self.pipeline.load.traces, self.options.max_open_traces),
                pressure.of_bytes(self.pipeline.open_bytes, self.settings.max_open_bytes),
            )
        )

    def _look_at_disk(self) -> None:
        """See whether a disk that has refused takes something again; nobody waits for that, it may hang."""
        if self._reception.disk.reason and (self._looking is None or self._looking.done()):
            self._looking = asyncio.create_task(asyncio.to_thread(self._reception.disk.look))

    def _store(self) -> Store:
        return Store(self.settings.store, layout=self.settings.layout)


def _passing(options: Options) -> Passing | None:
    """Return what passes other signals on; a collector that hangs leaves room for traces."""
    return Passing(options.pass_through, options.max_decoding_bytes // PASSING) if options.pass_through else None


def _redact_met(error: BaseException) -> None:
    """Say what ``redact`` raised: the kind alone, its words may quote what it was given."""
    logger.error("otel-gate: redact met %s; the value is withheld", type(error).__name__)
