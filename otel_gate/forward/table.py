"""One destination as the settings have it: a table in ``otel-gate.toml``, or in ``pyproject.toml`` below ``tool``.

    [[destinations]]
    name = "team"                            # in the outbox: what is owed to it stays owed when its address changes
    endpoint = "https://collector:4318"      # http:// or https://; http/protobuf without a path gets /v1/traces
    protocol = "http/protobuf"               # or grpc, which is the default
    headers = {authorization = "Bearer ${TEAM_TOKEN}"}
    compression = "gzip"                     # or none
    timeout = 10                             # seconds for a request
    certificate = "ca.pem"                   # of the authority that signs for the server; else the system's
    client_certificate = "own.pem"           # with client_key: TLS on both sides
    client_key = "own.key"
    exact = true                             # one trace a request, so that every answer is about one trace

``${NAME}`` in a header is the variable NAME of the environment, so that no secret stands in a file; ``$$`` is a ``$``.
Relative files start at the folder of the file. The name ``otlp`` goes on with what was owed to the endpoint of the
environment. Values of headers are in no message of this module.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from otel_gate.errors import SettingsError
from otel_gate.forward.endpoint import (
    DEFAULT_TIMEOUT_S,
    GRPC,
    HTTP,
    PATH,
    Endpoint,
    Variable,
    alone,
    is_header,
    scheme_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
REFERENCE = re.compile(r"\$(?:\$|\{([A-Za-z_][A-Za-z0-9_]*)\})")
MOST_S = 3600


class _Field(NamedTuple):
    expected: str
    accepts: Callable[[Any], bool]
    default: Any = None


def _one_of(*words: str) -> _Field:
    return _Field(" or ".join(words), lambda value: value in words, words[0])


def _is_time(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= MOST_S


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != "" and "\0" not in value


FILE = _Field("the path of a file", _is_text)
FIELDS = {
    "name": _Field(
        "1 to 64 letters, digits, - _ or .", lambda value: isinstance(value, str) and bool(NAME.fullmatch(value))
    ),
    "endpoint": _Field("http://HOST:PORT or https://HOST:PORT", lambda value: _is_text(value) and "://" in value),
    "protocol": _one_of(GRPC, HTTP),
    "headers": _Field("a table of texts", lambda value: isinstance(value, Mapping), {}),
    "compression": _one_of("none", "gzip"),
    "timeout": _Field(f"seconds, more than 0 and at most {MOST_S}", _is_time, DEFAULT_TIMEOUT_S),
    "certificate": FILE,
    "client_certificate": FILE,
    "client_key": FILE,
    "exact": _Field("true or false", lambda value: isinstance(value, bool), False),  # noqa: FBT003 - a default
}
SHOWN = frozenset({"name", "protocol", "compression", "timeout", "exact"})  # in which nobody keeps a secret


def name_of(table: Mapping[str, Any], number: int, taken: frozenset[str]) -> str:
    """Return the name of a destination, the one of this number.

    Raises:
        SettingsError: it has none, one that can't be, or one that another has.
    """
    which = f"destinations, number {number}"
    if "name" not in table:
        _check_keys(which, table)
    name: str = _value(which, table, "name", required=True)
    if name in taken:
        raise SettingsError(which=f"{which}: name", expected="one of its own", got=f"{name} again", try_=f"{name}-2")
    return name


def endpoint_of(table: Mapping[str, Any], environ: Mapping[str, str], user_agent: str) -> Endpoint:
    """Return how the destination of a table is reached.

    Raises:
        SettingsError: a key is unknown or has a value that it can't have, or a variable is not set.
    """
    which = f"destination {table.get('name')}"
    _check_keys(which, table)
    values = {key: _value(which, table, key, required=key in ("name", "endpoint")) for key in FIELDS}
    protocol, url = values["protocol"], values["endpoint"]
    scheme = scheme_of(Variable(f"{which}: endpoint", url), url, protocol)
    if protocol == HTTP and urlsplit(url).path in ("", "/"):
        url = urlsplit(url)._replace(path=f"/{PATH}").geturl()
    private, public = (Variable(f"{which}: {key}", values[key] or "") for key in ("client_key", "client_certificate"))
    if private.text and not public.text:
        raise alone(public, private)
    if public.text and not private.text and protocol == GRPC:  # over HTTP one file may hold both
        raise alone(private, public)
    headers = _headers(which, values["headers"], protocol, environ)
    return Endpoint(
        protocol, url, scheme == "http", headers, float(values["timeout"]), values["compression"] == "gzip",
        values["certificate"], private.text or None, public.text or None, user_agent, values["exact"],
    )  # fmt: skip


def _check_keys(which: str, table: Mapping[str, Any]) -> None:
    for key in table:
        if key not in FIELDS:
            near = difflib.get_close_matches(key, FIELDS, n=1)
            raise SettingsError(which, "a key of a destination", repr(key), near[0] if near else ", ".join(FIELDS))


def _value(which: str, table: Mapping[str, Any], key: str, *, required: bool) -> Any:
    field = FIELDS[key]
    if key not in table and not required:
        return field.default
    value = table.get(key)
    if field.accepts(value):
        return value
    got = "nothing" if key not in table else repr(value)[:80] if key in SHOWN else f"another {type(value).__name__}"
    raise SettingsError(which=f"{which}: {key}", expected=field.expected, got=got)


def _headers(which: str, table: Mapping[str, Any], protocol: str, environ: Mapping[str, str]) -> dict[str, str]:
    headers = {}
    for name, text in table.items():
        here = f"{which}: header {name!r}"
        if not isinstance(text, str):
            raise SettingsError(here, "a text", f"a value of the type {type(text).__name__}")
        value = REFERENCE.sub(lambda found, here=here: _variable(found[1], environ, here), text).strip()  # type: ignore[misc]
        if not is_header(name, value, protocol):
            raise SettingsError(here, f"a name and a text that {protocol} can send", "another one")
        headers[name.lower()] = value
    return headers


def _variable(name: str | None, environ: Mapping[str, str], here: str) -> str:
    if name is None:
        return "$"
    if not environ.get(name):
        raise SettingsError(here, f"the variable {name} in the environment", "none", f"setting {name}")
    return environ[name]
