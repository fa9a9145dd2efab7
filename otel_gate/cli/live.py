"""What a running gateway says of itself, for ``otel-gate status --watch``.

A gateway with TLS is known by the fingerprint of its certificate, which the store has; ``--certificate`` asks for one
of an authority instead.
"""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from otel_gate.errors import InputError
from otel_gate.report.escape import printable, shortened
from otel_gate.report.quantities import counted, duration, size
from otel_gate.store.owner import is_gone

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Callable, Iterator, Mapping

ABOUT = "gateway.json"
TIMEOUT_S, SHOWN = 2.0, 20
MS = 1_000_000
NOBODY = "no gateway runs with this store: otel-gate serve"
NO_HTTP = "one runs with this store, but has no HTTP port to be asked at (--http-port -1, or it is about to start)"
FILES = {
    "token_file": "where a token of the gateway is",
    "certificate": "PEM of an authority; without it just the certificate that the store names is trusted",
    "client_certificate": "PEM for a gateway with --client-ca",
    "client_key": "PEM of its key",
}
ASKS = "it asks for a certificate of ours: --client-certificate FILE --client-key FILE"
TROUBLES = {
    "CERTIFICATE_REQUIRED": ASKS,
    "HANDSHAKE_FAILURE": ASKS,
    "UNKNOWN_CA": "it does not know who has signed the one of --client-certificate",
    "CERTIFICATE_VERIFY_FAILED": "its certificate is of another authority: --certificate FILE",
    "Fingerprints did not match": "it presents another certificate than the gateway of this store: --certificate FILE",
    "Connection aborted": "it ended the connection; with --client-ca it takes those that it knows only: "
    "--client-certificate FILE --client-key FILE",
}


class Live(NamedTuple):
    """The gateway of a store: where it listens, and what it answered; or what stood against that."""

    url: str = ""
    status: dict[str, Any] | None = None
    problem: str = ""


def add(parser: ArgumentParser) -> None:
    """Declare the options that say how a gateway is asked."""
    for name, text in FILES.items():
        parser.add_argument(f"--{name.replace('_', '-')}", metavar="FILE", help=f"with --watch: {text}")


def look(
    root: Path, token_file: str | None, certificate: str | None = None, client_certificate: str | None = None,
    client_key: str | None = None,
) -> Live:  # fmt: skip
    """Ask the gateway that has a store.

    Raises:
        InputError: a file can't be read, or is not what it should be.
    """
    about = _about(root)
    url = str(about["urls"].get("http", "")) if about else ""
    if about is None or not url:
        return Live(problem=NOBODY if about is None else NO_HTTP)
    import urllib3  # noqa: PLC0415 - nobody else here needs it

    headers = {"authorization": f"Bearer {_token(token_file)}"} if token_file else {}
    trusts = _trusts(url, str(about.get("certificate", "")), certificate, client_certificate, client_key)
    try:
        with urllib3.PoolManager(**trusts) as pool:
            answer = pool.request(
                "GET", f"{url}/status", headers=headers, timeout=TIMEOUT_S, retries=False, redirect=False
            )
        status = msgspec.json.decode(answer.data) if answer.status == 200 else None  # noqa: PLR2004
    except (urllib3.exceptions.HTTPError, msgspec.MsgspecError) as error:
        return Live(url, problem=f"{url} does not answer: {_trouble(url, error)}")
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


def _about(root: Path) -> dict[str, Any] | None:
    """Return what the gateway of a store has written down; None when none runs."""
    try:
        about: dict[str, Any] = msgspec.json.decode((root / ABOUT).read_bytes())
        is_one = isinstance(about["urls"], dict) and not is_gone(str(about["owner"]))
    except (OSError, msgspec.MsgspecError, KeyError, TypeError):
        return None
    return about if is_one else None


def _trusts(
    url: str, fingerprint: str, certificate: str | None, client_certificate: str | None, client_key: str | None
) -> Mapping[str, Any]:
    """Return whom a connection trusts, and by what it is trusted.

    Raises:
        InputError: a file can't be read, or is not what it should be.
    """
    if not url.startswith("https:"):
        return {}
    context = ssl.create_default_context()
    if certificate:
        _loaded("certificate", certificate, lambda: context.load_verify_locations(certificate))
    if client_certificate:
        load = lambda: context.load_cert_chain(client_certificate, client_key)  # noqa: E731 - it is one call
        _loaded("client-certificate", client_certificate, load)
    if certificate or not fingerprint:
        return {"ssl_context": context}
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # the fingerprint says more than a name
    return {"ssl_context": context, "assert_fingerprint": fingerprint}


def _loaded(option: str, path: str, load: Callable[[], object]) -> None:
    try:
        load()
    except OSError as error:  # ssl's own are such
        raise InputError(which=f"--{option} {path}", expected="a file in PEM", got=str(error)) from error


def _trouble(url: str, error: Exception) -> str:
    """Say what stood against an answer; over TLS with what to try."""
    said = str(error) if url.startswith("https:") else ""
    return next((words for sign, words in TROUBLES.items() if sign in said), type(error).__name__)


def _token(path: str) -> str:
    try:
        content = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        raise InputError(which=f"--token-file {path}", expected="a token a line", got=str(error)) from error
    return next((line.strip() for line in content.splitlines() if line.strip() and not line.startswith("#")), "")
