"""Where a gateway listens: a place as text, a socket on it, and what is said when that can't be."""

from __future__ import annotations

import socket

from otel_gate.errors import SettingsError


def place(host: str, port: int) -> str:
    """Return a host and a port as URLs and gRPC have them."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens; port 0 is a free one.

    Raises:
        SettingsError: it can't.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise unbound("http_port", host, port, error) from error


def unbound(which: str, host: str, port: int, error: Exception) -> SettingsError:
    """Return what to say of a port that can't be had."""
    return SettingsError(which, f"to listen on {place(host, port)}", str(error), "another port, or 0 for a free one")
