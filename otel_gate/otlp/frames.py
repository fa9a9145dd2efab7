"""Files of length-prefixed frames: four bytes of length (the highest first), then a request in protobuf or JSON.

The Collector's file exporter writes them for protobuf, and for both when it compresses: each frame is then a zstd frame
of its own. A file is one of frames when they tile it, as far as is looked, and something can be read in one: a bad one
costs itself.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, BinaryIO

from otel_gate.otlp.blocks import Block, Over
from otel_gate.otlp.packed import CHUNK_BYTES, packing

if TYPE_CHECKING:
    from collections.abc import Iterator

HEAD = 4
MOST_FRAME_BYTES = 1 << 28
LOOKED_AT = 100  # frames
_FIELD, _MOST_VARINT = b"\x0a", 10


def is_framed(file: BinaryIO) -> bool:
    """Tell whether a file begins with frames, of which some may be bad; it is rewound."""
    size = file.seek(0, 2)
    file.seek(0)
    offset = sound = number = 0
    while offset < size and number < LOOKED_AT:
        length, number = int.from_bytes(file.read(HEAD), "big"), number + 1
        if length > MOST_FRAME_BYTES:
            break
        if offset + HEAD + length > size:
            break  # cut off
        sound += _is_body(file.read(length))
        offset += HEAD + length
    file.seek(0)
    return sound > 0


def frames(file: BinaryIO, start: int = 0, end: int | None = None) -> Iterator[Block]:
    """Walk the frames of a file that begin in a range of bytes; a cut one is told by ``Block.cut``.

    Behind a length that can be none no frame can be found: the rest of the file is ``Block.over``.
    """
    file.seek(0)
    offset = number = 0
    while head := file.read(HEAD):
        number += 1
        length = int.from_bytes(head, "big")
        if end is not None and offset >= end:
            return
        if len(head) == HEAD and length > MOST_FRAME_BYTES:
            if offset >= start:
                yield Block(b"", number, offset, last=True, cut=True, over=_rest(head, file))
            return
        if offset < start and len(head) == HEAD:
            file.seek(length, 1)
        else:
            body = file.read(length)
            cut = len(head) < HEAD or len(body) < length
            yield Block(body or head * cut, number, offset + HEAD * bool(body), cut=cut, last=cut)
            if cut:
                return
        offset += HEAD + length


def _rest(head: bytes, file: BinaryIO) -> Over:
    length, hashed = len(head), hashlib.sha256(head)
    while chunk := file.read(CHUNK_BYTES):
        length += len(chunk)
        hashed.update(chunk)
    return Over(length, hashed.hexdigest())


def _is_body(body: bytes) -> bool:
    return body[:1] in (b"{", b"[") or packing(body) is not None or _is_request(body)


def _is_request(body: bytes) -> bool:
    """Tell protobuf that has nothing but field 1 at the top: the groups of a request."""
    at = 0
    while at < len(body):
        if body[at : at + 1] != _FIELD:
            return False
        size, shift, at = 0, 0, at + 1
        while at < len(body) and shift < 7 * _MOST_VARINT:
            byte, at = body[at], at + 1
            size |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                break
        at += size
    return at == len(body)
