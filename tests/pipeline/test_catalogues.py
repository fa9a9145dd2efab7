"""Catalogues are kept beside the records, under their hash."""

# ruff: noqa: RUF001 - names in other scripts
from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from otel_gate.errors import CatalogueError
from otel_gate.pipeline.catalogues import keep, kept
from otel_gate.store import Store
from otel_gate.toolcalls.catalogue import ATTRIBUTE, Catalogue
from otel_gate.toolcalls.model import Tool

if TYPE_CHECKING:
    from pathlib import Path


def test_what_a_run_saw_can_be_read_again(tmp_path: Path) -> None:
    """A kept catalogue comes back by its hash; another hash has none; keeping it twice is keeping it once."""
    store = Store(tmp_path)
    made = Catalogue([Tool("создать.сделку", "d", {"properties": {"б": {}, "а": {}}})])
    assert keep(store.blobs, made) == keep(store.blobs, made) == made.hash
    assert kept(store.blobs, made.hash) == made
    assert kept(store.blobs, "0" * 64) is None
    assert len([path for path in (tmp_path / "blobs").rglob("*") if path.is_file()]) == 1
    store.close()


def test_a_blob_of_something_else_is_named(tmp_path: Path) -> None:
    """The blob of a call's arguments is no catalogue."""
    store = Store(tmp_path)
    store.blobs.put("1" * 64, b'{"q": 1}')
    with pytest.raises(CatalogueError, match="tool 0: expected a tool"):
        kept(store.blobs, "1" * 64)
    store.close()


def test_the_attribute_is_named() -> None:
    """A tool span says by this attribute which catalogue its call was judged by."""
    assert ATTRIBUTE == "tool.catalogue.sha256"
