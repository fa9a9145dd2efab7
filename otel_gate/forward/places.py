"""The destinations that settings and environment name. Each has its own name in the outbox, whatever its address."""

from __future__ import annotations

import logging
from importlib import metadata
from typing import TYPE_CHECKING, Any

from otel_gate.errors import SettingsError
from otel_gate.forward.endpoint import GRPC, from_environment
from otel_gate.forward.misconfigured import Misconfigured
from otel_gate.forward.table import endpoint_of, name_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from otel_gate.forward.destination import Destination
    from otel_gate.forward.endpoint import Endpoint

logger = logging.getLogger("otel_gate")
OTLP, EXPORTER = "otlp", "exporter"


def destinations(
    exporter: Any, environ: Mapping[str, str], tables: Sequence[Mapping[str, Any]] = (), *, strict: bool = False
) -> tuple[Destination, ...]:
    """Return where traces go: to the given exporter, else to the destinations of the settings, else to the endpoint.

    What is wrong with a table is logged, and the others go on: what is owed to a destination that has a name stays owed
    until its table is mended.

    Raises:
        SettingsError: with ``strict``, for a variable or a table that has a value that it can't have.
    """
    if exporter is not None:
        from otel_gate.forward.through_exporter import ThroughExporter  # noqa: PLC0415 - needs the SDK

        return (ThroughExporter(EXPORTER, exporter),)
    if tables:
        return tuple(_configured(tables, environ, strict=strict))
    try:
        endpoint = from_environment(environ, user_agent())
    except SettingsError as error:
        if strict:
            raise
        logger.error("otel-gate: %s; traces are recorded, not forwarded", error)  # noqa: TRY400 - no traceback helps here
        return ()
    return () if endpoint is None else (_client(OTLP, endpoint),)


def endpoints(
    exporter: Any, environ: Mapping[str, str], tables: Sequence[Mapping[str, Any]] = ()
) -> dict[str, Endpoint]:
    """Return where each of the destinations is, by name; where an exporter of the user's sends to, nobody knows.

    Raises:
        SettingsError: a variable or a table has a value that it can't have.
    """
    if exporter is not None:
        return {}
    if tables:
        named = ((name_of(table, number, frozenset()), table) for number, table in enumerate(tables, start=1))
        return {name: endpoint_of(table, environ, "") for name, table in named}
    endpoint = from_environment(environ, "")
    return {} if endpoint is None else {OTLP: endpoint}


def _configured(
    tables: Sequence[Mapping[str, Any]], environ: Mapping[str, str], *, strict: bool
) -> Iterator[Destination]:
    taken: frozenset[str] = frozenset()
    for number, table in enumerate(tables, start=1):
        name = ""
        try:
            name = name_of(table, number, taken)
            taken |= {name}
            yield _client(name, endpoint_of(table, environ, user_agent()))
        except SettingsError as error:
            if strict:
                raise
            then = "what is owed to it stays in the outbox" if name else "nothing is owed to it"
            logger.error("otel-gate: %s; %s", error, then)  # noqa: TRY400 - no traceback helps here
            if name:
                yield Misconfigured(name, error)


def _client(name: str, endpoint: Endpoint) -> Destination:
    if endpoint.protocol == GRPC:
        from otel_gate.forward.otlp_grpc import OtlpGrpc  # noqa: PLC0415 - each client loads its own library

        return OtlpGrpc(name, endpoint)
    from otel_gate.forward.otlp_http import OtlpHttp  # noqa: PLC0415

    return OtlpHttp(name, endpoint)


def user_agent() -> str:
    """Return our User-Agent, with the exporter's word that the OTLP specification asks for."""
    return f"otel_gate/{_version('otel-gate')} OTel-OTLP-Exporter-Python/{_version('opentelemetry-sdk')}"


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:  # packed into one file, without what pip knows
        return "unknown"
