"""Where to forward, from ``OTEL_EXPORTER_OTLP_*`` and its ``TRACES`` forms (OpenTelemetry protocol exporter specification).

Without an endpoint nothing is forwarded: the SDK's default of localhost is a choice that the user makes here. Headers are
credentials: they are never written to a record, the outbox or a log. ``timeout`` is in seconds, as in the Python SDK;
1000 and more is taken as milliseconds, as the specification has it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote, urlsplit

from otel_gate.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX = "OTEL_EXPORTER_OTLP_"
GRPC, HTTP = "grpc", "http/protobuf"
PATH = "v1/traces"
MILLISECONDS_FROM = 1000
DEFAULT_TIMEOUT_S = 10.0
NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


class Endpoint(NamedTuple):
    """One OTLP server and how to reach it."""

    protocol: str
    url: str
    insecure: bool
    headers: dict[str, str]
    timeout_s: float
    gzip: bool
    certificate: str | None
    client_key: str | None
    client_certificate: str | None
    user_agent: str

    @property
    def target(self) -> str:
        """The address for gRPC: host and port."""
        parts = urlsplit(self.url)
        return parts.netloc.rpartition("@")[2] if parts.netloc else self.url

    @property
    def shown(self) -> str:
        """The address without credentials, for people."""
        parts = urlsplit(self.url)
        host = parts.netloc.rpartition("@")[2]
        return parts._replace(netloc=host, query="", fragment="").geturl()


def from_environment(environ: Mapping[str, str], user_agent: str) -> Endpoint | None:
    """Read the endpoint for traces; None when none is set.

    Raises:
        SettingsError: a variable has a value that it can't have.
    """

    def value(name: str) -> str:
        return (environ.get(f"{PREFIX}TRACES_{name}") or environ.get(PREFIX + name) or "").strip()

    own, base = environ.get(f"{PREFIX}TRACES_ENDPOINT", "").strip(), environ.get(f"{PREFIX}ENDPOINT", "").strip()
    if not own and not base:
        return None
    protocol = value("PROTOCOL") or GRPC
    if protocol not in (GRPC, HTTP):
        raise SettingsError(f"{PREFIX}PROTOCOL", f"{GRPC} or {HTTP}", protocol, HTTP)
    url = own or (f"{base.rstrip('/')}/{PATH}" if protocol == HTTP else base)
    scheme = urlsplit(url).scheme if "://" in url else ""
    if scheme not in ("http", "https", "") or (protocol == HTTP and not scheme):
        raise SettingsError(f"{PREFIX}ENDPOINT", "an address that begins with http:// or https://", url, f"http://{url}")
    compression = value("COMPRESSION").lower()
    if compression not in ("", "none", "gzip"):
        raise SettingsError(f"{PREFIX}COMPRESSION", "gzip or none", compression, "gzip")
    insecure = scheme == "http" or (not scheme and value("INSECURE").lower() == "true")
    return Endpoint(
        protocol, url, insecure, _headers(value("HEADERS")), _timeout(value("TIMEOUT")), compression == "gzip",
        value("CERTIFICATE") or None, value("CLIENT_KEY") or None, value("CLIENT_CERTIFICATE") or None, user_agent,
    )  # fmt: skip


def _headers(text: str) -> dict[str, str]:
    headers = {}
    for item in filter(str.strip, text.split(",")):
        name, equals, value = item.partition("=")
        name = unquote(name).strip().lower()
        if not equals or not NAME.fullmatch(name):
            raise SettingsError(f"{PREFIX}HEADERS", "name=value pairs, separated by commas", "something else")
        headers[name] = unquote(value).strip()
    return headers


def _timeout(text: str) -> float:
    if not text:
        return DEFAULT_TIMEOUT_S
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < float("inf"):
        raise SettingsError(f"{PREFIX}TIMEOUT", "seconds, more than 0", text, "10")
    return seconds / 1000 if seconds >= MILLISECONDS_FROM else seconds
