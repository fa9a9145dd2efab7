"""The destinations that settings and environment name. Each has its own name in the outbox, whatever its address."""

from __future__ import annotations

import logging
from importlib import metadata
from typing import TYPE_CHECKING, Any

from otel_gate.errors import SettingsError
from otel_gate.forward.endpoint import GRPC, from_environment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from otel_gate.forward.destination import Destination

logger = logging.getLogger("otel_gate")
OTLP, EXPORTER = "otlp", "exporter"


def destinations(exporter: Any, environ: Mapping[str, str], *, strict: bool = False) -> tuple[Destination, ...]:
    """Return where traces go: to the given exporter, else to the OTLP endpoint, else nowhere.

    Raises:
        SettingsError: with ``strict``, for a variable that has a value that it can't have; else it is logged, and
            nothing is forwarded.
    """
    if exporter is not None:
        from otel_gate.forward.through_exporter import ThroughExporter  # noqa: PLC0415 - needs the SDK

        return (ThroughExporter(EXPORTER, exporter),)
    try:
        endpoint = from_environment(environ, user_agent())
    except SettingsError as error:
        if strict:
            raise
        logger.error("otel-gate: %s; traces are recorded, not forwarded", error)  # noqa: TRY400 - no traceback helps here
        return ()
    if endpoint is None:
        return ()
    if endpoint.protocol == GRPC:
        from otel_gate.forward.otlp_grpc import OtlpGrpc  # noqa: PLC0415 - each client loads its own library

        return (OtlpGrpc(OTLP, endpoint),)
    from otel_gate.forward.otlp_http import OtlpHttp  # noqa: PLC0415

    return (OtlpHttp(OTLP, endpoint),)


def user_agent() -> str:
    """Return our User-Agent, with the exporter's word that the OTLP specification asks for."""
    return f"otel_gate/{_version('otel-gate')} OTel-OTLP-Exporter-Python/{_version('opentelemetry-sdk')}"


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:  # packed into one file, without what pip knows
        return "unknown"
