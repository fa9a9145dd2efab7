"""The certificate that a gateway presents, by its fingerprint: who finds it by its store may trust just this one.

So ``status --watch`` needs no authority and no name in the certificate: the store, which it reads anyway, says which
one it is. It is taken from the file when the gateway has read it too, at the start and when it has changed.
"""

from __future__ import annotations

import hashlib
import re
import ssl
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_gate.gateway.reloading import Reloadable

FIRST = re.compile("-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)


class Presented:
    """Certificates that are read again, with somebody who is told when they have changed."""

    def __init__(self, certificates: Reloadable, told: Callable[[], None]) -> None:
        """Watch these."""
        self._certificates, self._told = certificates, told

    def reload(self) -> str:
        """Read them again, and return which have changed; what can't be used raises, and changes nothing."""
        changed = self._certificates.reload()
        if changed:
            self._told()
        return changed


def fingerprint(path: str) -> str:
    """Return the SHA-256 of the first certificate of a PEM file, in hex; empty when there is none to be read."""
    try:
        found = FIRST.search(Path(path).read_text(encoding="utf-8", errors="replace")) if path else None
        content = ssl.PEM_cert_to_DER_cert(found[0]) if found else b""
    except (OSError, ValueError):
        return ""
    return hashlib.sha256(content).hexdigest() if content else ""
