"""``otel-gate doctor``: look for what is in the way, in the environment and in the store, and name the remedy."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from importlib import metadata
from typing import TYPE_CHECKING

from otel_gate.cli import configuration, output, stores
from otel_gate.cli.environment import Finding, findings
from otel_gate.errors import GateError, SettingsError
from otel_gate.forward.endpoint import from_environment
from otel_gate.store import Store

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator
    from pathlib import Path

    from otel_gate.settings import Settings

FOUND = 1
DISTRO = "opentelemetry-distro"


def add(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    text = "make the index anew from the records; deliveries stay as they are"
    parser.add_argument("--rebuild-index", action="store_true", help=text)


def run(args: Namespace) -> int:
    """Print a line a finding; 1 when there is one."""
    loaded = configuration.load(args, strict=False)
    if args.rebuild_index:
        with stores.opened(loaded.settings) as store:
            entered = store.rebuild(stores.forwardable(loaded.settings))
        output.complain(f"otel-gate: the index was made anew, with {entered} records")
    found = [Finding(str(problem), "otel-gate config show") for problem in loaded.problems]
    found += findings(os.environ, has_distro=_has_distro())
    found += _store(loaded.settings)
    found += _endpoint()
    output.say(map(str, found) if found else ["no findings"])
    return FOUND if found else 0


def _has_distro() -> bool:
    try:
        metadata.distribution(DISTRO)
    except metadata.PackageNotFoundError:
        return False
    return True


def _endpoint() -> Iterator[Finding]:
    try:
        endpoint = from_environment(os.environ, "")
    except SettingsError as error:
        yield Finding(f"{error.which}: expected {error.expected}, got {error.got}", error.try_)
        return
    if endpoint is None:
        yield Finding(
            "no endpoint is set: traces are recorded, not forwarded",
            "OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4317",
        )


def _store(settings: Settings) -> Iterator[Finding]:
    root = settings.store
    place = next(path for path in (root, *root.parents) if path.exists())
    try:
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as error:
        got = error.strerror or str(error)
        yield Finding(f"the store {root} can't be written: {got}", f"write access to {place}, or the setting store")
        return
    if root.is_dir():
        yield from _contents(root, settings)


def _contents(root: Path, settings: Settings) -> Iterator[Finding]:
    store = Store(root)
    try:
        store.reconcile((), stores.forwardable(settings))
        check = store.database.connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if check != "ok":
            yield Finding(f"the index of {root} is damaged: {check}", "otel-gate doctor --rebuild-index")
    except (sqlite3.Error, OSError, GateError) as error:
        yield Finding(f"the index of {root} can't be read: {error}", "otel-gate doctor --rebuild-index")
    finally:
        store.close()
    for path in sorted(root.glob("*.damaged")):
        yield Finding(f"{path.name}: the index was damaged, and was made anew from the records", f"removing {path}")
    quarantined = sorted((root / "quarantine").glob("*"))
    if quarantined:
        yield Finding(f"{len(quarantined)} records can't be read; they lie in {root / 'quarantine'}", "looking at them")
