"""Catalogues as commands read them: a file, standard input, or the hash of one that the store keeps."""

from __future__ import annotations

import difflib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from otel_gate.cli import stores
from otel_gate.errors import CatalogueError, UsageError
from otel_gate.pipeline import catalogues
from otel_gate.report.escape import shortened
from otel_gate.store.blobs import HASH
from otel_gate.toolcalls.catalogue import MAX_BYTES, Catalogue, load

if TYPE_CHECKING:
    from argparse import Namespace

    from otel_gate.toolcalls.model import Tool

STDIN = "-"
LONGEST_NAME = 80
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


def tool(catalogue: Catalogue, name: str, which: str, otherwise: str) -> Tool:
    """Return the tool that an argument names; ``which`` is that argument.

    Raises:
        UsageError: there is none; the nearest name is what to try, else what ``otherwise`` says.
    """
    found = catalogue.get(name)
    if found is None:
        near = difflib.get_close_matches(name, catalogue.names, n=1, cutoff=0.3)
        try_ = shortened(near[0], LONGEST_NAME) if near else otherwise
        raise UsageError(which, "the name of a tool in the catalogue", shortened(name, LONGEST_NAME) or '""', try_)
    return found


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
