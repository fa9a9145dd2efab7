"""``otel-gate config show``: every setting with its source, and where traces are forwarded to, without credentials."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from otel_gate.cli import configuration, output
from otel_gate.cli.arguments import add_format, choice
from otel_gate.errors import SettingsError
from otel_gate.report import json
from otel_gate.report.escape import printable
from otel_gate.report.table import columns

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

CONFIG_SCHEMA = "otel-gate/config/1"
ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
NO_ENDPOINT = "none: traces are recorded, not forwarded; OTEL_EXPORTER_OTLP_ENDPOINT sets one"


def add(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("action", type=choice("show"), metavar="show", help="what to do")
    add_format(parser, "text", "json")


def run(args: Namespace) -> int:
    """Show the settings; 64 when a value had to be passed over."""
    loaded = configuration.load(args, strict=False)
    problems = [str(problem) for problem in loaded.problems]
    rows = [(name, _shown(value), loaded.origin[name]) for name, value in loaded.settings._asdict().items()]
    try:
        endpoint = _endpoint()
    except SettingsError as error:
        endpoint = None
        problems.append(str(error))
    output.complain(*(f"otel-gate: {problem}" for problem in problems))
    if args.format == "json":
        settings = [{"name": name, "value": value, "from": origin} for name, value, origin in rows]
        envelope = {"schema": CONFIG_SCHEMA, "settings": settings, "endpoint": endpoint, "problems": problems}
        output.say_json(json.text(envelope))
    else:
        output.say(columns([(name, printable(value), printable(origin)) for name, value, origin in rows]))
        output.say(["", *_described(endpoint)])
    return SettingsError.exit_code if problems else 0


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "-"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _endpoint() -> dict[str, Any] | None:
    """Describe the endpoint, which loads OpenTelemetry only when there is one."""
    named = next((name for name in ENDPOINTS if os.environ.get(name, "").strip()), None)
    if named is None:
        return None
    from otel_gate.forward.endpoint import from_environment  # noqa: PLC0415

    endpoint = from_environment(os.environ, "")
    if endpoint is None:
        return None
    return {
        "address": endpoint.shown, "from": named, "protocol": endpoint.protocol, "timeout_s": endpoint.timeout_s,
        "compression": "gzip" if endpoint.gzip else "none", "headers": sorted(endpoint.headers),
    }  # fmt: skip


def _described(endpoint: dict[str, Any] | None) -> list[str]:
    if endpoint is None:
        return [f"endpoint  {NO_ENDPOINT}"]
    headers = ", ".join(endpoint["headers"]) or "-"
    protocol, timeout_s, compression = endpoint["protocol"], endpoint["timeout_s"], endpoint["compression"]
    return [
        f"endpoint  {endpoint['address']}  {endpoint['from']}",
        f"  protocol {protocol}, timeout {timeout_s:g} s, compression {compression}",
        f"  headers {headers} (values are not shown)",
    ]
