"""Compressed bodies, unpacked piece by piece up to a limit: a bomb stops there."""

from __future__ import annotations

import zlib

from otel_gate.core.counted import counted
from otel_gate.errors import InputError

BODY, PIECE_BYTES = "the body", 1 << 20
SMALLER = "smaller batches, or --max-request-bytes"
GZIP_MAGIC, GZIP_BITS = b"\x1f\x8b", 31
DEFLATE_METHOD, DEFLATE_CHECK = 8, 31
IDENTITY = frozenset({"", "identity"})
ENCODINGS = frozenset({"gzip", "x-gzip", "deflate"})


class NotPackedError(InputError):
    """A body is not packed as it says."""

    http_status = 400


class TooLargeError(InputError):
    """A body is larger than it may be, once unpacked."""

    http_status = 413


def unpack(body: bytes, encoding: str, limit: int) -> bytes:
    """Return a body as it was before it was packed; several gzip members that follow each other are one body.

    Raises:
        NotPackedError: it is not packed in this way, or was cut off.
        TooLargeError: it is larger than ``limit`` bytes.
    """
    out, size = [], 0
    rest = body
    while rest:
        unpacker = zlib.decompressobj(zlib.MAX_WBITS if encoding == "deflate" else GZIP_BITS)
        while not unpacker.eof:
            try:
                piece = unpacker.decompress(rest, PIECE_BYTES)
            except zlib.error as error:
                raise NotPackedError(BODY, encoding, str(error)) from error
            rest = unpacker.unconsumed_tail
            out.append(piece)
            size += len(piece)
            if size > limit:
                raise TooLargeError(BODY, f"at most {counted(limit, 'byte')}, unpacked", "more", SMALLER)
            if not piece and not rest and not unpacker.eof:
                raise NotPackedError(BODY, f"whole {encoding} data", "data that was cut off")
        rest = unpacker.unused_data
    return b"".join(out)


def packed_as(message: bytes) -> str:
    """Tell how a gRPC message is packed, from its first bytes: no request begins like that."""
    if message.startswith(GZIP_MAGIC):
        return "gzip"
    is_deflate = len(message) > 1 and message[0] & 15 == DEFLATE_METHOD and message[0] >> 4 <= 7  # noqa: PLR2004
    return "deflate" if is_deflate and (message[0] << 8 | message[1]) % DEFLATE_CHECK == 0 else ""
