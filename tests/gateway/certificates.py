"""Certificates on loopback, made by openssl: an authority of its own, and what it signed."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

OPENSSL = shutil.which("openssl")
NEW = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]


class Authority:
    """An authority in a folder: ``ca.pem``, and ``<name>.pem`` with ``<name>.key`` for whom it signed."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        if OPENSSL is None:
            pytest.skip("openssl: no such command, so no certificates")
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._run("req", "-x509", *NEW, "-keyout", "ca.key", "-out", "ca.pem", "-subj", f"/CN={name}", "-days", "2")

    @property
    def ca(self) -> Path:
        return self.folder / "ca.pem"

    def sign(self, name: str) -> tuple[Path, Path]:
        """Return a certificate for loopback, and its key."""
        self._run("req", *NEW, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        (self.folder / "names").write_text("subjectAltName=IP:127.0.0.1,DNS:localhost", encoding="ascii")
        self._run(
            "x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
            "-out", f"{name}.pem", "-days", "2", "-extfile", "names",
        )  # fmt: skip
        return self.folder / f"{name}.pem", self.folder / f"{name}.key"

    def _run(self, *command: str) -> None:
        subprocess.run([str(OPENSSL), *command], cwd=self.folder, check=True, capture_output=True)
