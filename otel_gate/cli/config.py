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
    from collections.abc import Iterator, Mapping, Sequence

    from otel_gate.forward.endpoint import Endpoint

CONFIG_SCHEMA = "otel-gate/config/1"
FILES = ("certificate", "client_certificate", "client_key")
ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
NO_ENDPOINT = "none: traces are recorded, not forwarded; OTEL_EXPORTER_OTLP_ENDPOINT sets one"
UNUSED = "not used: the setting destinations is there"
EPILOG = """\
Where to forward comes from OTEL_EXPORTER_OTLP_*, or from destinations in otel-gate.toml, which win:

  [[destinations]]
  name = "team"
  endpoint = "https://collector:4318"    # http/protobuf without a path gets /v1/traces
  protocol = "http/protobuf"             # or grpc (default)
  headers = {authorization = "Bearer ${TEAM_TOKEN}"}
  compression = "gzip"
  timeout = 10
  certificate = "ca.pem"                 # and client_certificate, client_key
  exact = true                           # one trace a request, so that every answer is about one trace

${NAME} in a header is a variable of the environment, $$ a dollar. What a file gets wrong about one destination
does not stop the others."""


def add(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = EPILOG
    parser.add_argument("action", type=choice("show"), metavar="show", help="what to do")
    add_format(parser, "text", "json")


def run(args: Namespace) -> int:
    """Show the settings; 64 when a value had to be passed over."""
    loaded = configuration.load(args, strict=False)
    problems = [str(problem) for problem in loaded.problems]
    rows = [(name, _shown(value), loaded.origin[name]) for name, value in loaded.settings._asdict().items()]
    destinations = list(_destinations(loaded.settings.destinations, problems))
    try:
        endpoint = _endpoint()
    except SettingsError as error:
        endpoint = None
        problems.append(str(error))
    output.complain(*(f"otel-gate: {problem}" for problem in problems))
    if args.format == "json":
        settings = [{"name": name, "value": value, "from": origin} for name, value, origin in rows]
        envelope = {
            "schema": CONFIG_SCHEMA, "settings": settings, "destinations": destinations, "endpoint": endpoint,
            "endpoint_used": endpoint is not None and not destinations, "problems": problems,
        }  # fmt: skip
        output.say_json(json.text(envelope))
    else:
        output.say(columns([(name, printable(value), printable(origin)) for name, value, origin in rows]))
        output.say(["", *_where(destinations, loaded.origin["destinations"], endpoint)])
    return SettingsError.exit_code if problems else 0


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, tuple):
        return ", ".join(map(_named, value)) or "-"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _named(value: Any) -> str:
    """Show one of several values, of a table its name alone: there may be a secret in it."""
    return str(value.get("name", "(no name)")) if isinstance(value, dict) else str(value)


def _destinations(tables: Sequence[Mapping[str, Any]], problems: list[str]) -> Iterator[dict[str, Any]]:
    """Describe each destination, which loads OpenTelemetry only when there is one; what is wrong is a problem."""
    if not tables:
        return
    from otel_gate.forward import table as configured  # noqa: PLC0415

    taken: frozenset[str] = frozenset()
    for number, table in enumerate(tables, start=1):
        name = f"number {number}"
        try:
            name = configured.name_of(table, number, taken)
            taken |= {name}
            yield {"name": name, **_facts(configured.endpoint_of(table, os.environ, "")), "problem": None}
        except SettingsError as error:
            problems.append(str(error))
            yield {"name": name, "problem": str(error)}


def _endpoint() -> dict[str, Any] | None:
    """Describe the endpoint, which loads OpenTelemetry only when there is one."""
    named = next((name for name in ENDPOINTS if os.environ.get(name, "").strip()), None)
    if named is None:
        return None
    from otel_gate.forward.endpoint import from_environment  # noqa: PLC0415

    endpoint = from_environment(os.environ, "")
    return None if endpoint is None else {"from": named, **_facts(endpoint)}


def _facts(endpoint: Endpoint) -> dict[str, Any]:
    return {
        "address": endpoint.shown, "protocol": endpoint.protocol, "timeout_s": endpoint.timeout_s,
        "compression": "gzip" if endpoint.gzip else "none", "headers": sorted(endpoint.headers),
        "certificate": endpoint.certificate, "client_certificate": endpoint.client_certificate,
        "client_key": endpoint.client_key, "exact": endpoint.exact,
    }  # fmt: skip


def _where(destinations: Sequence[dict[str, Any]], origin: str, endpoint: dict[str, Any] | None) -> Iterator[str]:
    for one in destinations:
        yield f"destination {one['name']}  {one.get('address', 'not usable: ' + str(one['problem']))}  {origin}"
        if one["problem"] is None:
            yield from _described(one)
    if endpoint is not None:
        yield f"endpoint  {endpoint['address']}  {endpoint['from']}{f'  ({UNUSED})' if destinations else ''}"
        yield from _described(endpoint)
    elif not destinations:
        yield f"endpoint  {NO_ENDPOINT}"


def _described(one: dict[str, Any]) -> Iterator[str]:
    requests = ", one trace a request" if one["exact"] else ""
    protocol, timeout_s, compression = one["protocol"], one["timeout_s"], one["compression"]
    yield f"  protocol {protocol}, timeout {timeout_s:g} s, compression {compression}{requests}"
    yield f"  headers {', '.join(one['headers']) or '-'} (values are not shown)"
    files = ", ".join(f"{name} {one[name]}" for name in FILES if one[name])
    if files:
        yield f"  {files}"
