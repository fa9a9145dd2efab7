"""What a running gateway says of itself, for ``otel-gate status --watch``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from otel_gate.errors import InputError
from otel_gate.report.escape import printable, shortened
from otel_gate.report.quantities import counted, duration, size
from otel_gate.store.owner import is_gone

if TYPE_CHECKING:
    from collections.abc import Iterator

ABOUT = "gateway.json"
TIMEOUT_S, SHOWN = 2.0, 20
MS = 1_000_000


class Live(NamedTuple):
    """The gateway of a store: where it listens, and what it answered; or what stood against that."""

    url: str = ""
    status: dict[str, Any] | None = None
    problem: str = ""


def look(root: Path, token_file: str | None) -> Live:
    """Ask the gateway that has a store.

    Raises:
        InputError: the file with the token can't be read.
    """
    url = _url(root)
    if not url:
        return Live(problem="no gateway runs with this store: otel-gate serve")
    import urllib3  # noqa: PLC0415 - nobody else here needs it

    headers = {"authorization": f"Bearer {_token(token_file)}"} if token_file else {}
    try:
        answer = urllib3.request(
            "GET", f"{url}/status", headers=headers, timeout=TIMEOUT_S, retries=False, redirect=False
        )
        status = msgspec.json.decode(answer.data) if answer.status == 200 else None  # noqa: PLR2004
    except (urllib3.exceptions.HTTPError, msgspec.MsgspecError) as error:
        return Live(url, problem=f"{url} does not answer: {type(error).__name__}")
    if not isinstance(status, dict):
        return Live(url, problem=f"{url} answered {answer.status}; with a token: --token-file FILE")
    return Live(url, status)


def lines(live: Live) -> Iterator[str]:
    """Say it in words."""
    now = live.status
    if now is None:
        yield f"gateway     {printable(live.problem)}"
        return
    held = now["open"]
    state = "ready" if now["ready"] else now["waits_for"]
    yield f"gateway     {live.url}: {printable(state)}"
    yield (
        f"open        {counted(held['traces'], 'trace')}, {size(held['bytes'])} of spans, "
        f"a journal of {size(held['journal_bytes'])}"
    )
    for trace in now["traces"][:SHOWN]:
        name = shortened(trace["trace_id"] or "without an id", 40)
        yield (
            f"  {name:32}  {counted(trace['spans'], 'span')}, open for {duration(trace['age_ms'] * MS)}, "
            f"waits for {trace['waits_for']} for {duration(trace['left_ms'] * MS)} more"
        )
    if held["traces"] > SHOWN:
        yield f"  … and {held['traces'] - SHOWN} more"


def _url(root: Path) -> str:
    try:
        about = msgspec.json.decode((root / ABOUT).read_bytes())
        url, owner = about["urls"]["http"], about["owner"]
    except (OSError, msgspec.MsgspecError, KeyError, TypeError):
        return ""
    return "" if is_gone(str(owner)) else str(url)


def _token(path: str) -> str:
    try:
        content = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        raise InputError(which=f"--token-file {path}", expected="a token a line", got=str(error)) from error
    return next((line.strip() for line in content.splitlines() if line.strip() and not line.startswith("#")), "")
