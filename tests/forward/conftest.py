"""Stores, clocks, forwarders and certificates for these tests."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from otel_gate.forward import Forwarder
from otel_gate.store import Store
from tests.forward.story import Certificates, Clock, Shelf, Story

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from otel_gate.forward.destination import Destination

OPENSSL = shutil.which("openssl")


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    """Give a store that owes to ``otlp``, the name of our own client."""
    made = Shelf(Store(tmp_path / "store"), "otlp")
    yield made
    made.store.close()


@pytest.fixture
def clock() -> Clock:
    """Give a clock that stands still."""
    return Clock()


@pytest.fixture
def timed(tmp_path: Path, clock: Clock) -> Iterator[Shelf]:
    """Give a store whose time is the clock's and that owes to ``there``."""
    made = Shelf(Store(tmp_path / "timed", now_ns=clock.now_ns), "there")
    yield made
    made.store.close()


@pytest.fixture
def story(timed: Shelf, clock: Clock) -> Story:
    """Give a store, a clock and a destination that a test tells about."""
    return Story(timed, clock)


@pytest.fixture
def forward(shelf: Shelf) -> Iterator[Callable[..., Forwarder]]:
    """Make forwarders over the test's store; they are stopped after the test, in no time."""
    made: list[Forwarder] = []

    def make(*to: Destination, open_store: Callable[[], Store] | None = None) -> Forwarder:
        made.append(Forwarder(to, open_store or (lambda: Store(shelf.store.root))))
        return made[-1]

    yield make
    for one in made:
        one.shutdown(0.0)
        for courier in one.couriers:
            if courier._thread is not None:
                courier._thread.join(10)


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """Make an authority and a certificate; servers and clients use the same one."""
    if OPENSSL is None:
        pytest.skip("openssl: no such command, so no certificates")
    folder = tmp_path_factory.mktemp("certificates")
    (folder / "extensions").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n", encoding="ascii")
    new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    for command in (
        ["req", "-x509", *new, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=authority", "-days", "2"],
        ["req", *new, "-keyout", "own.key", "-out", "own.csr", "-subj", "/CN=localhost"],
        ["x509", "-req", "-in", "own.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out", "own.pem",
         "-days", "2", "-extfile", "extensions"],
    ):  # fmt: skip
        subprocess.run([OPENSSL, *command], cwd=folder, check=True, capture_output=True, timeout=30)
    return Certificates(folder / "ca.pem", folder / "own.pem", folder / "own.key")
