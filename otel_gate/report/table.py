"""Rows of text in aligned columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def columns(rows: Sequence[Sequence[str]], indent: str = "") -> list[str]:
    """Return a line a row, every column as wide as its widest cell; cells are printable and rows equally long."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return [indent + line.rstrip() for line in lines]
