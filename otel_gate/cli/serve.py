"""``otel-gate serve``: take traces over OTLP (gRPC and HTTP) from agents in any language.

Each door that listens is one line on stdout, its name and its URL; more such lines, which ``--check-config`` prints
too, say what it does with what comes. What happens later is said on stderr.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_gate.cli import configuration, logs, output
from otel_gate.cli.arguments import choice
from otel_gate.core.identity import POLICIES
from otel_gate.settings import DEFAULT, parse

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from otel_gate.gateway.options import Options
    from otel_gate.gateway.server import Gateway
    from otel_gate.settings import Loaded

LOGGERS = ("otel_gate", "uvicorn.error")
CHECK = "say whether it could start, with the exit code that it would end with: it binds its ports and lets them go"
TEXTS = {
    "host": ("HOST", "the address to listen on (default: 127.0.0.1)"),
    "grpc_port": ("PORT", "of OTLP/gRPC, up to 65535; 0 a free one, -1 none (default: 4317)"),
    "http_port": ("PORT", "of OTLP/HTTP, and of /status, /metrics, /healthz, /readyz (default: 4318)"),
    "insecure_bind": ("", "listen beyond loopback without tokens and client certificates"),
    "tls_certificate": ("FILE", "serve TLS with this certificate (PEM); read again when it changes"),
    "tls_key": ("FILE", "the key of the certificate"),
    "client_ca": ("FILE", "ask clients for a certificate of one of these authorities"),
    "token_file": ("FILE", "ask clients for a bearer token, one a line; read again when it changes"),
    "allow_hosts": ("NAME", "a Host that requests may be for; may be repeated"),
    "allow_origins": ("ORIGIN", "an Origin that browsers may come from; may be repeated"),
    "pass_through": ("URL", "pass metrics and logs on to this OTLP/HTTP endpoint, untouched"),
    "max_request_bytes": ("BYTES", "of a request, unpacked (default: 67108864)"),
    "max_request_spans": ("SPANS", "of a request (default: 100000)"),
    "max_request_elements": ("N", "spans, events, attributes (four each) and the like of a request (default: 1000000)"),
    "max_decoding_bytes": ("BYTES", "of all requests in memory at once (default: 268435456)"),
    "max_open_traces": ("N", "the doors close at so many (default: 250000)"),
    "max_connections": ("N", "of each door (default: 1000)"),
    "max_streams": ("N", "of a gRPC connection (default: 100)"),
    "max_header_bytes": ("BYTES", "of the head of a request (default: 32768)"),
    "max_requests_per_s": ("N", "of one client; 0 any number (default: 2000)"),
    "stall_s": ("SECONDS", "that a head, or the next 65536 bytes of a body, may take (default: 10)"),
    "keep_alive_s": ("SECONDS", "that an idle HTTP connection is kept (default: 75)"),
}
SETTINGS = {
    "run_id": ("ID", f"{', '.join(POLICIES)} or a text: where the run id comes from (default: auto)"),
    "remote_parent": ("WHAT", "root or reject: what a remote parent of a root means (default: reject)"),
    "mode": ("MODE", "enforce, or observe: forward also what is not well-formed (default: enforce)"),
    "layout": ("WHAT", "segments (many records a file) or files (default: segments)"),
    "quiet_ms": ("MS", "milliseconds that a trace with a root waits for more (default: 6000)"),
    "trace_timeout_ms": ("MS", "milliseconds that a trace without a root waits for more (default: 60000)"),
}
PORTS = {0: "a free port", -1: "none"}
NUMBERS = frozenset({"quiet_ms", "trace_timeout_ms"})
CHOICES = {"remote_parent": ("root", "reject"), "mode": ("enforce", "observe"), "layout": ("files", "segments")}


def add(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--check-config", action="store_true", help=CHECK)
    for name, (metavar, text) in SETTINGS.items():
        kind: Any = choice(*CHOICES[name]) if name in CHOICES else str
        parser.add_argument(configuration.option(name), type=kind, metavar=metavar, help=text)
    group = parser.add_argument_group("the doors", "also as keys of the table [gateway] in otel-gate.toml")
    for name, (metavar, text) in TEXTS.items():
        _add_option(group, name, metavar, text)


def run(args: Namespace) -> int:
    """Serve until SIGTERM or SIGINT; 0 after a clean stop."""
    from otel_gate.gateway.server import Gateway  # noqa: PLC0415 - its packages are an extra

    loaded = _loaded(args)
    settings = loaded.settings
    gateway = Gateway(
        settings, options(args, loaded), configuration.rules(settings), configuration.conventions(settings)
    )
    from otel_gate.gateway.serve import rehearse, serve  # noqa: PLC0415 - the same

    with logs.told(*LOGGERS):
        if args.check_config:
            rehearse(gateway)
            output.say(_described(gateway))
        else:
            serve(gateway, _listens)
    return 0


def _loaded(args: Namespace) -> Loaded:
    """Settle the settings; where nobody says otherwise, many records share a file here."""
    given = {name: getattr(args, name) for name in SETTINGS}
    given |= {name: parse(name, given[name]) for name in NUMBERS if given[name] is not None}
    loaded = configuration.load(args, strict=True, **given)
    is_open = loaded.origin["layout"] == DEFAULT
    return loaded._replace(settings=loaded.settings._replace(layout="segments")) if is_open else loaded


def options(args: Namespace, loaded: Loaded) -> Options:
    """Return the options of a gateway: those of the command line, else of the table in the settings.

    Raises:
        SettingsError: one has a value that it can't have.
    """
    from otel_gate.gateway.options import TABLE, argument  # noqa: PLC0415 - the same
    from otel_gate.gateway.options import options as of  # noqa: PLC0415 - the same

    given = {name: getattr(args, name) for name in TEXTS}
    arguments = {name: argument(name, value, _flag(name)) for name, value in given.items() if value is not None}
    return of(loaded.settings.gateway, f"{TABLE} of {loaded.origin['gateway']}", arguments)


def _flag(name: str) -> str:
    return configuration.option(name.removesuffix("s") if name.startswith("allow_") else name)


def _add_option(group: Any, name: str, metavar: str, text: str) -> None:
    if not metavar:
        group.add_argument(_flag(name), action="store_true", default=None, help=text)
    else:
        action = "append" if name.startswith("allow_") else "store"
        group.add_argument(_flag(name), dest=name, action=action, metavar=metavar, help=text)


def _listens(gateway: Gateway) -> None:
    output.say([*(f"{name} {url}" for name, url in gateway.urls.items()), *_described(gateway)])
    output.flush()


def _described(gateway: Gateway) -> list[str]:
    options, to = gateway.options, gateway.forwarder.destinations if gateway.forwarder else ()
    asked = [word for word, is_asked in (("tokens", options.token_file), ("client certificates", options.client_ca))
             if is_asked]  # fmt: skip
    grpc, http = (PORTS.get(port, str(port)) for port in (options.grpc_port, options.http_port))
    return [
        f"store {gateway.settings.store}",
        f"listens on {options.host} (gRPC {grpc}, HTTP {http}), {'with' if options.tls_certificate else 'without'} TLS",
        f"asks clients for {' and '.join(asked)}" if asked else "lets every client in, without tokens or certificates",
        f"run id: {_policy(str(gateway.settings.run_id))}",
        f"forwards to {', '.join(_told(gateway, one.name) for one in to) or 'nobody: no endpoint is set'}",
    ]


def _policy(run_id: str) -> str:
    return run_id if run_id in POLICIES else f"the text {run_id!r}"


def _told(gateway: Gateway, name: str) -> str:
    """Return a destination's name with its address, without credentials, and its protocol."""
    endpoint = gateway.endpoints.get(name)
    return name if endpoint is None else f"{name} at {endpoint.shown} ({endpoint.protocol})"
