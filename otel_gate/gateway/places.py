"""Where a gateway listens: a place as text, a socket on it, and what is said when that can't be."""

from __future__ import annotations

import errno
import socket

from otel_gate.errors import SettingsError


def place(host: str, port: int) -> str:
    """Return a host and a port as URLs and gRPC have them."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def listen(host: str, port: int, which: str = "http_port") -> socket.socket:
    """Return a socket that listens; port 0 is a free one.

    Raises:
        SettingsError: it can't; ``which`` is the option that the port comes from.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise unbound(which, host, port, error) from error


def unbound(which: str, host: str, port: int, error: Exception) -> SettingsError:
    """Return what to say of a host or a port that can't be had."""
    first = error.__context__ if isinstance(error.__context__, OSError) else error  # Python puts more words around it
    said = getattr(first, "strerror", None) or str(first)
    if isinstance(first, socket.gaierror) or getattr(first, "errno", None) == errno.EADDRNOTAVAIL:
        try_ = "127.0.0.1, or 0.0.0.0 for every address of this machine"
        return SettingsError(f"host {host}", "a name or an address of this machine", said, try_)
    return SettingsError(which, f"to listen on {place(host, port)}", said, "another port, or 0 for a free one")
