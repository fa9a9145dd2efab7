"""What each option of a gateway can be: in words, as a test, and how a text of the command line becomes it.

Numbers are plain, as those of the settings are: ``max_request_bytes`` takes bytes and no ``64MiB``. Where there is a
value that was meant, ``meant`` says it.
"""

from __future__ import annotations

import contextlib
import ipaddress
import re
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable

OFF = -1  # a port that is not opened
LAST_PORT, LEAST_HEAD_BYTES = 65_535, 1_024
MOST, MOST_BYTES, LEAST_S, MOST_S = 10**9, 10**12, 0.001, 86_400
INTEGER = re.compile(r"-?[0-9]{1,18}")
NAME = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?")
ORIGIN = re.compile(r"null|[a-z][a-z0-9+.-]*://([a-z0-9_.-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?")


class Kind(NamedTuple):
    """What an option can be; of one that holds ``several``, each item."""

    expected: str
    accepts: Callable[[Any], bool]
    parse: Callable[[Any], object] = lambda text: text
    meant: Callable[[Any], str] = lambda _value: ""
    several: bool = False
    is_shown: bool = True


def _integer(text: str) -> object:
    return int(text) if INTEGER.fullmatch(text) else text


def _decimal(text: str) -> object:
    with contextlib.suppress(ValueError):
        return float(text)
    return text


def _whole(least: int, most: int) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _number(unit: str, least: int = 1, most: int = MOST) -> Kind:
    exponent = len(str(most)) - 1
    return Kind(f"a whole number of {unit} from {least} to 10^{exponent}", _whole(least, most), _integer)


def _is_time(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and LEAST_S <= value <= MOST_S


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != "" and "\0" not in value


def _is_name(value: Any) -> bool:
    if not isinstance(value, str):
        return False
    with contextlib.suppress(ValueError):
        return bool(ipaddress.ip_address(value))
    return bool(NAME.fullmatch(value))


def _is_origin(value: Any) -> bool:
    return isinstance(value, str) and bool(ORIGIN.fullmatch(value))


def _is_url(value: Any) -> bool:
    with contextlib.suppress(ValueError):
        parts = urlsplit(value) if _is_text(value) else None
        return parts is not None and parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    return False


def _name_in(value: Any) -> str:
    """Return the host of what looks like a URL, or like a host with a port."""
    with contextlib.suppress(ValueError):
        name = urlsplit(value if "://" in value else f"//{value}").hostname or ""
        return name if _is_name(name) else ""
    return ""


def _origin_in(value: Any) -> str:
    with contextlib.suppress(ValueError):
        parts = urlsplit(value.lower())
        origin = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        return origin if _is_origin(origin) else ""
    return ""


PORT = Kind(f"a port from 0 (a free one) to {LAST_PORT}, or {OFF} (none)", _whole(OFF, LAST_PORT), _integer)
SWITCH = Kind("true or false", lambda value: isinstance(value, bool))
FILE = Kind("the path of a file", _is_text)
TIME = Kind(f"seconds from {LEAST_S} to {MOST_S}", _is_time, _decimal)
KINDS = {
    "host": Kind("a name or an address, without a scheme and a port", _is_name, meant=_name_in),
    "grpc_port": PORT,
    "http_port": PORT,
    "insecure_bind": SWITCH,
    "tls_certificate": FILE,
    "tls_key": FILE,
    "client_ca": FILE,
    "token_file": FILE,
    "allow_hosts": Kind("names or addresses, without a scheme and a port", _is_name, meant=_name_in, several=True),
    "allow_origins": Kind("origins, SCHEME://HOST or SCHEME://HOST:PORT", _is_origin, meant=_origin_in, several=True),
    "pass_through": Kind("a URL of OTLP/HTTP, http://HOST:PORT or https://HOST:PORT", _is_url, is_shown=False),
    "max_request_bytes": _number("bytes"),
    "max_request_spans": _number("spans"),
    "max_request_elements": _number("elements"),
    "max_decoding_bytes": _number("bytes", most=MOST_BYTES),
    "max_open_traces": _number("traces"),
    "max_connections": _number("connections"),
    "max_streams": _number("calls"),
    "max_header_bytes": _number("bytes", LEAST_HEAD_BYTES),
    "max_requests_per_s": _number("requests", 0),
    "stall_s": TIME,
    "keep_alive_s": TIME,
}
TRIED = {
    "tls_certificate": "gate.pem",
    "tls_key": "gate.key",
    "client_ca": "agents-ca.pem",
    "token_file": "tokens",
    "allow_hosts": "gate.example",
    "allow_origins": "https://agents.example",
    "pass_through": "http://localhost:4318",
}
