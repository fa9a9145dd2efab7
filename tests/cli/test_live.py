"""What the watcher of a store finds of its gateway: with TLS, with certificates of its own, without an HTTP port."""

from __future__ import annotations

import argparse
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from otel_gate.cli import live
from otel_gate.errors import InputError
from otel_gate.gateway.claim import holder
from otel_gate.gateway.presented import fingerprint
from otel_gate.store.files import Files
from tests.gateway.certificates import Authority
from tests.gateway.running import running

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "ca")


def tls(authority: Authority, name: str = "gate") -> dict[str, Any]:
    certificate, key = authority.sign(name)
    return {"tls_certificate": str(certificate), "tls_key": str(key)}


def test_the_certificate_that_the_store_names_is_trusted(tmp_path: Path, authority: Authority) -> None:
    """A private authority needs no option: the store says what the gateway presents."""
    with running(tmp_path / "store", **tls(authority)) as gate:
        found = live.look(tmp_path / "store", None)
        assert found.status is not None
        assert (found.url, found.status["ready"]) == (gate.gateway.urls["http"], True)


def test_a_certificate_that_has_changed_is_trusted_and_a_broken_one_changes_nothing(
    tmp_path: Path, authority: Authority
) -> None:
    """What the store names is what is in force."""
    options = tls(authority)
    with running(tmp_path / "store", **options) as gate:
        before = holder(tmp_path / "store", Files()).certificate
        with open(options["tls_certificate"], "ab") as broken:  # noqa: PTH123 - it is a text here
            broken.truncate(9)
        gate.gateway._reloading.look()
        assert live.look(tmp_path / "store", None).status
        new = tls(Authority(tmp_path / "other"), "other")
        for name, path in options.items():
            shutil.copy(new[name], path)
        for _ in range(2):  # the same at two looks in a row
            gate.gateway._reloading.look()
        assert live.look(tmp_path / "store", None).status
        assert before != holder(tmp_path / "store", Files()).certificate == fingerprint(new["tls_certificate"]) != ""


def test_no_other_certificate_is_trusted_and_nothing_is_said_to_it(tmp_path: Path, authority: Authority) -> None:
    """Who listens there now may be somebody else, and has no use for a token."""
    tokens = tmp_path / "tokens"
    tokens.write_text("secret\n", encoding="ascii")
    with running(tmp_path / "store", **tls(authority), token_file=str(tokens)) as gate:
        gate.gateway._claim.tell(gate.gateway.urls, "ab" * 32)
        found = live.look(tmp_path / "store", str(tokens))
        assert (found.status, "another certificate than the gateway" in found.problem) == (None, True)
        assert not gate.gateway._http._requests.by


def test_an_authority_may_be_named(tmp_path: Path, authority: Authority) -> None:
    """Then a certificate counts when that one has signed it, and the store is not asked."""
    other = Authority(tmp_path / "other", "other")
    with running(tmp_path / "store", **tls(authority)) as gate:
        gate.gateway._claim.tell(gate.gateway.urls, "ab" * 32)
        assert live.look(tmp_path / "store", None, certificate=str(authority.ca)).status
        found = live.look(tmp_path / "store", None, certificate=str(other.ca))
        assert (found.status, "of another authority: --certificate" in found.problem) == (None, True)
        gate.gateway._claim.tell(gate.gateway.urls)  # as one that knows of no fingerprint
        assert "of another authority: --certificate" in live.look(tmp_path / "store", None).problem


def test_a_certificate_of_its_own_is_shown_to_who_asks(tmp_path: Path, authority: Authority) -> None:
    """Without one the options are named, and with one of somebody else that is said."""
    mine, key = map(str, authority.sign("watcher"))
    foreign, foreign_key = map(str, Authority(tmp_path / "other", "other").sign("watcher"))
    with running(tmp_path / "store", **tls(authority), client_ca=str(authority.ca)):
        look = live.look
        assert look(tmp_path / "store", None, client_certificate=mine, client_key=key).status
        assert "--client-certificate FILE --client-key FILE" in look(tmp_path / "store", None).problem
        found = look(tmp_path / "store", None, client_certificate=foreign, client_key=foreign_key)
        assert "--client-certificate" in found.problem


@pytest.mark.parametrize("option", ["certificate", "client_certificate"])
@pytest.mark.parametrize("content", [None, "no PEM"])
def test_a_file_that_is_none_is_named(tmp_path: Path, authority: Authority, option: str, content: str | None) -> None:
    """The mistake is in an option, and says in which."""
    path = tmp_path / "file.pem"
    if content:
        path.write_text(content, encoding="ascii")
    given: dict[str, Any] = {option: str(path)}
    with running(tmp_path / "store", **tls(authority)), pytest.raises(InputError, match=option.replace("_", "-")):
        live.look(tmp_path / "store", None, **given)


def test_a_gateway_without_an_http_port_is_one(tmp_path: Path) -> None:
    """It can't be asked, and that is what is said; with nobody there, that nobody is."""
    with running(tmp_path / "store", http_port=-1):
        assert live.look(tmp_path / "store", None).problem == live.NO_HTTP
    assert live.look(tmp_path / "store", None).problem == live.NOBODY


@pytest.mark.parametrize("about", ["", "{}", "[]", '{"urls": 1, "owner": "a"}', '{"urls": {"http": "x"}}'])
def test_what_is_no_claim_is_nobody(tmp_path: Path, about: str) -> None:
    """Whatever lies there in the place of one."""
    (tmp_path / live.ABOUT).write_text(about, encoding="ascii")
    assert live.look(tmp_path, None).problem == live.NOBODY


def test_the_options_are_those_of_a_look() -> None:
    """Each is a FILE, and none has to be given."""
    parser = argparse.ArgumentParser()
    live.add(parser)
    argv = ["--token-file", "t", "--certificate", "c", "--client-certificate", "d", "--client-key", "k"]
    assert list(vars(parser.parse_args(argv)).values()) == ["t", "c", "d", "k"]
    assert set(vars(parser.parse_args([])).values()) == {None}
    assert tuple(vars(parser.parse_args([]))) == tuple(live.FILES)


@pytest.mark.parametrize("content", [None, b"", b"\xff", b"-----BEGIN CERTIFICATE-----\n?\n-----END CERTIFICATE-----"])
def test_what_is_no_certificate_has_no_fingerprint(tmp_path: Path, content: bytes | None) -> None:
    """The watcher asks its own authorities then."""
    path = tmp_path / "gate.pem"
    if content is not None:
        path.write_bytes(content)
    assert fingerprint(str(path)) == fingerprint("") == ""
