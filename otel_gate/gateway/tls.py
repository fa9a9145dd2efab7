"""Certificates of a gateway, for both doors; new ones count from the next handshake on, without a restart.

Several files change one after the other: what a look finds new is taken when the next one finds it again.
"""

from __future__ import annotations

import contextlib
import ssl
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import grpc

from otel_gate.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_gate.gateway.options import Options


class Pem(NamedTuple):
    """The content of the files, by the option that names each."""

    tls_certificate: bytes
    tls_key: bytes
    client_ca: bytes


class Certificates:
    """What the certificate files of the options hold."""

    def __init__(self, options: Options) -> None:
        """Read them.

        Raises:
            SettingsError: one is missing, can't be read, or they don't go together.
        """
        if not (options.tls_certificate and options.tls_key):
            got = "only one of them" if options.tls_certificate or options.tls_key else "neither"
            try_ = "--tls-certificate FILE --tls-key FILE"
            raise SettingsError(which="tls_certificate and tls_key", expected="both", got=got, try_=try_)
        self._options = options
        self._pem = self._seen = self._read()
        self._context = self._made()
        self.context = self._made()  # of the listener; each handshake goes on in the newest one
        self.context.sni_callback = self._newest

    def reload(self) -> str:
        """Read the files again, and return which have changed; new ones count when a second look finds the same.

        Raises:
            SettingsError: they can't be read, or don't go together; those from before stay in force.
        """
        before, self._seen = self._seen, self._read()
        if self._seen == self._pem or self._seen != before:
            return ""
        self._context = self._made()
        changed = [name for name, old, new in zip(Pem._fields, self._pem, self._seen, strict=True) if old != new]
        self._pem = self._seen
        return ", ".join(changed)

    def credentials(self) -> grpc.ServerCredentials:
        """Return what a gRPC server needs."""
        return grpc.dynamic_ssl_server_credentials(
            self._configuration(), self._configuration, require_client_authentication=bool(self._pem.client_ca)
        )

    def _configuration(self) -> Any:
        pem = self._pem
        return grpc.ssl_server_certificate_configuration([(pem.tls_key, pem.tls_certificate)], pem.client_ca or None)

    def _newest(self, connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        connection.context = self._context

    def _read(self) -> Pem:
        options = self._options
        return Pem(*(_content(name, getattr(options, name)) for name in Pem._fields))

    def _made(self) -> ssl.SSLContext:
        options = self._options
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        pair = f"tls_certificate {options.tls_certificate} and tls_key {options.tls_key}"
        with _usable(pair, "a certificate and its key in PEM, without a password", "the files of one pair"):
            context.load_cert_chain(options.tls_certificate, options.tls_key, _no_password)
        if options.client_ca:
            context.verify_mode = ssl.CERT_REQUIRED
            expected, try_ = "certificates of authorities in PEM", "the one that signs for the agents"
            with _usable(f"client_ca {options.client_ca}", expected, try_):
                context.load_verify_locations(options.client_ca)
        return context


def certificates(options: Options) -> Certificates | None:
    """Return the certificates of the options; None when no TLS is asked for.

    Raises:
        SettingsError: they are not whole, or can't be used.
    """
    asked = options.tls_certificate or options.tls_key or options.client_ca
    return Certificates(options) if asked else None


@contextlib.contextmanager
def _usable(which: str, expected: str, try_: str) -> Iterator[None]:
    try:
        yield
    except (ssl.SSLError, OSError, ValueError) as error:
        raise SettingsError(which, expected, str(error), try_) from error


def _no_password() -> str:
    """Answer for OpenSSL, which would ask on the terminal."""
    return ""


def _content(name: str, path: str) -> bytes:
    with _usable(f"{name} {path}", "a file in PEM", "the path of one"):
        return Path(path).read_bytes() if path else b""
