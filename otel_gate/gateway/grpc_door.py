"""OTLP over gRPC: one handler for every method, with raw bytes, so that nothing is built before it was counted.

Messages come as they were sent, packed or not: gRPC itself would unpack a bomb whole. Each is read by us, so that a
message which stops coming has a deadline too.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import grpc

from otel_gate.gateway import answers
from otel_gate.gateway.answers import PROTOBUF, Answer
from otel_gate.gateway.http import LOGS, METRICS, NOT_OURS, TRACES
from otel_gate.gateway.inflate import packed_as
from otel_gate.gateway.places import place, unbound
from otel_gate.gateway.reception import FULL
from otel_gate.gateway.security import NO_TOKEN

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_gate.gateway.budget import Budget
    from otel_gate.gateway.options import Options
    from otel_gate.gateway.passing import Passed, Passing
    from otel_gate.gateway.reception import Reception
    from otel_gate.gateway.security import Tokens
    from otel_gate.gateway.tally import Requests
    from otel_gate.gateway.tls import Certificates

METHODS = {
    "/opentelemetry.proto.collector.trace.v1.TraceService/Export": TRACES,
    "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export": METRICS,
    "/opentelemetry.proto.collector.logs.v1.LogsService/Export": LOGS,
}
MESSAGE_STALLS = 6  # a message has that many times the patience for a window of bytes
READERS = 64  # messages that are being read at once
AGE_S, IDLE_S, GRACE_S = 3600, 300, 60
RETRIED = frozenset({429, 502, 503, 504})


class GrpcDoor(grpc.GenericRpcHandler):
    """The gRPC server of a gateway."""

    def __init__(
        self, reception: Reception, options: Options, tokens: Tokens, requests: Requests, passing: Passing | None,
    ) -> None:  # fmt: skip
        """Take requests to this reception."""
        self._reception, self._options, self._tokens = reception, options, tokens
        self._requests, self._passing = requests, passing
        self._server: Any = None
        self._reading = asyncio.Semaphore(READERS)

    def listen(self, host: str, port: int, tls: Certificates | None) -> int:
        """Make a server, and return the port that it has.

        Raises:
            SettingsError: it can't listen there.
        """
        options = self._options
        self._server = grpc.aio.server(
            handlers=(self,),
            options=[
                ("grpc.max_receive_message_length", options.max_request_bytes),
                ("grpc.per_message_decompression", 0),
                ("grpc.max_concurrent_streams", options.max_streams),
                ("grpc.max_metadata_size", options.max_header_bytes),
                ("grpc.absolute_max_metadata_size", options.max_header_bytes),
                ("grpc.max_allowed_incoming_connections", options.max_connections),
                ("grpc.server_handshake_timeout_ms", round(options.stall_s * 1000)),
                ("grpc.max_connection_idle_ms", IDLE_S * 1000),
                ("grpc.max_connection_age_ms", AGE_S * 1000),
                ("grpc.max_connection_age_grace_ms", GRACE_S * 1000),
                ("grpc.so_reuseport", 0),
            ],
        )
        address = place(host, port)
        try:
            if tls is None:
                return int(self._server.add_insecure_port(address))
            return int(self._server.add_secure_port(address, tls.credentials()))
        except RuntimeError as error:
            raise unbound("grpc_port", host, port, error) from error

    async def start(self) -> None:
        """Accept connections."""
        await self._server.start()

    async def stop(self, patience_s: float) -> None:
        """Accept nothing more, and answer what is in flight."""
        if self._server is not None:
            await self._server.stop(patience_s)

    def service(self, call: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[Any, Any] | None:
        """Return what answers a call; who has no token is not read from."""
        path = METHODS.get(call.method)
        if path is None:
            return None
        if not self._tokens.allow(_metadata(call.invocation_metadata, "authorization")):
            return grpc.stream_unary_rpc_method_handler(self._refusing(path, NO_TOKEN))
        if path == TRACES:
            return grpc.stream_unary_rpc_method_handler(self._traces)
        if self._passing is None:
            return grpc.stream_unary_rpc_method_handler(self._refusing(path, NOT_OURS))
        return grpc.stream_unary_rpc_method_handler(self._passed(path, self._passing))

    def _refusing(self, path: str, answer: Answer) -> Callable[..., Any]:
        async def refuse(_messages: Any, context: grpc.aio.ServicerContext[Any, Any]) -> bytes:
            return await self._answer(path, context, answer)

        return refuse

    async def _traces(self, _messages: Any, context: grpc.aio.ServicerContext[Any, Any]) -> bytes:
        return await self._answer(TRACES, context, await self._taken(context))

    async def _taken(self, context: grpc.aio.ServicerContext[Any, Any]) -> Answer:
        message = await self._read(context, self._reception.budget)
        if isinstance(message, Answer):
            return message
        try:
            return await self._reception.take(message, PROTOBUF, packed_as(message))
        finally:
            self._reception.budget.give(len(message))

    def _passed(self, path: str, passing: Passing) -> Callable[..., Any]:
        async def pass_on(_messages: Any, context: grpc.aio.ServicerContext[Any, Any]) -> bytes:
            passed = await self._sent_on(path, passing, context)
            if isinstance(passed, Answer):
                return await self._answer(path, context, passed)
            if passed.status == answers.ACCEPTED.http:
                self._requests.count("grpc", path, grpc.StatusCode.OK.name)
                return passed.body
            kind = answers.BUSY if passed.status in RETRIED else answers.MALFORMED
            return await self._answer(path, context, Answer(kind, f"the collector answered {passed.status}"))

        return pass_on

    async def _sent_on(
        self, path: str, passing: Passing, context: grpc.aio.ServicerContext[Any, Any]
    ) -> Passed | Answer:
        message = await self._read(context, passing.budget)
        if isinstance(message, Answer):
            return message
        headers = {"content-type": PROTOBUF, "content-encoding": packed_as(message) or "identity"}
        try:
            return await passing.on(path, message, headers)
        finally:
            passing.budget.give(len(message))

    async def _read(self, context: grpc.aio.ServicerContext[Any, Any], budget: Budget) -> bytes | Answer:
        """Read the one message of a call, and take its size of a budget; else return the answer."""
        refusal = self._reception.refuse(_address(context.peer()))
        if refusal:
            return refusal
        patience_s = self._options.stall_s * MESSAGE_STALLS
        try:
            async with self._reading, asyncio.timeout(patience_s):
                message = await context.read()
        except TimeoutError:
            return Answer(answers.STALLED, f"expected a whole message within {patience_s:g} s")
        if not isinstance(message, bytes):
            return Answer(answers.MALFORMED, "expected one message, got none")
        return message if budget.take(len(message)) else FULL

    async def _answer(self, path: str, context: grpc.aio.ServicerContext[Any, Any], answer: Answer) -> bytes:
        """Answer, or abort: that raises, and the frames in the middle of it live on for long, with all they hold."""
        self._requests.count("grpc", path, answer.kind.grpc.name)
        if not answer.is_ok:
            await context.abort(answer.kind.grpc, answer.message, (("grpc-status-details-bin", answer.status),))
        return answer.response


def _metadata(metadata: Any, name: str) -> str:
    value = next((value for key, value in metadata or () if key == name), "")
    return value if isinstance(value, str) else ""


def _address(peer: str) -> str:
    """Return the address of a peer, ``ipv4:127.0.0.1:5`` or ``ipv6:[::1]:5``."""
    return peer.partition(":")[2].rpartition(":")[0]
