"""Who may come in: tokens, certificates, hosts and origins, and where a gateway may listen."""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc
import pytest

from otel_gate.errors import SettingsError
from otel_gate.gateway.options import Options
from otel_gate.gateway.reloading import Reloading
from otel_gate.gateway.security import Names, Tokens, check_bind
from otel_gate.gateway.tls import Certificates
from tests.gateway.certificates import Authority
from tests.gateway.running import PROTOBUF, TRACE, TRACES, document, packed, running

if TYPE_CHECKING:
    from tests.gateway.running import Running


HEAD = b"POST /v1/traces HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 999\r\n\r\n"
ANY = "0.0.0.0"  # noqa: S104 - it is refused


@pytest.fixture
def tokens(tmp_path: Path) -> Path:
    path = tmp_path / "tokens"
    path.write_text("# of the agents\nfirst\n\n  second  \n", encoding="ascii")
    return path


@pytest.mark.parametrize(
    ("given", "allowed"),
    [
        ("Bearer first", True), ("bearer second", True), ("Bearer  first ", True), ("Bearer third", False), ("", False),
        ("first", False), ("Basic first", False), ("Bearer ", False), ("Bearer # of the agents", False),
        ("Bearer fir", False), ("Bearer \u00fc\udcff", False),
    ],
)  # fmt: skip
def test_each_token_of_the_file_is_one(tokens: Path, given: str, allowed: bool) -> None:  # noqa: FBT001
    """Several tokens count at once; comments and empty lines are none."""
    assert Tokens(str(tokens)).allow(given) == allowed


def test_without_a_file_no_token_is_asked_for() -> None:
    """Then everybody is let in."""
    assert Tokens("").allow("")


@pytest.mark.parametrize("content", ["", "# nothing\n\n"])
def test_a_file_without_a_token_is_a_mistake(tokens: Path, content: str) -> None:
    """It would let nobody in, or everybody."""
    tokens.write_text(content, encoding="ascii")
    with pytest.raises(SettingsError, match="a token a line"):
        Tokens(str(tokens))
    with pytest.raises(SettingsError, match="a file with a token a line"):
        Tokens(str(tokens.with_name("none")))


def test_who_has_no_token_is_not_read_from(tmp_path: Path, tokens: Path) -> None:
    """Both doors ask for a token, /status and /metrics too; /healthz and /readyz do not."""
    body = packed(document(1))
    with running(tmp_path / "store", token_file=str(tokens)) as gate:
        refused = gate.post(body)
        assert (refused.status, refused.rpc.code, refused.headers["www-authenticate"]) == (401, 16, "Bearer")
        assert gate.refused(body).code() is grpc.StatusCode.UNAUTHENTICATED
        assert [gate.request("GET", path).status for path in ("/status", "/metrics")] == [401, 401]
        assert [gate.request("GET", path).status for path in ("/healthz", "/readyz")] == [200, 200]
        assert gate.pipeline.status().seen == 0
        assert gate.post(body, authorization="Bearer first").status == 200
        assert gate.export(body, metadata=(("authorization", "Bearer second"),)) == b""


def test_a_token_file_that_changes_counts_without_a_restart(tmp_path: Path, tokens: Path) -> None:
    """A new token lets in, and an old one no more; a file that was broken changes nothing."""
    with running(tmp_path / "store", token_file=str(tokens)) as gate:
        tokens.write_text("# nothing\n", encoding="ascii")
        gate.gateway._reloading.look()
        assert gate.post(b"", authorization="Bearer first").status == 200
        tokens.write_text("third\n", encoding="ascii")
        gate.until(lambda: gate.post(b"", authorization="Bearer third").status == 200, "the new token counts")
        assert gate.post(b"", authorization="Bearer first").status == 401


@pytest.mark.parametrize(
    ("host", "allowed"),
    [
        ("127.0.0.1:4318", True), ("[::1]:4318", True), ("[::1]", True), ("localhost", True), ("LOCALHOST:1", True),
        ("gate.localhost", True), ("10.1.2.3", True), ("gate", True), ("gate.", True), ("evil.example", False),
        ("evil.example:4318", False), ("", False), ("localhost.evil.example", False), ("[evil]", False),
    ],
)  # fmt: skip
def test_a_host_is_an_address_or_a_name_of_ours(host: str, allowed: bool) -> None:  # noqa: FBT001
    """A page that renamed its own host to loopback is refused."""
    assert (Names(Options(allow_hosts=["Gate"])).refuse(host, "") is None) == allowed


