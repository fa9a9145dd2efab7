"""What hooks tell the worker, and what a journal holds. ``key`` is the trace id as text; a trace without has a number.

They are made on the agent's time, so they are small and not tracked by the garbage collector. Each is an array in
MessagePack whose first element is a letter: this is the format of a journal's payloads (``journal/1``), and only grows.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec import Struct

from otel_gate.core.model import Completion, Problem, Resource, Scope, Source  # noqa: TC001 - msgspec reads them

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_gate.pipeline.policy import Accounts

Key = str | tuple[str, int]


class Started(Struct, frozen=True, gc=False, array_like=True, tag="s"):
    """A span of this process has started: it is open, until it ends; a local root has its drawn ``run_id``."""

    key: Key
    span_id: str
    name: str
    start_ns: int
    run_id: str
    parent_span_id: str
    remote: bool


class Ended(Struct, gc=False, array_like=True, tag="e"):
    """A span of this process has ended; ``root`` says that it has no parent."""

    key: Key
    span_id: str
    line: bytes
    root: bool
    run_id: str


class Arrived(Struct, gc=False, array_like=True, tag="a"):
    """A span came through an exporter or a wire; ``root`` says that it may count as root."""

    key: Key
    span_id: str
    line: bytes
    root: bool
    run_id: str


class Unreadable(Struct, gc=False, array_like=True, tag="u"):
    """Something in a document could not be read; ``alone`` says that it belongs to no trace."""

    key: Key
    problem: Problem
    alone: bool


class Refused(Struct, gc=False, array_like=True, tag="r"):
    """There was a span that could not be taken in: its trace is not whole."""

    key: Key
    span_id: str


class Kept(Struct, gc=False, array_like=True, tag="k"):
    """Bytes for the blob store under a hash, and what the span that brought them has to say of that.

    ``blob`` is empty when they are not kept, and ``redacted`` says that they are not the original; ``derived`` says
    that the span itself could not carry the hash.
    """

    key: Key
    span_id: str
    hashed: str
    blob: bytes = b""
    redacted: bool = False
    derived: bool = False


class KeptAlready(Kept, gc=False, array_like=True, tag="K"):
    """The same, of which the process that wrote it has taken notice before."""


class Described(Struct, gc=False, array_like=True, tag="d"):
    """What is known of a trace besides its spans: notes of its reader, its completion."""

    key: Key
    completion: Completion | None
    source: Source


class ResourceIs(Struct, gc=False, array_like=True, tag="R"):
    """Lines name this resource by this number."""

    number: int
    value: Resource


class ScopeIs(Struct, gc=False, array_like=True, tag="S"):
    """Lines name this scope by this number."""

    number: int
    value: Scope


class Recorded(Struct, gc=False, array_like=True, tag="f"):
    """What came of a trace before this place of the journal is in a record."""

    key: Key
    upto: int


class Making(Struct, gc=False):
    """Arguments of a tool call that the worker has yet to hash: ``make`` does it. It is not written to a journal."""

    make: Callable[[], Kept]


class Asked(threading.Event):
    """A question to the worker, set when it is answered: ``ok`` says that everything complete is recorded.

    ``flush`` ends every grace first, ``stop`` closes every trace and then the worker, ``suspend`` the worker only, and
    ``status`` only looks. ``until`` is when the time of ``stop`` or ``suspend`` is over, on the monotonic clock.
    """

    def __init__(self, what: Literal["status", "flush", "stop", "suspend"]) -> None:
        """Ask."""
        super().__init__()
        self.what, self.ok, self.until = what, False, 0.0
        self.accounts: Accounts | None = None


Message = (
    Started | Ended | Arrived | Unreadable | Refused | Kept | KeptAlready | Described | ResourceIs | ScopeIs | Recorded
)
encode = msgspec.msgpack.Encoder().encode
decode: Callable[[bytes], Message] = msgspec.msgpack.Decoder(Message).decode
