"""Metrics and logs, passed on untouched to the collector that ``--pass-through`` names."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

import urllib3

from otel_gate.errors import SettingsError
from otel_gate.gateway import answers
from otel_gate.gateway.answers import Answer
from otel_gate.gateway.budget import Budget

if TYPE_CHECKING:
    from collections.abc import Mapping

THREADS, TIMEOUT_S, RETRY_S = 8, 10.0, 5.0
MOST_BYTES = 4 << 20  # of an answer, as OTLP has it
THERE = ("content-type", "content-encoding", "user-agent")  # headers that go there; credentials are for this gate
BACK = ("content-type", "content-encoding", "retry-after")


class Passed(NamedTuple):
    """What the collector answered."""

    status: int
    headers: dict[str, str]
    body: bytes


class Passing:
    """Sends requests on, by HTTP."""

    def __init__(self, url: str, most_bytes: int = 64 << 20) -> None:
        """Send to the paths below this URL; ``budget`` has room for ``most_bytes`` of requests that wait.

        Raises:
            SettingsError: it is no URL of HTTP.
        """
        parsed = urllib3.util.parse_url(url)
        if parsed.scheme not in {"http", "https"} or not parsed.host:
            raise SettingsError("pass_through", "a URL of OTLP/HTTP", repr(url), "http://localhost:4318")
        self._url, self.budget = url.rstrip("/"), Budget(most_bytes)
        self._pool = urllib3.PoolManager(
            num_pools=1, maxsize=THREADS, timeout=urllib3.Timeout(total=TIMEOUT_S), retries=False
        )
        self._threads = ThreadPoolExecutor(THREADS, "otel-gate-pass")

    async def on(self, path: str, body: bytes, headers: Mapping[str, str]) -> Passed | Answer:
        """Send a request on; an answer of ours says that nobody answered there."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._send, path, body, headers)

    def close(self) -> None:
        """Send nothing more."""
        self._threads.shutdown()
        self._pool.clear()

    def _send(self, path: str, body: bytes, headers: Mapping[str, str]) -> Passed | Answer:
        there = {name: headers[name] for name in THERE if name in headers}
        try:
            response = self._pool.request(
                "POST", self._url + path, body=body, headers=there, redirect=False, preload_content=False,
                decode_content=False,
            )  # fmt: skip
            content = response.read(MOST_BYTES)
            response.release_conn()
        except (urllib3.exceptions.HTTPError, OSError) as error:
            said = f"the collector of --pass-through does not answer: {type(error).__name__}"
            return Answer(answers.BAD_GATEWAY, said, retry_s=RETRY_S)
        return Passed(
            response.status, {name: response.headers[name] for name in BACK if name in response.headers}, content
        )
