"""The rows for OTLP/HTTP."""

from __future__ import annotations

import datetime as dt
import email.utils
import re
import ssl
import time
from typing import TYPE_CHECKING

from tests.forward.hostile import (
    NEVER,
    OF_THREE,
    SECRET,
    SHORT,
    SOON,
    TRUSTED,
    Row,
    answering,
    encrypted,
    misbehaving,
    nobody,
    partial,
    wrong_scheme,
)
from tests.forward.servers import PROTOBUF, Answer, free_port, http

if TYPE_CHECKING:
    from tests.forward.hostile import Serve
    from tests.forward.story import Certificates

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\n"
HTML = {"Content-Type": "text/html"}
LOGIN = {"Location": "http://login.invalid/in?token=1"}
REDIRECT = "configuration error, redirect to http://login.invalid/in: set the endpoint to where the collector is"
PARTIAL = "HTTP 200 2 spans rejected: too old"


def says(code: int, body: bytes = b"", **headers: str) -> Serve:
    """Answer with a status, headers (``Retry_After``) and a body."""
    return answering(http, Answer(code, {name.replace("_", "-"): text for name, text in headers.items()}, body))


def in_90_s() -> Answer:
    """Ask to wait until a date that is 90 seconds away."""
    then = dt.datetime.fromtimestamp(time.time() + 90, tz=dt.UTC)
    return Answer(429, {"Retry-After": email.utils.format_datetime(then, usegmt=True)}, b"busy")


def server_side(certificates: Certificates) -> ssl.SSLContext:
    """Return a server's side of TLS."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificates.certificate, certificates.key)
    return context


def asking_for_certificates(certificates: Certificates) -> ssl.SSLContext:
    """Return the side of a server that asks the client for a certificate."""
    context = server_side(certificates)
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(certificates.authority)
    return context


def refused(code: int) -> Row:
    return Row(f"{code}", says(code, b"no"), "rejected", NEVER, f"HTTP {code} no")


def busy(code: int, name: str, again: tuple[float, float], **headers: str) -> Row:
    return Row(f"{code} {name}".strip(), says(code, b"busy", **headers), "pending", again, f"HTTP {code} busy")


def no_answer(name: str, does: Serve, said: str, variables: dict[str, str] | None = None) -> Row:
    return Row(name, does, "pending", SOON, re.compile(said), variables or {})


HTTP_ROWS = (
    Row("200 partial", answering(http, Answer(body=partial(2, "too old"))), "partial", NEVER, f"{PARTIAL} {OF_THREE}"),
    Row("200 partial, none rejected", answering(http, Answer(body=partial(0, "slow down"))), "accepted", NEVER,
        "HTTP 200 slow down"),
    Row("200 empty", answering(http, Answer(200, {})), "accepted", NEVER, "HTTP 200"),
    Row("200 with HTML", answering(http, Answer(200, HTML, b"<p>log in")), "accepted_unconfirmed", NEVER, "HTTP 200"),
    Row("200 with garbage", answering(http, Answer(200, PROTOBUF, b"\xff\xff")), "accepted_unconfirmed", NEVER,
        "HTTP 200"),
    Row("202", answering(http, Answer(202)), "accepted", NEVER, "HTTP 202"),
    Row("204", answering(http, Answer(204, {})), "accepted", NEVER, "HTTP 204"),
    Row("302", answering(http, Answer(302, LOGIN, b"moved")), "rejected", NEVER, f"HTTP 302 {REDIRECT}"),
    Row("308", answering(http, Answer(308, LOGIN)), "rejected", NEVER, f"HTTP 308 {REDIRECT}"),
    *map(refused, (400, 401, 403, 404, 405)),
    Row("401 that repeats the credentials", says(401, f"who is Bearer {SECRET}, {SECRET}?".encode()), "rejected", NEVER,
        "HTTP 401 who is (hidden), (hidden)?"),
    Row("413", says(413, b"too big"), "too_large", NEVER, "HTTP 413 too big"),
    busy(429, "", SOON),
    busy(429, "Retry-After seconds", (7.0, 7.0), Retry_After="7"),
    Row("429 Retry-After date", answering(http, in_90_s), "pending", (85.0, 90.0), "HTTP 429 busy"),
    busy(429, "Retry-After date in the past", SOON, Retry_After="Wed, 21 Oct 2015 07:28:00 GMT"),
    busy(429, "Retry-After negative", SOON, Retry_After="-5"),
    busy(429, "Retry-After huge", (3600.0, 3600.0), Retry_After="9" * 40),
    busy(429, "Retry-After garbage", SOON, Retry_After="soon \u00fc"),
    *map(refused, (500, 501)),
    busy(502, "", SOON),
    busy(503, "", SOON),
    busy(503, "Retry-After seconds", (120.0, 120.0), Retry_After="120"),
    busy(504, "", SOON),
    Row("reset in the body", misbehaving(HEAD + b"Content-Length: 9\r\n\r\nhalf", then="reset"),
        "accepted_unconfirmed", NEVER, "HTTP 200"),
    Row("reset in the body of a 400", misbehaving(b"HTTP/1.1 400 No\r\nContent-Length: 9\r\n\r\nhalf", then="reset"),
        "rejected", NEVER, "HTTP 400", neighbours="rejected"),
    Row("reset in the body of a 503", misbehaving(b"HTTP/1.1 503 No\r\nContent-Length: 9\r\n\r\nhalf", then="reset"),
        "pending", SOON, "HTTP 503"),
    no_answer("reset in the status", misbehaving(b"HTTP/1.1 2", then="reset"), "ProtocolError .+"),
    no_answer("reset before an answer", misbehaving(then="reset"), "(Protocol|NewConnection)Error .+"),
    no_answer("slow drip in the head", misbehaving(*[b"H"] * 80, pause_s=0.05), "ProtocolError .+", SHORT),
    Row("slow drip in the body", misbehaving(HEAD + b"Content-Length: 99\r\n\r\n", *[b"\0"] * 80, pause_s=0.05),
        "accepted_unconfirmed", NEVER, "HTTP 200", SHORT),
    no_answer("accept and hang", misbehaving(), "ReadTimeoutError .+", SHORT),
    no_answer("no HTTP at all", misbehaving(b"SSH-2.0-Server\r\n"), "ProtocolError .+"),
    no_answer("TLS failure: an unknown authority", encrypted(http, server_side), "SSLError .*CERTIFICATE_VERIFY.*"),
    no_answer("TLS failure: no client certificate", encrypted(http, asking_for_certificates), "(SSL|Protocol)Error .+",
        TRUSTED),
    no_answer("slow drip in the head over TLS", misbehaving(*[b"H"] * 80, pause_s=0.05, tls=server_side),
        "(Protocol|SSL)Error .+", {**TRUSTED, **SHORT}),
    no_answer("TLS failure: a server without TLS", wrong_scheme(http, server_side, encrypted=False), "SSLError .+"),
    no_answer("TLS failure: a client without TLS", wrong_scheme(http, server_side, encrypted=True), "ProtocolError .+"),
    no_answer("refused connection", nobody(lambda: f"http://127.0.0.1:{free_port()}"), "NewConnectionError .+"),
    no_answer("unknown host", nobody(lambda: "http://nowhere.invalid:4318"), "NameResolutionError .+"),
)  # fmt: skip
