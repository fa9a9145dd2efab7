"""A gateway that sends to one of its own doors is refused: traces would come back, and count as delivered.

Names are looked up only where the ports are the same. An address is one of this machine when what is sent there would
come from it.
"""

from __future__ import annotations

import ipaddress
import socket
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from otel_gate.errors import SettingsError
from otel_gate.gateway.places import place

if TYPE_CHECKING:
    from collections.abc import Mapping

    from otel_gate.gateway.options import Ports

STANDARD = {"http": 80, "https": 443}


def refuse(there: Mapping[str, str], host: str, ports: Ports) -> None:
    """Refuse a gateway that listens on this host and these ports, and sends to URLs, by what they are called.

    Raises:
        SettingsError: one of them is one of its own doors.
    """
    for which, url in there.items():
        parts = urlsplit(url if "://" in url else f"//{url}")
        name, port = parts.hostname or "", parts.port or STANDARD.get(parts.scheme)
        door = next((door for door, own in ports._asdict().items() if own is not None and own == port), None)
        if door is not None and port is not None and _is_here(name, host):
            expected, got = "another place than this gateway", f"{place(name, port)}, its own door for {door}"
            raise SettingsError(which, expected, got, "the address of the collector")


def _is_here(name: str, host: str) -> bool:
    """Tell whether who goes to a name comes to what listens on a host."""
    found, own = _addresses(name), _addresses(host)
    if any(_is_any(address) for address in own):
        return any(map(_is_ours, found))
    return bool(found & own) or any(map(_is_any, found))


def _addresses(name: str) -> set[str]:
    try:
        return {str(found[4][0]) for found in socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)}
    except (OSError, UnicodeError):
        return set()


def _is_any(address: str) -> bool:
    return ipaddress.ip_address(address.partition("%")[0]).is_unspecified


def _is_ours(address: str) -> bool:
    bare = ipaddress.ip_address(address.partition("%")[0])
    if bare.is_loopback or bare.is_unspecified:
        return True
    try:
        with socket.socket(socket.AF_INET6 if bare.version == 6 else socket.AF_INET, socket.SOCK_DGRAM) as sent:  # noqa: PLR2004
            sent.connect((address, 9))  # of UDP: nothing is sent
            return str(sent.getsockname()[0]) == address
    except OSError:
        return False
