"""Another process that forwards: ``python -m tests.forward.worker STORE URL [SECONDS]``; says when it has begun."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from otel_gate.forward import Forwarder
from otel_gate.forward.otlp_http import OtlpHttp
from otel_gate.store import Store
from tests.forward.story import endpoint


def main(root: str, url: str, seconds: str = "") -> None:
    """Make one round, or let a thread work for some seconds."""
    store = Store(Path(root))
    to = OtlpHttp("otlp", endpoint(url, HEADERS=f"x-who={os.environ.get('WHO', '')}"))
    forwarder = Forwarder([to], lambda: Store(Path(root)))
    print("ready", flush=True)  # noqa: T201
    sys.stdin.readline()
    if seconds:
        forwarder.flush(float(seconds))
    else:
        forwarder.once(store)
    store.close()
    to.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