def test_with_credentials_the_host_is_of_no_matter() -> None:
    """A page has neither a token nor a client certificate."""
    assert Names(Options(token_file="tokens")).refuse("evil.example", "") is None  # noqa: S106 - a path


def test_a_browser_is_refused_unless_its_origin_is_let_in(tmp_path: Path) -> None:
    """A request with an Origin is 403; one that was let in has the headers that a browser asks for."""
    ours = "https://agents.example"
    with running(tmp_path / "store", allow_origins=[ours]) as gate:
        assert gate.post(b"", origin="https://evil.example").status == 403
        assert gate.post(b"", host="evil.example").status == 403
        assert gate.request("GET", "/healthz", headers={"host": "evil.example"}).status == 403
        answer = gate.post(b"", origin=ours)
        asked = {"origin": ours, "access-control-request-method": "POST", "access-control-request-headers": "x-a"}
        before = gate.request("OPTIONS", TRACES, headers=asked)
    assert (answer.status, answer.headers["access-control-allow-origin"]) == (200, ours)
    assert (before.status, before.headers["access-control-allow-origin"]) == (200, ours)


@pytest.mark.parametrize(
    ("options", "allowed"),
    [
        ({"host": "127.0.0.1"}, True), ({"host": "127.8.8.8"}, True), ({"host": "::1"}, True),
        ({"host": "localhost"}, True), ({"host": ANY}, False), ({"host": "::"}, False),
        ({"host": "10.0.0.1"}, False), ({"host": "gate.example"}, False), ({"host": ""}, False),
        ({"host": ANY, "token_file": "f"}, True), ({"host": ANY, "client_ca": "f"}, True),
        ({"host": ANY, "insecure_bind": True}, True),
    ],
)  # fmt: skip
def test_beyond_loopback_somebody_has_to_be_asked_for(options: dict[str, Any], allowed: bool) -> None:  # noqa: FBT001
    """Without tokens and client certificates a gateway listens on loopback only, unless told so by name."""
    refused = contextlib.nullcontext() if allowed else pytest.raises(SettingsError, match="--insecure-bind")
    with refused:
        check_bind(Options(**options))


def over_tls(gate: Running, trusts: Path, own: tuple[Path, Path] | None = None) -> int:
    context = ssl.create_default_context(cafile=str(trusts))
    if own:
        context.load_cert_chain(*own)
    connection = http.client.HTTPSConnection("127.0.0.1", gate.http, context=context, timeout=10)
    with contextlib.closing(connection):
        connection.request("POST", TRACES, packed(document(1)), {"content-type": PROTOBUF})
        return connection.getresponse().status


def over_grpc_tls(gate: Running, trusts: Path, own: tuple[Path, Path] | None = None) -> bytes:
    certificate, key = (own[0].read_bytes(), own[1].read_bytes()) if own else (None, None)
    credentials = grpc.ssl_channel_credentials(trusts.read_bytes(), key, certificate)
    with grpc.secure_channel(f"127.0.0.1:{gate.grpc}", credentials) as channel:
        call: Any = channel.unary_unary(TRACE)
        answer: bytes = call(packed(document(1)), timeout=5)
        return answer


def test_tls_on_both_doors(tmp_path: Path) -> None:
    """A client that trusts the authority is served; one without TLS is not."""
    authority = Authority(tmp_path / "ca")
    certificate, key = authority.sign("gate")
    with running(tmp_path / "store", tls_certificate=str(certificate), tls_key=str(key)) as gate:
        assert over_tls(gate, authority.ca) == 200
        assert over_grpc_tls(gate, authority.ca) == b""
        assert gate.gateway.urls["http"].startswith("https://")
        with pytest.raises((http.client.HTTPException, ConnectionError)):
            gate.post(b"")


def test_client_certificates_on_both_doors(tmp_path: Path) -> None:
    """Only a client whose certificate the authority has signed is served."""
    authority, other = Authority(tmp_path / "ca"), Authority(tmp_path / "other", "other")
    certificate, key = authority.sign("gate")
    mine, foreign = authority.sign("agent"), other.sign("agent")
    options: dict[str, Any] = {"tls_certificate": str(certificate), "tls_key": str(key), "client_ca": str(authority.ca)}
    with running(tmp_path / "store", **options) as gate:
        assert over_tls(gate, authority.ca, mine) == 200
        assert over_grpc_tls(gate, authority.ca, mine) == b""
        for own in (None, foreign):
            with pytest.raises((ssl.SSLError, http.client.HTTPException, ConnectionError)):
                over_tls(gate, authority.ca, own)
            with pytest.raises(grpc.RpcError):
                over_grpc_tls(gate, authority.ca, own)


