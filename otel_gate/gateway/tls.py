"""Certificates of a gateway, for both doors; new ones count from the next handshake on, without a restart."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import grpc

from otel_gate.errors import SettingsError

if TYPE_CHECKING:
    from otel_gate.gateway.options import Options


class Pem(NamedTuple):
    """The content of the files."""

    certificate: bytes
    key: bytes
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
        self._pem = self._read()
        self._context = self._made()
        self.context = self._made()  # of the listener; each handshake goes on in the newest one
        self.context.sni_callback = self._newest

    def reload(self) -> bool:
        """Read the files again, and tell whether they have changed.

        Raises:
            SettingsError: they can't be read, or don't go together; those from before stay in force.
        """
        pem = self._read()
        if pem == self._pem:
            return False
        self._context = self._made()
        self._pem = pem
        return True

    def credentials(self) -> grpc.ServerCredentials:
        """Return what a gRPC server needs."""
        return grpc.dynamic_ssl_server_credentials(
            self._configuration(), self._configuration, require_client_authentication=bool(self._pem.client_ca)
        )

    def _configuration(self) -> Any:
        pem = self._pem
        return grpc.ssl_server_certificate_configuration([(pem.key, pem.certificate)], pem.client_ca or None)

    def _newest(self, connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        connection.context = self._context

    def _read(self) -> Pem:
        options = self._options
        return Pem(*map(_content, (options.tls_certificate, options.tls_key, options.client_ca)))

    def _made(self) -> ssl.SSLContext:
        options = self._options
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        try:
            context.load_cert_chain(options.tls_certificate, options.tls_key)
            if options.client_ca:
                context.verify_mode = ssl.CERT_REQUIRED
                context.load_verify_locations(options.client_ca)
        except (ssl.SSLError, OSError) as error:
            expected = "a certificate and its key in PEM"
            raise SettingsError(options.tls_certificate, expected, str(error), "the files of one pair") from error
        return context


def certificates(options: Options) -> Certificates | None:
    """Return the certificates of the options; None when no TLS is asked for.

    Raises:
        SettingsError: they are not whole, or can't be used.
    """
    asked = options.tls_certificate or options.tls_key or options.client_ca
    return Certificates(options) if asked else None


def _content(path: str) -> bytes:
    try:
        return Path(path).read_bytes() if path else b""
    except OSError as error:
        raise SettingsError(path, "a file in PEM", str(error), "the path of one") from error
