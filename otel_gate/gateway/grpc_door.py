"""OTLP over gRPC: one handler for every method, with raw bytes, so that nothing is built before it was counted.

Messages come as they were sent, packed or not: gRPC itself would unpack a bomb whole. Each is read by us, so that a
message which stops coming has a deadline too.

gRPC's own limits are larger than ours, so that what is too large is answered here, and counted. Beyond them it answers
by itself, without a google.rpc.Status, and all that is seen is a call that is gone. What never becomes a call is not
seen at all: a connection too many, a handshake that fails, a stream that was refused.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import grpc

from otel_gate.gateway import answers
from otel_gate.gateway.answers import PROTOBUF, Answer
from otel_gate.gateway.body import too_large
from otel_gate.gateway.http import LOGS, METRICS, NOT_OURS, TOO_LONG, TRACES
from otel_gate.gateway.inflate import packed_as
from otel_gate.gateway.places import place, unbound
from otel_gate.gateway.pressure import RETRY_S
from otel_gate.gateway.readers import EndedError, Readers, places
from otel_gate.gateway.reception import FULL
from otel_gate.gateway.security import NO_TOKEN
from otel_gate.gateway.tally import GONE, OTHER

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_gate.gateway.budget import Budget
    from otel_gate.gateway.options import Options
    from otel_gate.gateway.passing import Passing
    from otel_gate.gateway.reception import Reception
    from otel_gate.gateway.security import Tokens
    from otel_gate.gateway.tally import Requests
    from otel_gate.gateway.tls import Certificates

    Context = grpc.aio.ServicerContext[Any, Any]

STALLS = "six times --stall-s of the gateway"
METHODS = {
    "/opentelemetry.proto.collector.trace.v1.TraceService/Export": TRACES,
    "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export": METRICS,
    "/opentelemetry.proto.collector.logs.v1.LogsService/Export": LOGS,
}
MESSAGE_STALLS = 6  # a message has that many times the patience for a window of bytes
SPARE = 8  # gRPC's own limit of messages is by this part larger than ours
HEADS = 2  # and that of heads so many times
FIELD_BYTES = 32  # of each name and value of metadata, beside their own, as HTTP/2 counts
ENDING_S = 0.5  # so soon gRPC tells that a call is over
AGE_S, IDLE_S, GRACE_S = 3600, 300, 60
RETRIED = frozenset({429, 502, 503, 504})
NO_METHOD = Answer(answers.UNKNOWN, "nothing is here; traces go to TraceService/Export of OTLP")
NO_MESSAGE = Answer(answers.MALFORMED, "expected one message, got none")
CROWDED = Answer(
    answers.BUSY, "many messages are on their way (--max-decoding-bytes of the gateway), and this one comes slowly",
    retry_s=RETRY_S,
)  # fmt: skip


class GrpcDoor(grpc.GenericRpcHandler):
    """The gRPC server of a gateway."""

    def __init__(
        self, reception: Reception, options: Options, tokens: Tokens, requests: Requests, passing: Passing | None,
    ) -> None:  # fmt: skip
        """Take requests to this reception."""
        self._reception, self._options, self._tokens = reception, options, tokens
        self._requests, self._passing = requests, passing
        self._server: Any = None
        self._patience_s = options.stall_s * MESSAGE_STALLS
        self._readers = Readers(places(options.max_decoding_bytes, options.max_request_bytes), self._patience_s)

    def listen(self, host: str, port: int, tls: Certificates | None) -> int:
        """Make a server, and return the port that it has.

        Raises:
            SettingsError: it can't listen there.
        """
        options, head_bytes = self._options, self._options.max_header_bytes * HEADS
        self._server = grpc.aio.server(
            handlers=(self,),
            options=[
                ("grpc.max_receive_message_length", options.max_request_bytes + options.max_request_bytes // SPARE),
                ("grpc.per_message_decompression", 0),
                ("grpc.http2.bdp_probe", 0),  # else it takes megabytes of a message that nobody reads yet
                ("grpc.max_concurrent_streams", options.max_streams),
                ("grpc.max_metadata_size", head_bytes),
                ("grpc.absolute_max_metadata_size", head_bytes),
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
        path = METHODS.get(call.method, OTHER)
        return grpc.stream_unary_rpc_method_handler(self._answering(path, self._refusal(path, call)))

    def _refusal(self, path: str, call: grpc.HandlerCallDetails) -> Answer | None:
        metadata: Any = call.invocation_metadata or ()
        if path == OTHER:
            return NO_METHOD
        if sum(len(name) + len(value) + FIELD_BYTES for name, value in metadata) > self._options.max_header_bytes:
            return TOO_LONG
        if not self._tokens.allow(_metadata(metadata, "authorization")):
            return NO_TOKEN
        return NOT_OURS if path != TRACES and self._passing is None else None

    def _answering(self, path: str, refusal: Answer | None) -> Callable[..., Any]:
        async def answer(_messages: Any, context: Context) -> bytes:
            try:
                found = refusal or await self._found(path, context)
            except asyncio.CancelledError:  # by the client, by its end, or by gRPC, which has answered itself
                self._requests.count("grpc", path, GONE)
                raise
            return await self._answer(path, context, found)

        return answer

    async def _found(self, path: str, context: Context) -> Answer | bytes:
        """Read a call, and return its answer: one of ours, or what a collector has said."""
        passing = None if path == TRACES else self._passing
        budget = passing.budget if passing else self._reception.budget
        message = await self._read(context, budget)
        if isinstance(message, Answer):
            return message
        try:
            if passing:
                return await self._passed(path, passing, message)
            return await self._reception.take(message, PROTOBUF, packed_as(message))
        finally:
            budget.give(len(message))

    @staticmethod
    async def _passed(path: str, passing: Passing, message: bytes) -> Answer | bytes:
        headers = {"content-type": PROTOBUF, "content-encoding": packed_as(message) or "identity"}
        passed = await passing.on(path, message, headers)
        if isinstance(passed, Answer):
            return passed
        if passed.status == answers.ACCEPTED.http:
            return passed.body
        kind = answers.BUSY if passed.status in RETRIED else answers.MALFORMED
        return Answer(kind, f"the collector answered {passed.status}")

    async def _read(self, context: Context, budget: Budget) -> bytes | Answer:
        """Read the one message of a call, and take its size of a budget; else return the answer."""
        refusal = self._reception.refuse(_address(context.peer()))
        if refusal:
            return refusal
        try:
            async with self._readers.place():
                message = await context.read()
        except EndedError:
            return CROWDED
        except TimeoutError:
            return Answer(answers.STALLED, f"expected a whole message within {self._patience_s:g} s ({STALLS})")
        if not isinstance(message, bytes):
            await asyncio.sleep(ENDING_S)  # a call that is over is cancelled meanwhile
            return NO_MESSAGE
        limit = self._options.max_request_bytes
        if len(message) > limit:
            return too_large(limit)
        return message if budget.take(len(message)) else FULL

    async def _answer(self, path: str, context: Context, answer: Answer | bytes) -> bytes:
        """Answer, or abort: that raises, and the frames in the middle of it live on for long, with all they hold."""
        if isinstance(answer, bytes):
            self._requests.count("grpc", path, grpc.StatusCode.OK.name)
            return answer
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