def test_certificates_that_change_count_without_a_restart(tmp_path: Path) -> None:
    """New files, an authority for clients among them, count from the next handshake on, for both doors."""
    first, second = Authority(tmp_path / "first"), Authority(tmp_path / "second", "second")
    certificate, key = first.sign("gate")
    old, new = first.sign("agent"), second.sign("agent")
    options: dict[str, Any] = {"tls_certificate": str(certificate), "tls_key": str(key), "client_ca": str(first.ca)}
    with running(tmp_path / "store", **options) as gate:
        assert over_tls(gate, first.ca, old) == 200
        key.write_bytes(b"broken")
        for _ in range(2):
            gate.gateway._reloading.look()
        assert over_tls(gate, first.ca, old) == 200
        theirs = second.sign("gate")
        trusts = tmp_path / "trusts.pem"
        trusts.write_bytes(second.ca.read_bytes())
        first.ca.write_bytes(second.ca.read_bytes())
        certificate.write_bytes(theirs[0].read_bytes())
        key.write_bytes(theirs[1].read_bytes())

        def served() -> bool:
            with contextlib.suppress(ssl.SSLError, ConnectionError, http.client.HTTPException):
                return over_tls(gate, trusts, new) == 200
            return False

        gate.until(served, "the new certificate counts")
        assert over_grpc_tls(gate, trusts, new) == b""
        with pytest.raises((ssl.SSLError, http.client.HTTPException, ConnectionError)):
            over_tls(gate, trusts, old)


