"""What a gateway is told beside the settings: where it listens, who may come in, how much it takes at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence  # noqa: TC003 - msgspec reads them
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from otel_gate.errors import SettingsError

MIB = 1 << 20
OFF = -1  # a port that is not opened


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


def options(table: Mapping[str, Any], where: str = "[gateway]") -> Options:
    """Return the options that a table of settings holds.

    Raises:
        SettingsError: a key is unknown, or its value is one that it can't have.
    """
    try:
        return msgspec.convert(dict(table), Options)
    except msgspec.ValidationError as error:
        said, _, key = str(error).replace("`", "").partition(" - at $.")
        which, try_ = f"{key or 'a key'} ({where})", f"one of {', '.join(Options.__struct_fields__)}"
        raise SettingsError(which, "an option of the gateway", said, try_) from error
