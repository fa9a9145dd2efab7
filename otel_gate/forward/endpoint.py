"""Where to forward, from ``OTEL_EXPORTER_OTLP_*`` and its ``TRACES`` forms (OpenTelemetry's exporter specification).

Without an endpoint nothing is forwarded: the SDK's default of localhost is a choice that the user makes here. Headers
are credentials: they are never written to a record, the outbox or a log. ``timeout`` is in seconds, as in the Python
SDK; 1000 and more is taken as milliseconds, as the specification has it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

from otel_gate.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX, TRACES_PREFIX = "OTEL_EXPORTER_OTLP_", "OTEL_EXPORTER_OTLP_TRACES_"
GRPC, HTTP = "grpc", "http/protobuf"
PATH = "v1/traces"
MILLISECONDS_FROM = 1000
DEFAULT_TIMEOUT_S = 10.0
NAMES = {HTTP: re.compile(r"[a-z0-9!#$%&'*+.^_`|~-]+"), GRPC: re.compile(r"(?!grpc-)[a-z0-9_.-]+(?<!-bin)")}
TEXTS = {HTTP: re.compile(r"[\t\x20-\x7e]*"), GRPC: re.compile(r"[\x20-\x7e]*")}
HOST = re.compile(r"[\w.-]+|[0-9a-f:.]+(%[\w.-]+)?")  # a name, or an address, with its zone
HIDDEN, SECRET_CHARS = "(hidden)", 4  # shorter words say too little to be a secret, and stand in too many texts


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
    exact: bool = False

    @property
    def target(self) -> str:
        """The address for gRPC: host and port."""
        return (_parts(self.url).netloc if "://" in self.url else self.url).rpartition("@")[2]

    @property
    def shown(self) -> str:
        """The address without credentials, for people."""
        parts = _parts(self.url)
        bare = parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="")
        return bare.geturl().removeprefix("//")

    def hide(self, text: str) -> str:
        """Return what a server said without the credentials that it was sent, also where its end was cut off."""
        for secret in sorted(self._secrets(), key=len, reverse=True):
            text = text.replace(secret, HIDDEN)
            cut = next((n for n in range(len(secret) - 1, SECRET_CHARS - 1, -1) if text.endswith(secret[:n])), 0)
            text = text[: len(text) - cut] + HIDDEN if cut else text
        return text

    def _secrets(self) -> set[str]:
        """Return what may not be repeated: values of headers, also without the word before them (``Bearer``)."""
        parts = _parts(self.url)
        whole = {*self.headers.values(), parts.netloc.rpartition("@")[0], parts.query}
        words = {word for value in whole for word in value.split()[1:]}
        return {secret for secret in whole | words if len(secret) >= SECRET_CHARS}


class Variable(NamedTuple):
    """A text, and what it is called where it was set."""

    name: str
    text: str


def from_environment(environ: Mapping[str, str], user_agent: str) -> Endpoint | None:
    """Read the endpoint for traces; None when none is set.

    Raises:
        SettingsError: a variable has a value that it can't have.
    """

    def variable(name: str) -> Variable:
        forms = (Variable(prefix + name, environ.get(prefix + name, "").strip()) for prefix in (TRACES_PREFIX, PREFIX))
        return next(filter(lambda form: form.text, forms), Variable(PREFIX + name, ""))

    endpoint = variable("ENDPOINT")
    if not endpoint.text:
        return None
    protocol = _one_of(variable("PROTOCOL"), GRPC, HTTP) or GRPC
    url = endpoint.text
    if protocol == HTTP and endpoint.name == f"{PREFIX}ENDPOINT":
        url = f"{url.rstrip('/')}/{PATH}"
    scheme = scheme_of(endpoint, url, protocol)
    key, certificate = variable("CLIENT_KEY"), variable("CLIENT_CERTIFICATE")
    if not certificate.text and key.text:
        raise alone(certificate, key)
    if not key.text and certificate.text and protocol == GRPC:  # over HTTP one file may hold both
        raise alone(key, certificate)
    insecure = _one_of(variable("INSECURE"), "true", "false") == "true"
    return Endpoint(
        protocol, url, scheme == "http" or (not scheme and insecure), _headers(variable("HEADERS"), protocol),
        _timeout(variable("TIMEOUT")), _one_of(variable("COMPRESSION"), "gzip", "none") == "gzip",
        variable("CERTIFICATE").text or None, key.text or None, certificate.text or None, user_agent,
    )  # fmt: skip


def _one_of(variable: Variable, *allowed: str) -> str:
    word = variable.text.lower()
    if word and word not in allowed:
        raise SettingsError(variable.name, " or ".join(allowed), variable.text, allowed[-1])
    return word


def alone(missing: Variable, other: Variable) -> SettingsError:
    """Return the error for one of two files that only go together."""
    return SettingsError(missing.name, f"a file, since {other.name} names one", "nothing")


def _parts(url: str) -> SplitResult:
    return urlsplit(url if "://" in url else f"//{url}")


def scheme_of(endpoint: Variable, url: str, protocol: str) -> str:
    """Return the scheme of an address that a client can use; gRPC needs none.

    Raises:
        SettingsError: it is no such address; credentials and queries in it are not shown.
    """
    bare = "://" not in url
    try:
        parts = _parts(url)
        is_there = bool(HOST.fullmatch(parts.hostname or "")) and parts.port != 0
        if is_there and (parts.scheme in ("http", "https") or (bare and protocol == GRPC)):
            return parts.scheme
    except ValueError:
        pass
    secret = "@" in url or "?" in url  # what stands where can't be told in an address that is none
    got = "another one, with credentials or a query" if secret else endpoint.text
    try_ = "http://localhost:4317" if protocol == GRPC else f"http://{got if bare and not secret else 'localhost:4318'}"
    raise SettingsError(endpoint.name, "http://HOST:PORT or https://HOST:PORT", got, try_)


def _headers(variable: Variable, protocol: str) -> dict[str, str]:
    headers = {}
    for number, item in enumerate(filter(str.strip, variable.text.split(",")), start=1):
        name, equals, value = (unquote(part).strip() for part in item.partition("="))
        if not equals or not is_header(name, value, protocol):
            expected = "name=value pairs, separated by commas, percent-encoded"
            raise SettingsError(variable.name, expected, f"something else as pair {number}")
        headers[name.lower()] = value
    return headers


def is_header(name: str, value: str, protocol: str) -> bool:
    """Tell whether a client of this protocol can send such a header."""
    return bool(NAMES[protocol].fullmatch(name.lower()) and TEXTS[protocol].fullmatch(value))


def _timeout(variable: Variable) -> float:
    try:
        seconds = float(variable.text or DEFAULT_TIMEOUT_S)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < float("inf"):
        raise SettingsError(variable.name, "seconds, more than 0", variable.text, "10")
    return seconds / 1000 if seconds >= MILLISECONDS_FROM else seconds