def test_a_change_is_told_once_and_by_name(tmp_path: Path, tokens: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Files of one change may come one after the other: nothing is taken, or complained of, in the middle of it."""
    authority, other = Authority(tmp_path / "ca"), Authority(tmp_path / "other", "other")
    (certificate, key), theirs = authority.sign("gate"), other.sign("gate")
    pair = Options(tls_certificate=str(certificate), tls_key=str(key), client_ca=str(authority.ca))
    looking = Reloading(Tokens(str(tokens)), Certificates(pair))
    certificate.write_bytes(theirs[0].read_bytes())
    looking.look()
    key.write_bytes(theirs[1].read_bytes())
    for _ in range(3):
        looking.look()
    assert caplog.messages == ["otel-gate: read again, and in force from now on: tls_certificate, tls_key"]
    caplog.clear()
    tokens.write_text("fourth\n", encoding="ascii")
    authority.ca.write_bytes(other.ca.read_bytes())
    for _ in range(3):
        looking.look()
    assert caplog.messages == [
        f"otel-gate: read again, and in force from now on: {name}" for name in ("token_file", "client_ca")
    ]


def test_a_file_that_is_no_certificate_is_named_with_its_option(tmp_path: Path, tokens: Path) -> None:
    """The authorities are not the certificate, and a file that is not there is one of three."""
    authority = Authority(tmp_path / "ca")
    certificate, key = authority.sign("gate")
    right: dict[str, Any] = {"tls_certificate": str(certificate), "tls_key": str(key), "client_ca": str(authority.ca)}
    locked = tmp_path / "locked.key"
    locking = ["-topk8", "-in", str(key), "-out", str(locked), "-passout", "pass:word"]
    authority._run("pkcs8", *locking)
    pair = "expected a certificate and its key in PEM, without a password, got"
    cases = {
        ("client_ca", tokens): f"client_ca {tokens}: expected certificates of authorities in PEM, got",
        ("tls_key", tokens): f"tls_certificate {certificate} and tls_key {tokens}: {pair}",
        ("tls_key", locked): f"tls_certificate {certificate} and tls_key {locked}: {pair}",
        **{(name, Path("none")): f"{name} none: expected a file in PEM, got" for name in right},
    }
    for (name, path), said in cases.items():
        with pytest.raises(SettingsError) as caught:
            Certificates(Options(**{**right, name: str(path)}))
        assert str(caught.value).startswith(said)


@pytest.mark.parametrize(
    "options",
    [{"tls_certificate": "a"}, {"tls_key": "a"}, {"client_ca": "a"}, {"tls_certificate": "a", "tls_key": "b"}],
)
def test_half_a_pair_of_files_is_a_mistake(tmp_path: Path, options: dict[str, Any]) -> None:
    """A certificate without its key, a key alone, and files that are not there are refused at the start."""
    with pytest.raises(SettingsError, match=r"tls_certificate and tls_key|a file in PEM"), running(tmp_path, **options):
        pytest.fail("it started")


@pytest.mark.parametrize(
    "sent",
    [
        b"", b"POST /v1/tra", b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\nGET /healthz HT",
        HEAD + b"{",
    ],
)  # fmt: skip
def test_what_stops_coming_is_closed(tmp_path: Path, sent: bytes) -> None:
    """A head that is not whole, on a connection that is new or was used, and a body have a deadline."""
    with running(tmp_path / "store", stall_s=0.2) as gate:
        with socket.create_connection(("127.0.0.1", gate.http), timeout=10) as connection:
            connection.sendall(sent)
            began, received = time.monotonic(), b""
            with contextlib.suppress(ConnectionError):
                while more := connection.recv(4096):
                    received += more
        assert time.monotonic() - began < 5
        assert (b"408" in received) == sent.endswith(b"{")
        assert gate.post(b"").status == 200


def test_a_head_that_stops_coming_later_is_closed(tmp_path: Path) -> None:
    """On a connection that would be kept for a minute, the first byte of another head begins its time."""
    with (
        running(tmp_path / "store", stall_s=0.2, keep_alive_s=60) as gate,
        socket.create_connection(("127.0.0.1", gate.http), timeout=10) as connection,
    ):
        connection.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
        received = b""
        while not received.endswith(b"ok\n"):
            received += connection.recv(4096)
        connection.sendall(b"GET /heal")
        with contextlib.suppress(ConnectionError):
            assert connection.recv(4096) == b""


def test_a_body_that_drips_is_closed(tmp_path: Path) -> None:
    """A byte now and then is not enough: 64 KiB are due in every span of patience."""
    with (
        running(tmp_path / "store", stall_s=0.3) as gate,
        socket.create_connection(("127.0.0.1", gate.http), timeout=10) as connection,
    ):
        connection.sendall(HEAD)
        began = time.monotonic()
        connection.settimeout(0.05)
        received = b""
        while not received and time.monotonic() - began < 5:
            connection.sendall(b" ")
            with contextlib.suppress(TimeoutError):
                received = connection.recv(4096)
    assert b" 408 " in received
    assert time.monotonic() - began < 4


def test_a_head_over_the_limit_is_431(tmp_path: Path) -> None:
    """A head that grows without an end is answered and closed."""
    with running(tmp_path / "store", max_header_bytes=4096) as gate:
        assert gate.request("GET", "/healthz", headers={"x-long": "a" * 6000}).status == 431
        with socket.create_connection(("127.0.0.1", gate.http), timeout=10) as connection:
            connection.sendall(b"\x16\x03\x01 no HTTP at all\r\n\r\n")
            assert b" 400 " in connection.recv(4096)


def test_a_call_with_too_much_metadata_is_refused(tmp_path: Path) -> None:
    """The cap on heads holds for gRPC too."""
    with running(tmp_path / "store", max_header_bytes=4096) as gate:
        error = gate.refused(b"", metadata=(("x-long", "a" * 9000),))
        assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert gate.export(b"") == b""


def test_an_idle_connection_is_kept_for_its_time(tmp_path: Path) -> None:
    """After its last answer a connection stays open so long, and no longer."""
    with running(tmp_path / "store", stall_s=0.05, keep_alive_s=0.4) as gate:
        with socket.create_connection(("127.0.0.1", gate.http), timeout=10) as connection:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
            assert b"200 OK" in connection.recv(4096)
            began = time.monotonic()
            assert b"".join(iter(lambda: connection.recv(4096), b"")) in {b"", b"ok\n"}
        assert 0.2 < time.monotonic() - began < 5


def test_the_defaults_are_pinned() -> None:
    """Loopback, OTLP's ports, ten seconds for what stalls, and more than the SDKs' five for what is idle."""
    found = Options()
    assert (found.host, found.grpc_port, found.http_port) == ("127.0.0.1", 4317, 4318)
    assert (found.stall_s, found.keep_alive_s, found.max_request_bytes) == (10.0, 75.0, 64 << 20)
