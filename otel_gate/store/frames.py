"""Entries of a journal as bytes, and bytes as entries again, whatever happened to them.

An entry is ``FF FE | length | checksum | payload``; length and checksum are 32 bits each, little endian, and the length
is the payload's. The checksum is the CRC-32 of the payload, begun with a secret number of the journal's own: a payload
(text that a model wrote, a blob) that looks like an entry is none, also where the entry around it is damaged.

What always holds: every entry whose bytes are whole is found, in order, wherever others are damaged; nothing else is.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAGIC = b"\xff\xfe"
HEAD = struct.Struct("<2sII")
SIZE, pack, unpack = HEAD.size, HEAD.pack, HEAD.unpack_from
PIECE_BYTES = 1 << 20


class Parsed(NamedTuple):
    """What bytes hold: entries with the offset of each, up to where they were read, and what between was damaged."""

    entries: list[tuple[int, bytes]]
    end: int
    damaged: list[tuple[int, int]]


def framed(payload: bytes, secret: int) -> bytes:
    """Return the bytes of an entry."""
    return pack(MAGIC, len(payload), crc32(payload, secret)) + payload


def pieces(payloads: Iterable[bytes], secret: int) -> Iterator[bytes]:
    """Join the entries of payloads to pieces of about ``PIECE_BYTES``."""
    piece: list[bytes] = []
    size = 0
    for payload in payloads:
        piece.append(framed(payload, secret))
        size += len(payload)
        if size >= PIECE_BYTES:
            yield b"".join(piece)
            piece, size = [], 0
    if piece:
        yield b"".join(piece)


def parse(content: bytes, secret: int) -> Parsed:
    """Read the entries of some bytes.

    What is damaged, or was never written to its end, is passed over when a whole entry follows. What no entry follows
    may still be on its way: ``end`` is where it begins.

    ``damaged`` has where each gap begins and where it ends.
    """
    entries: list[tuple[int, bytes]] = []
    damaged: list[tuple[int, int]] = []
    at, end, add = 0, len(content), entries.append
    while at < end:
        if at + SIZE <= end:
            magic, length, checksum = unpack(content, at)
            start = at + SIZE
            payload = content[start : start + length]
            if magic == MAGIC and len(payload) == length and crc32(payload, secret) == checksum:
                add((at, payload))
                at = start + length
                continue
        whole = _next(content, at + 1, secret)
        if whole < 0:
            break
        damaged.append((at, whole))
        at = whole
    return Parsed(entries, at, damaged)


def entry(content: bytes, at: int, secret: int) -> bytes | None:
    """Return the payload of the entry at an offset, or None when no whole entry is there."""
    if at + SIZE > len(content):
        return None
    magic, length, checksum = unpack(content, at)
    payload = content[at + SIZE : at + SIZE + length]
    whole = magic == MAGIC and len(payload) == length and crc32(payload, secret) == checksum
    return payload if whole else None


def is_torn(content: bytes, size: int) -> bool:
    """Tell whether ``size`` bytes that begin with ``content`` can be an entry whose end was never written."""
    if len(content) < SIZE:
        return MAGIC.startswith(content[: len(MAGIC)])
    magic, length, _ = HEAD.unpack_from(content)
    return bool(magic == MAGIC and SIZE + length > size)


def _next(content: bytes, start: int, secret: int) -> int:
    """Return where the next whole entry begins, -1 when there is none."""
    at = content.find(MAGIC, start)
    while at >= 0:
        if entry(content, at, secret) is not None:
            return at
        at = content.find(MAGIC, at + 1)
    return -1
