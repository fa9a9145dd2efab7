"""On which line of a document something begins, from a scan of its brackets: findings can then point at it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\]\n]', re.DOTALL)


class _Opening(NamedTuple):
    """A bracket that opens: the line, how many are open with it, and the string that stood before it."""

    bracket: bytes
    line: int
    depth: int
    before: bytes


def lines(data: bytes) -> tuple[int, ...]:
    """Give the line (from 1) on which each span of one document or record begins, in the order of its spans.

    Best effort: it looks for the objects in the array under the document's key ``spans``, and finds fewer (or none) in
    text that is not JSON.
    """
    found: list[int] = []
    inside = False
    for bracket, line, depth, before in _openings(data):
        if depth == 2:  # noqa: PLR2004 - the document, then the array
            inside = bracket == b"[" and before == b'"spans"'
            found = [] if inside else found
        elif depth == 3 and inside and bracket == b"{":  # noqa: PLR2004 - the document, the array, then the span
            found.append(line)
    return tuple(found)


def element_lines(data: bytes) -> tuple[int, ...]:
    """Give the line (from 1) on which each object of a top-level array begins."""
    return tuple(line for bracket, line, depth, _ in _openings(data) if depth == 2 and bracket == b"{")  # noqa: PLR2004


def _openings(data: bytes) -> Iterator[_Opening]:
    line, depth, before = 1, 0, b""
    for match in _TOKEN.finditer(data):
        token = match.group()
        if token == b"\n":
            line += 1
        elif token in (b"{", b"["):
            depth += 1
            yield _Opening(token, line, depth, before)
        elif token in (b"}", b"]"):
            depth -= 1
        else:
            before = token
