"""The gateway: OTLP over gRPC and HTTP, for agents in any language, before the same pipeline as every other door."""

from importlib.util import find_spec

from otel_gate.errors import UsageError

NEEDED = ("starlette", "uvicorn", "prometheus_client")


def _installed() -> None:
    """Raise ``UsageError`` when the packages of the extra are not there."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        expected, try_ = "the packages of the extra 'gateway'", "pip install 'otel-gate[gateway]'"
        raise UsageError(which="the gateway", expected=expected, got=f"no {', '.join(missing)}", try_=try_)


_installed()
