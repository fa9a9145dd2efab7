"""Compressed files, told by their first bytes: unpacked chunk by chunk, members one after another, up to a limit.

gzip is in the standard library; zstd takes the package ``zstandard`` (``otel-gate[zstd]``). What was unpacked before
a fault is kept, and the fault is said. What grows to more than ``RATIO`` times its size, and a gigabyte, is a bomb.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import zlib
from typing import TYPE_CHECKING, Any, BinaryIO

from otel_gate.core.counted import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CHUNK_BYTES = 1 << 18
SLICE_BYTES = 1 << 10  # of zstd, which can grow thirty thousand times
WINDOW_BYTES = 1 << 27
LEAST_LIMIT_BYTES = 1 << 30
RATIO = 200
GZIP, ZSTD = "gzip", "zstd"
MAGIC = {b"\x1f\x8b": GZIP, b"\x28\xb5\x2f\xfd": ZSTD}
TRUNCATED = "truncated_tail"
INSTALL = "install otel-gate[zstd], or unpack it with the zstd command"


class PackedError(Exception):
    """A compressed file that can't be unpacked, or not to its end; ``code`` names what is the matter."""

    def __init__(self, code: str, got: str) -> None:
        """Take the code of a note and what was met."""
        super().__init__(got)
        self.code = code


def packing(head: bytes) -> str | None:
    """Name the compression by the first bytes of a file; None when it is none that is unpacked here."""
    return next((name for magic, name in MAGIC.items() if head.startswith(magic)), None)


def unpack(source: BinaryIO, write: Callable[[bytes], object], size: int) -> None:
    """Unpack ``source``, of so many bytes, chunk by chunk.

    Raises:
        PackedError: it ends early, is damaged, or outgrows the limit; what was unpacked until then is written.

    """
    packed = source.read(CHUNK_BYTES)
    name = packing(packed)
    if name is None:
        raise PackedError("not_packed", "bytes that are neither gzip nor zstd")
    make = _Gzip if name == GZIP else _zstd()
    limit, written = max(LEAST_LIMIT_BYTES, RATIO * size), 0
    while packed:
        member = make()
        while packed and not member.ended:
            for out in _sound(member.feed(packed), name):
                written += len(out)
                if written > limit:
                    raise PackedError("too_large", f"{name} data that unpacks to more than {counted(limit, 'byte')}")
                write(out)
            packed = member.left if member.ended else source.read(CHUNK_BYTES)
        if not member.ended:
            raise PackedError(TRUNCATED, f"{name} data that ends early")
        packed = _next_member(packed + source.read(CHUNK_BYTES), name)


def unpacked(data: bytes) -> tuple[bytes, PackedError | None]:
    """Unpack bytes in memory; return what could be unpacked, and what was the matter."""
    out = io.BytesIO()
    try:
        unpack(io.BytesIO(data), out.write, len(data))
    except PackedError as error:
        return out.getvalue(), error
    return out.getvalue(), None


def _next_member(packed: bytes, name: str) -> bytes:
    """Return the bytes from the next member on; zeros after the last one are padding."""
    if packing(packed) == name:
        return packed
    if packed.strip(b"\0"):
        raise PackedError("damaged", f"{name} data with something else after it")
    return b""


def _sound(outs: Iterator[bytes], name: str) -> Iterator[bytes]:
    try:
        yield from outs
    except (zlib.error, ValueError) as error:
        raise PackedError("damaged", f"damaged {name} data ({error})") from error


class _Gzip:
    """One member of a gzip file."""

    def __init__(self) -> None:
        self._object = zlib.decompressobj(zlib.MAX_WBITS | 16)
        self.ended, self.left = False, b""

    def feed(self, data: bytes) -> Iterator[bytes]:
        while data and not self.ended:
            before = self._object.copy()
            try:
                out = self._object.decompress(data, CHUNK_BYTES)
            except zlib.error:
                yield from _until_fault(before, data)
                raise
            yield out
            data = self._object.unconsumed_tail
            self.ended = self._object.eof
        self.left = self._object.unused_data


def _until_fault(before: Any, data: bytes) -> Iterator[bytes]:
    """Unpack byte by byte what stands before a fault: a call that raises gives nothing."""
    out = io.BytesIO()
    with contextlib.suppress(zlib.error):
        for at in range(len(data)):
            out.write(before.decompress(data[at : at + 1]))
    yield out.getvalue()


def _zstd() -> Callable[[], Any]:
    try:
        zstandard = importlib.import_module("zstandard")
    except ImportError:
        raise PackedError("no_zstd", f"zstd data, and no package to unpack it; {INSTALL}") from None
    context = zstandard.ZstdDecompressor(max_window_size=WINDOW_BYTES)

    class Zstd:
        """One frame of a zstd file."""

        def __init__(self) -> None:
            self._object = context.decompressobj()
            self.ended, self.left = False, b""

        def feed(self, data: bytes) -> Iterator[bytes]:
            for start in range(0, len(data), SLICE_BYTES):
                try:
                    yield self._object.decompress(data[start : start + SLICE_BYTES])
                except zstandard.ZstdError as error:
                    raise ValueError(error) from error
                if self._object.eof:
                    self.ended, self.left = True, self._object.unused_data + data[start + SLICE_BYTES :]
                    return

    return Zstd
