"""What a gateway is told beside the settings: where it listens, who may come in, how much it takes at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence  # noqa: TC003 - msgspec reads them
from types import MappingProxyType
from typing import Any, NamedTuple

from msgspec import Struct

from otel_gate.errors import SettingsError
from otel_gate.gateway.ranges import KINDS, OFF, TRIED
from otel_gate.settings import Settings

MIB = 1 << 20
SHOWN = 80  # characters of a value that a message shows
TABLE = "[gateway]"
NONE: Mapping[str, Any] = MappingProxyType({})


class Options(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The options of ``otel-gate serve``, and the keys of the table ``[gateway]``; units are in the names.

    Port 0 is a free one, -1 none. Paths are of files. ``pass_through`` is where metrics and logs go, by HTTP.
    """

    host: str = "127.0.0.1"
    grpc_port: int = 4317
    http_port: int = 4318
    insecure_bind: bool = False
    tls_certificate: str = ""
    tls_key: str = ""
    client_ca: str = ""
    token_file: str = ""
    allow_hosts: Sequence[str] = ()
    allow_origins: Sequence[str] = ()
    pass_through: str = ""
    max_request_bytes: int = 64 * MIB
    max_request_spans: int = 100_000
    max_request_elements: int = 1_000_000
    max_decoding_bytes: int = 256 * MIB
    max_open_traces: int = 250_000
    max_connections: int = 1_000
    max_streams: int = 100
    max_header_bytes: int = 32 * 1024
    max_requests_per_s: int = 2_000
    stall_s: float = 10.0
    keep_alive_s: float = 75.0


class Ports(NamedTuple):
    """Where a gateway listens; None where it does not."""

    grpc: int | None
    http: int | None


def options(table: Mapping[str, Any], where: str = TABLE, arguments: Mapping[str, Any] = NONE) -> Options:
    """Return the options that a table of settings holds, and stronger ones, which ``argument`` has returned.

    Raises:
        SettingsError: a key is unknown, has a value that it can't have, or one that doesn't go with the others.
    """
    values = {key: _checked(key, value, f"{key} ({where})") for key, value in table.items() if _known(key, where)}
    found = Options(**{**values, **arguments})
    if found.grpc_port == found.http_port == OFF:
        got, try_ = f"{OFF} for both", "4317 and 4318"
        raise SettingsError(which="grpc_port and http_port", expected="at least one door", got=got, try_=try_)
    if found.max_decoding_bytes < found.max_request_bytes:
        expected = f"at least max_request_bytes, {found.max_request_bytes}: a larger request could never be taken"
        got, try_ = str(found.max_decoding_bytes), "a smaller max_request_bytes too"
        raise SettingsError(which="max_decoding_bytes", expected=expected, got=got, try_=try_)
    return found


def argument(name: str, given: Any, which: str) -> Any:
    """Return the value of an option that the command line gives, as text, a list of texts, or True.

    Raises:
        SettingsError: it is one that the option can't have; ``which`` is what it is called there.
    """
    return _checked(name, KINDS[name].parse(given), which)


def _known(key: str, where: str) -> bool:
    if key in KINDS:
        return True
    import difflib  # noqa: PLC0415 - only for a key that is wrong

    plain = key.lower().replace("-", "_")
    near = difflib.get_close_matches(plain, [*KINDS, *Settings._fields], n=1)
    which, expected, got = f"{key} ({where})", "an option of the gateway", repr(key)[:SHOWN]
    if near and near[0] in Settings._fields:
        raise SettingsError(which, expected, got, f"{near[0]} outside of the table, above {TABLE}: it is a setting")
    raise SettingsError(which, expected, got, near[0] if near else f"one of {', '.join(KINDS)}")


def _checked(name: str, value: Any, which: str) -> Any:
    kind = KINDS[name]
    if kind.several and not isinstance(value, list | tuple):
        raise SettingsError(which, f"a list of {kind.expected}", repr(value)[:SHOWN], f'["{TRIED[name]}"]')
    for one in value if kind.several else (value,):
        if not kind.accepts(one):
            got = repr(one)[:SHOWN] if kind.is_shown else "another one"
            try_ = (kind.meant(one) if isinstance(one, str) else "") or TRIED.get(name) or _default(name)
            raise SettingsError(which, kind.expected, got, try_)
    return value


def _default(name: str) -> str:
    value = getattr(Options(), name)
    return str(value).lower() if isinstance(value, bool) else f"{value}"
