"""Catalogues kept beside the records, as blobs under their hash, so that a run knows which interface it saw.

A tool span names its catalogue by ``tool.catalogue.sha256``; the blob of that hash is what the model was shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.toolcalls.catalogue import load

if TYPE_CHECKING:
    from otel_gate.store.blobs import Blobs
    from otel_gate.toolcalls.catalogue import Catalogue


def keep(blobs: Blobs, catalogue: Catalogue) -> str:
    """Keep a catalogue and return its hash; one that is there already costs a look."""
    blobs.put(catalogue.hash, catalogue.content)
    return catalogue.hash


def kept(blobs: Blobs, hashed: str) -> Catalogue | None:
    """Return the catalogue that was kept under a hash, or None.

    Raises:
        CatalogueError: the blob is no catalogue.
    """
    blob = blobs.get(hashed)
    return None if blob is None else load(blob.content, which=f"blob {hashed}")
