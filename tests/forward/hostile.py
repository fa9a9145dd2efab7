"""What hostile collectors do, as rows of data, and what is to come of it.

The scene of every row: a store owes traces 1, 2 and 3. A collector that answers treats every request with trace 2 in it
as the row says, and accepts the others; a socket that misbehaves does so to all.
"""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceResponse,
)

from tests.forward import servers
from tests.forward.story import ids

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from tests.forward.servers import Answer, Collector, Request
    from tests.forward.story import Certificates

    Place = tuple[str, Collector | None]
    Serve = Callable[[Certificates], AbstractContextManager[Place]]

BAD = 2
SECRET = "hunter2-and-more"  # noqa: S105 - that is the test
HEADERS = f"authorization=Bearer%20{SECRET}"
SOON = (0.5, 1.0)  # the first pause, with jitter
NEVER = None
SHORT = {"TIMEOUT": "0.3"}
TRUSTED = {"CERTIFICATE": "{authority}"}
OF_THREE = "(of a batch of 3 traces)"


class Row(NamedTuple):
    """What a collector does, and what is to come of trace 2.

    ``again`` is between how many seconds later it is sent again on its own, None for never; ``says`` is what
    ``otel-gate deliveries`` prints as last answer, a text or a pattern. ``variables`` are ``OTEL_EXPORTER_OTLP_*`` of
    the client, with ``{authority}`` for the file of the server's. ``neighbours`` is the state of the other traces, when
    it is not what follows from ``state``; ``text`` makes trace 2 so many characters longer.
    """

    name: str
    does: Serve
    state: str
    again: tuple[float, float] | None
    says: str | re.Pattern[str]
    variables: dict[str, str] = {}  # noqa: RUF012 - nobody changes it
    neighbours: str = ""
    text: int = 0

    @property
    def others(self) -> str:
        """The state of the neighbours: they share an answer to all three, and not a refusal."""
        return self.neighbours or ("accepted" if self.state in ("rejected", "too_large") else self.state)

    def is_said(self, text: str) -> bool:
        """Tell whether a text is what is to be said."""
        return bool(self.says.fullmatch(text)) if isinstance(self.says, re.Pattern) else text == self.says


def partial(rejected: int, message: str) -> bytes:
    """Return the body of a partial success, or of a warning when nothing was rejected."""
    said = ExportTracePartialSuccess(rejected_spans=rejected, error_message=message)
    return ExportTraceServiceResponse(partial_success=said).SerializeToString()


def answering(serve: Any, answer: Answer | Callable[[], Answer], **options: Any) -> Serve:
    """Run a collector that answers so to a request with trace 2 in it, and accepts the others."""

    def to(request: Request) -> Answer:
        if ids(BAD)[0] not in request.ids:
            return servers.accept(request)
        return answer() if callable(answer) else answer

    @contextlib.contextmanager
    def run(_: Certificates) -> Iterator[Place]:
        with serve(to, **options) as collector:
            yield collector.url, collector

    return run


def misbehaving(*parts: bytes, then: str = "hang", pause_s: float = 0.0, tls: Any = None) -> Serve:
    """Run a socket that writes these parts, whatever it is sent, and then hangs or resets."""

    @contextlib.contextmanager
    def run(certificates: Certificates) -> Iterator[Place]:
        with servers.raw(parts, then=then, pause_s=pause_s, tls=tls(certificates) if tls else None) as url:
            yield url, None

    return run


def nobody(url: Callable[[], str]) -> Serve:
    """Run nothing; give an address."""
    return lambda _: contextlib.nullcontext((url(), None))


def wrong_scheme(serve: Any, tls: Callable[[Certificates], Any], *, encrypted: bool) -> Serve:
    """Run a collector, encrypted or not, and give its address as if it were the other."""

    @contextlib.contextmanager
    def run(certificates: Certificates) -> Iterator[Place]:
        with serve(tls=tls(certificates) if encrypted else None) as collector:
            yield ("http" if encrypted else "https") + f"://{collector.address}", collector

    return run


def encrypted(serve: Any, tls: Callable[[Certificates], Any]) -> Serve:
    """Run an encrypted collector."""

    @contextlib.contextmanager
    def run(certificates: Certificates) -> Iterator[Place]:
        with serve(tls=tls(certificates)) as collector:
            yield collector.url, collector

    return run
