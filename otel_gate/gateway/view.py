"""What a gateway looks like from outside: alive, ready, and what it holds open right now."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from msgspec import structs
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from otel_gate.report import json

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request

    from otel_gate.pipeline import Pipeline

SCHEMA = "otel-gate/gateway/1"
LISTED = 100
MS = 1_000_000


def pages(pipeline: Pipeline, not_ready: Callable[[], str], metrics: Callable[[], tuple[bytes, str]]) -> list[Route]:
    """Return the routes of a gateway's pages; ``not_ready`` says what it waits for."""

    async def healthz(_request: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def readyz(_request: Request) -> Response:
        reason = not_ready()
        return PlainTextResponse(f"{reason or 'ready'}\n", 503 if reason else 200)

    async def status(_request: Request) -> Response:
        await asyncio.to_thread(pipeline.status)  # what was acknowledged until now is counted
        return Response(json.text(now(pipeline, not_ready())), media_type="application/json")

    async def numbers(_request: Request) -> Response:
        await asyncio.to_thread(pipeline.status)
        content, media_type = metrics()
        return Response(content, headers={"content-type": media_type})

    return [
        Route("/healthz", healthz), Route("/readyz", readyz), Route("/status", status), Route("/metrics", numbers),
    ]  # fmt: skip


def now(pipeline: Pipeline, not_ready: str) -> dict[str, Any]:
    """Describe what a gateway holds, the traces that have been open for the longest first; times in milliseconds."""
    accounts, load = pipeline.snapshot, pipeline.load
    return {
        "schema": SCHEMA,
        "ready": not not_ready,
        "waits_for": not_ready,
        "accounts": {**structs.asdict(accounts), "balances": accounts.balances},
        "open": {"traces": load.traces, "bytes": pipeline.open_bytes, "journal_bytes": load.journal_bytes},
        "traces": [
            {
                "trace_id": one.key if isinstance(one.key, str) else None,
                "spans": one.spans,
                "bytes": one.bytes,
                "age_ms": one.age_ns // MS,
                "idle_ms": one.idle_ns // MS,
                "waits_for": one.waits_for,
                "left_ms": one.left_ns // MS,
            }
            for one in pipeline.opened(LISTED)
        ],
    }
