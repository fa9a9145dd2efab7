"""Catalogues as commands read them: a file, standard input, or the hash of one that the store keeps."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from otel_gate.cli import stores
from otel_gate.errors import CatalogueError
from otel_gate.pipeline import catalogues
from otel_gate.store.blobs import HASH
from otel_gate.toolcalls.catalogue import MAX_BYTES, Catalogue, load

if TYPE_CHECKING:
    from argparse import Namespace

STDIN = "-"
WHERE = "a file of tools in any provider's form; - is standard input; the hash of a kept catalogue is taken too"


def read(path: str, args: Namespace) -> Catalogue:
    """Read the catalogue that an argument names; ``args`` say where the store is.

    Raises:
        CatalogueError: there is none, or it is broken.
        InputError: a hash was given, and there is no store.
    """
    if path == STDIN:
        return load(_stdin(), which="standard input")
    if HASH.fullmatch(path) and not Path(path).exists():
        return _kept(path, args)
    return load(path)


def _stdin() -> bytes:
    if sys.stdin is None:  # the caller closed it (`<&-`)
        raise CatalogueError(
            which="standard input", expected="a list of tools", got="nothing: it is closed", try_="a file"
        )
    return sys.stdin.buffer.read(MAX_BYTES + 1)


def _kept(hashed: str, args: Namespace) -> Catalogue:
    with stores.opened_for(args) as store:
        found = catalogues.kept(store.blobs, hashed)
    if found is None:
        raise CatalogueError(
            which=f"catalogue {hashed}", expected="one that the store keeps", got="none", try_="a file, or --store PATH"
        )
    return found
