"""Who may come in: bearer tokens, and what a browser could be made to send.

A web page may post to any address, a loopback one too, and may rename its own host to that address. So a request that
names its origin is refused, and so is one for a host that is neither an address nor a name of ours; with tokens or
client certificates, which a page does not have, the name is of no matter.
"""

from __future__ import annotations

import hmac
import ipaddress
from pathlib import Path
from typing import TYPE_CHECKING

from otel_gate.errors import SettingsError
from otel_gate.gateway import answers
from otel_gate.gateway.answers import Answer

if TYPE_CHECKING:
    from otel_gate.gateway.options import Options

SCHEME = "bearer "
NO_TOKEN = Answer(answers.UNAUTHENTICATED, "expected authorization: Bearer TOKEN with a token of the gateway's")
LOCAL_NAMES = frozenset({"localhost", "localhost.localdomain"})


class Tokens:
    """Bearer tokens of a file, one a line; empty lines and those that begin with # are none."""

    def __init__(self, path: str) -> None:
        """Read the file; an empty path means that no token is asked for.

        Raises:
            SettingsError: it can't be read, or has no token.
        """
        self._path = path
        self._tokens: tuple[bytes, ...] = ()
        self._content: bytes | None = None
        if path:
            self.reload()

    def __bool__(self) -> bool:
        """Tell whether a token is asked for."""
        return bool(self._path)

    def reload(self) -> str:
        """Read the file again, and return what has changed, in words.

        Raises:
            SettingsError: it can't be read, or has no token; those from before stay in force.
        """
        try:
            content = Path(self._path).read_bytes()
        except OSError as error:
            raise SettingsError("token_file", "a file with a token a line", str(error), "to make it") from error
        if content == self._content:
            return ""
        lines = [line.strip() for line in content.splitlines()]
        tokens = tuple(line for line in lines if line and not line.startswith(b"#"))
        if not tokens:
            raise SettingsError("token_file", f"a token a line in {self._path}", "none", "openssl rand -hex 32")
        self._content, self._tokens = content, tokens
        return "token_file"

    def allow(self, authorization: str) -> bool:
        """Tell whether a header has one of the tokens; the time that takes says nothing about them."""
        if not self._path:
            return True
        scheme, given = authorization[: len(SCHEME)].lower(), authorization[len(SCHEME) :].strip()
        given_bytes = given.encode("utf-8", "surrogateescape")
        found = [hmac.compare_digest(given_bytes, token) for token in self._tokens]
        return scheme == SCHEME and any(found)


class Names:
    """Hosts that a request may be for, and origins that it may have."""

    def __init__(self, options: Options) -> None:
        """Take them from the options."""
        self._hosts = LOCAL_NAMES | {options.host.lower()} | {host.lower() for host in options.allow_hosts}
        self._origins = frozenset(options.allow_origins)
        self._any_host = bool(options.token_file or options.client_ca)

    def refuse(self, host: str, origin: str) -> Answer | None:
        """Return the answer to a request that a browser could have been made to send."""
        if origin and origin not in self._origins:
            return Answer(answers.FORBIDDEN, "expected no browser's request; --allow-origin lets one in")
        name = _name(host)
        if self._any_host or name in self._hosts or name.endswith(".localhost") or _is_address(name):
            return None
        return Answer(answers.FORBIDDEN, "expected a Host that is a name of the gateway's; --allow-host adds one")


def _name(host: str) -> str:
    """Return a Host header without its port."""
    bare = host.rpartition("]")[0].removeprefix("[") if host.startswith("[") else host.partition(":")[0]
    return bare.lower().rstrip(".")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def check_bind(options: Options) -> None:
    """Refuse to listen beyond loopback for everybody.

    Raises:
        SettingsError: neither tokens nor client certificates are asked for, and nobody has said that this is meant.
    """
    if options.insecure_bind or options.token_file or options.client_ca or _is_loopback(options.host):
        return
    expected, try_ = "tokens or client certificates beyond loopback", "--token-file, --client-ca, or --insecure-bind"
    raise SettingsError(which=f"host {options.host}", expected=expected, got="neither", try_=try_)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() in LOCAL_NAMES
