"""The arguments that are kept by hash: in the store of the settings, or in a folder that ``--blobs`` names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from otel_gate.errors import InputError
from otel_gate.store.blobs import HASH, REDACTED, Blob, Blobs
from otel_gate.store.files import Files

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Callable

    Get = Callable[[str], Blob | None]

FOLDER = "blobs"


def add(parser: ArgumentParser) -> None:
    """Declare ``--blobs``."""
    text = "where the arguments are kept by hash (default: the blobs of the store)"
    parser.add_argument("--blobs", metavar="DIR", help=text)


def getter(asked: str | None, store: Path) -> Get:
    """Return what finds the blob of a hash, in a store's folder or in one where blobs lie side by side.

    Raises:
        InputError: the folder that was asked for is not there.
    """
    folder = Path(asked) if asked else store / FOLDER
    if asked and not folder.is_dir():
        try_ = "the folder blobs of a store"
        raise InputError(which=f"--blobs {folder}", expected="a folder", got="none", try_=try_)
    stored = Blobs(folder, Files())

    def get(hashed: str) -> Blob | None:
        if not HASH.fullmatch(hashed):
            return None
        try:
            return stored.get(hashed) or _beside(folder, hashed)
        except OSError as error:
            got = error.strerror or str(error)
            raise InputError(str(folder), f"the blob {hashed} to read", got, "another --blobs") from error

    return get


def _beside(folder: Path, hashed: str) -> Blob | None:
    places = ((folder / (hashed + ending), bool(ending)) for ending in ("", REDACTED))
    return next((Blob(path.read_bytes(), redacted) for path, redacted in places if path.is_file()), None)
