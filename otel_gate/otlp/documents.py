r"""Where the documents of a file begin and end.

A file of JSON holds one document (perhaps printed over many lines), one a line, or several that follow each other.
Each document is looked for in its line first, then in all lines up to the next that begins with ``{`` or ``[``, and the
first one in the whole file too. What is in none of these is one bad document, and reading goes on behind it: a line
that was cut off costs that line. Lines end at ``\n`` only; JSON strings may hold the other separators.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from otel_gate.otlp.text import DUPLICATE_JSON_KEY, UTF16, Parsed, has_duplicate_keys, parse_all, quick

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"PK\x03\x04": "zip", b"BZh": "bzip2", b"\xfd7zXZ\0": "xz"}
HEAD_BYTES = 512

_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1d\x1f]")
_BLANK = re.compile(rb"[ \t\r\n]*")
_NEXT_TOP = re.compile(rb"\n(?=(?:\xef\xbb\xbf|\x1e)?[{\[])")
_BEFORE_JSON = b"\xef\xbb\xbf\x00\x1e \t\r\n"


class Document(NamedTuple):
    """One JSON document of a file, the line (from 1) on which it begins, and the bytes in which it stands.

    ``start`` is where these begin in what is read; documents that stand in the same bytes have the same.
    """

    parsed: Parsed
    line: int
    data: bytes
    start: int


def documents(data: bytes, line: int = 1, *, whole: bool = True) -> Iterator[Document]:
    """Walk the JSON documents of a file, bad ones included.

    For one of its ``blocks``, ``line`` is that on which it begins, and ``whole`` false: the file was not one document.
    """
    start = _content(data, 0)
    line += data.count(b"\n", 0, start)
    plain = _quick(data)
    if plain:
        yield Document(plain, line, data[start:], start)
        return
    first = whole
    while start < len(data):
        found, end = _next(data, start, whole=first)
        for parsed in found:
            yield Document(parsed, line + parsed.line, data[start:end], start)
        after = _content(data, end)
        line, start, first = line + data.count(b"\n", start, after), after, False


def is_binary(data: bytes) -> bool:
    """Tell bytes that are no text from JSON. OTLP protobuf begins with 0x0A, which is a line feed in JSON."""
    if data.startswith(UTF16):
        return False
    head = data[:HEAD_BYTES]
    if head.count(0) == HEAD_BYTES:  # a file that was truncated under its writer
        head = data.lstrip(b"\0")[:HEAD_BYTES]
    has_control = _CONTROL.search(head) is not None
    if head.lstrip(_BEFORE_JSON)[:1] in (b"{", b"["):
        return has_control and data.startswith(b"\n")
    return has_control


def packed_as(data: bytes) -> str | None:
    """Name the compression of a file that needs unpacking first, from its first bytes."""
    return next((name for magic, name in PACKED.items() if data.startswith(magic)), None)


def _next(data: bytes, start: int, *, whole: bool) -> tuple[list[Parsed], int]:
    line_end = data.find(b"\n", start)
    top = _NEXT_TOP.search(data, start)
    next_top = top.start() if top else len(data)
    ends = [len(data) if line_end < 0 else line_end, next_top, *([len(data)] * whole)]
    found: list[Parsed] = []
    for end in dict.fromkeys(ends):
        found = texts(data[start:end])
        if found[-1].problem is None:
            return found, end
    return (found if next_top == len(data) else texts(data[start:next_top])), next_top


def texts(chunk: bytes) -> list[Parsed]:
    """Read the JSON texts that stand in bytes, one after another; the last is the ``Problem`` of what can't be read."""
    plain = _quick(chunk)
    return [plain] if plain else parse_all(chunk) or [Parsed(None)]


def _quick(chunk: bytes) -> Parsed | None:
    plain = quick(chunk)
    return plain._replace(notes=(DUPLICATE_JSON_KEY,)) if plain and has_duplicate_keys(chunk) else plain


def _content(data: bytes, start: int) -> int:
    found = _BLANK.match(data, start)
    return found.end() if found else start
