"""A store as commands read it: it must be there, and what it holds is found by the beginning of a trace id."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import sqlite3
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from otel_gate.cli import configuration
from otel_gate.errors import InputError, UsageError, WriteError
from otel_gate.pipeline.policy import Policy
from otel_gate.report.escape import shortened
from otel_gate.report.explanation import Delivery
from otel_gate.store import Store
from otel_gate.store.store import INDEX

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterator

    from otel_gate.core.model import Record
    from otel_gate.settings import Settings

LISTED = 5
ALL = 2**62  # rows: every one
NO_ROOM = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY})
FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS})


@contextlib.contextmanager
def opened(settings: Settings) -> Iterator[Store]:
    """Open the store of the settings, with every record that is on the disk in its index.

    Raises:
        InputError: there is no such folder.
        WriteError: the index can't be opened or written.
    """
    must_be_there(settings.store)
    with _reconciled(Store(settings.store, layout=settings.layout), settings) as store:
        yield store


def opened_for(args: Namespace) -> contextlib.AbstractContextManager[Store]:
    """Open the store that a command's arguments and the settings name, to read it; also one that can't be written."""
    return to_read(configuration.settled(args))


@contextlib.contextmanager
def to_read(settings: Settings) -> Iterator[Store]:
    """Open the store of the settings to read it; also one that can't be written, or whose disk is full."""
    must_be_there(settings.store)
    with contextlib.ExitStack() as stack:
        yield _entered(stack, settings)


def _entered(stack: contextlib.ExitStack, settings: Settings) -> Store:
    if os.access(settings.store, os.W_OK):
        try:
            return stack.enter_context(opened(settings))
        except WriteError as error:
            if not _has_no_room(error.__cause__):
                raise
    return stack.enter_context(_only_read(settings))


def _has_no_room(error: BaseException | None) -> bool:
    """Tell whether a disk takes nothing more: SQLite says so in several ways."""
    if isinstance(error, sqlite3.Error):
        return getattr(error, "sqlite_errorcode", 0) & 0xFF in NO_ROOM
    return isinstance(error, OSError) and error.errno in FULL


@contextlib.contextmanager
def _only_read(settings: Settings) -> Iterator[Store]:
    """Open a store with a copy of its index, which is brought up to date and forgotten."""
    root = settings.store
    with contextlib.ExitStack() as stack:
        try:
            beside = stack.enter_context(tempfile.TemporaryDirectory(prefix="otel-gate-"))
            for path in root.glob(f"{INDEX}*"):
                if path.name in {INDEX, f"{INDEX}-wal"}:
                    shutil.copyfile(path, Path(beside, path.name))
        except OSError as error:
            which, got = f"a copy of the index of {root}", error.strerror or str(error)
            raise WriteError(which, "room for it", got, "TMPDIR=FOLDER") from error
        with _reconciled(Store(root, index=Path(beside, INDEX)), settings) as store:
            yield store


def must_be_there(root: Path, try_: str = "--store PATH, or otel-gate demo") -> None:
    """Refuse to look at a store that nobody has made.

    Raises:
        InputError: there is no such folder.
    """
    if not root.is_dir():
        expected = "a folder that the gate has written to"
        raise InputError(which=f"the store {root}", expected=expected, got="none", try_=try_)


@contextlib.contextmanager
def _reconciled(store: Store, settings: Settings) -> Iterator[Store]:
    try:
        store.reconcile((), forwardable(settings))
        yield store
    except BrokenPipeError:
        raise
    except (sqlite3.Error, OSError) as error:
        expected, got = "a folder and an index to read and write", str(error)
        raise WriteError(
            which=f"the store {store.root}", expected=expected, got=got, try_="otel-gate doctor"
        ) from error
    finally:
        store.close()


def forwardable(settings: Settings) -> Callable[[Record], bool]:
    """Return what tells whether a record may leave, under the mode of the settings."""
    return Policy(rules=(), mode=settings.mode).forwardable


def find(store: Store, beginning: str) -> str:
    """Return the place of the record whose trace id (or place) is given, whole or by its beginning.

    Raises:
        InputError: there is none.
        UsageError: there are several.
    """
    rows = store.index.find(beginning.lower(), LISTED + 1)
    exact = [row for row in rows if beginning.lower() in (row["trace_id"], row["place"])]
    if not rows:
        which, got = f"trace {shortened(beginning, 64)}", f"none in {store.root}"
        if beginning and (lost := store.lost(beginning.lower())):
            got = f"a segment that was cut, or removed: {which} was line {lost.line} of it"
            raise InputError(
                str(lost.path), "the records that were written", got, "a copy from before, otel-gate doctor"
            )
        raise InputError(which=which, expected="a record of it", got=got, try_="otel-gate list, or --store PATH")
    if len(exact or rows) > 1:
        names = [shortened(row["trace_id"] or row["place"], 64) for row in rows[:LISTED]]
        more = ", …" if len(rows) > LISTED else ""
        got = f"several: {', '.join(names)}{more}"
        raise UsageError(which=f"trace {beginning!r}", expected="one record", got=got, try_="more of the id")
    place: str = (exact or rows)[0]["place"]
    return place


def deliveries(store: Store, place: str) -> list[Delivery]:
    """Return what is known about the deliveries of a record."""
    return [delivery(row) for row in store.outbox.of(place)]


def delivery(row: sqlite3.Row) -> Delivery:
    """Return a row of the outbox."""
    return Delivery(*(row[field] for field in Delivery.__struct_fields__))
