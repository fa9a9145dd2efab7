"""The way of a request behind both doors: room for it, counted, decoded, into the journal, durable, answered.

What always holds: an answer that is ok was given after the journal has what was taken and the disk has confirmed it.
Nothing here blocks the event loop: decoding and appending have a thread, large requests have one of their own, so that
nobody waits behind them, and syncing has another.
"""

from __future__ import annotations

import asyncio
import logging
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from otel_gate.errors import InputError
from otel_gate.gateway import answers, count, decode
from otel_gate.gateway.answers import JSON, PROTOBUF, Answer
from otel_gate.gateway.budget import Budget
from otel_gate.gateway.group import GroupSync
from otel_gate.gateway.inflate import unpack
from otel_gate.gateway.pressure import RETRY_S, Pressure
from otel_gate.gateway.rate import Rates

if TYPE_CHECKING:
    from otel_gate.gateway.decode import Decoded
    from otel_gate.gateway.disk import Disk
    from otel_gate.gateway.options import Options
    from otel_gate.pipeline import Pipeline

logger = logging.getLogger("otel_gate")
DISK_RETRY_S, SAID_S = 5.0, 60.0
LARGE_BYTES = 1 << 20
NO_DISK = Answer(
    answers.BUSY, "the journal can't be written; the whole request again: what comes twice counts once",
    retry_s=DISK_RETRY_S,
)  # fmt: skip
FULL = Answer(
    answers.BUSY, "too many bytes of requests are in memory (--max-decoding-bytes of the gateway)", retry_s=RETRY_S
)
LEAVING = Answer(answers.BUSY, "the gateway is stopping; nothing of this request counts", retry_s=RETRY_S)
NO_JOURNAL = "the journal can't be opened"
FAULT = Answer(answers.FAULT, "a defect of the gateway's; nothing of this request counts")
REFUSALS = {400: answers.MALFORMED, 413: answers.TOO_LARGE}


class Reception:
    """Takes requests for one pipeline. Its methods are for the event loop, and raise nothing."""

    def __init__(self, pipeline: Pipeline, options: Options, disk: Disk) -> None:
        """Start the threads with the first request."""
        self._pipeline, self._options, self.disk = pipeline, options, disk
        self.budget, self.pressure = Budget(options.max_decoding_bytes), Pressure()
        self._rates = Rates(options.max_requests_per_s)
        self._decoding = ThreadPoolExecutor(1, "otel-gate-decode")
        self._large = ThreadPoolExecutor(1, "otel-gate-decode-large")
        self._syncing = ThreadPoolExecutor(1, "otel-gate-sync")
        self._said_at, self._is_over = float("-inf"), False
        self._group = GroupSync(pipeline.sync, self._syncing)

    @property
    def not_ready(self) -> str:
        """What it waits for before it takes traces; empty when it takes them."""
        return (self.pressure.reason or self.disk.reason) if self._pipeline.is_open else NO_JOURNAL

    def refuse(self, client: str) -> Answer | None:
        """Return the answer to a request that can't be taken now, before its body is read."""
        wait_s = self._rates.wait_s(client)
        if wait_s:
            most = f"at most {self._options.max_requests_per_s} requests a second from {client}"
            return Answer(answers.TOO_MANY, f"{most} (--max-requests-per-s of the gateway)", retry_s=wait_s)
        return Answer(answers.BUSY, self.pressure.reason, retry_s=RETRY_S) if self.pressure.reason else None

    async def take(self, body: bytes, media_type: str = PROTOBUF, encoding: str = "") -> Answer:
        """Take a request, for whose bytes the budget has given room, and return the answer."""
        if not body and media_type == PROTOBUF:
            return Answer()
        try:
            return await (self._unpacked(body, media_type, encoding) if encoding else self._taken(body, media_type))
        except InputError as error:
            return Answer(REFUSALS[error.http_status], str(error))
        except OSError as error:
            self.disk.refused(len(body), error)
            self._say("otel-gate: the journal can't be synced: %s", error)
            return NO_DISK
        except Exception:
            if self._is_over:
                return LEAVING
            logger.exception("otel-gate: a request met a fault")
            return FAULT

    def close(self) -> None:
        """End the threads, when what they do is done; who comes later is to come again."""
        self._is_over = True
        self._decoding.shutdown()
        self._large.shutdown()
        self._syncing.shutdown()

    async def _unpacked(self, packed: bytes, media_type: str, encoding: str) -> Answer:
        limit = self._options.max_request_bytes
        body = await asyncio.get_running_loop().run_in_executor(self._decoding, unpack, packed, encoding, limit)
        if not self.budget.take(len(body)):
            return FULL
        try:
            return await self._taken(body, media_type)
        finally:
            self.budget.give(len(body))

    async def _taken(self, body: bytes, media_type: str) -> Answer:
        thread = self._large if len(body) > LARGE_BYTES else self._decoding
        answer, files = await asyncio.get_running_loop().run_in_executor(thread, self._decode, body, media_type)
        if files:
            await self._group.wait(files)
            self.disk.took()
        return answer

    def _decode(self, body: bytes, media_type: str) -> tuple[Answer, Any]:
        found = self._read(body, media_type)
        if found.refusal:
            return Answer(answers.MALFORMED, found.refusal), None
        answer = Answer(message=found.reason, rejected=found.rejected)
        if not found.pieces:
            return answer, None
        files = self._pipeline.accept(found.pieces, body)
        if files is None:
            self.disk.refused(len(body))
            self._say("otel-gate: the journal can't be written")
            return NO_DISK, None
        return answer, files

    def _say(self, *message: object) -> None:
        """Log what many requests may meet, once a minute."""
        now_s = time.monotonic()
        if now_s - self._said_at >= SAID_S:
            self._said_at = now_s
            logger.error(*message)

    def _read(self, body: bytes, media_type: str) -> Decoded:
        options = self._options
        if media_type == JSON:
            count.json(body, options.max_request_elements)
            return decode.json(body, options.max_request_spans)
        count.protobuf(body, options.max_request_elements)
        return decode.protobuf(body, options.max_request_spans)
