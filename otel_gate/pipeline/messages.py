"""What hooks tell the worker. ``key`` is the trace: the SDK's number, or the id as text.

They are made on the agent's time, so they are small and not tracked by the garbage collector.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from otel_gate.core.model import OpenSpan

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_gate.core.model import Problem, Trace
    from otel_gate.pipeline.policy import Accounts, Attachment


class Started(OpenSpan, frozen=True, gc=False):
    """A span of this process has started: it is open, until it ends."""

    key: Any = None
    parent_span_id: str = ""
    remote: bool = False


class Ended(Struct, gc=False):
    """A span of this process has ended; ``root`` says that it has no parent."""

    key: Any
    span_id: str
    line: bytes
    root: bool
    run_id: str


class Arrived(Struct, gc=False):
    """A span came through an exporter or a wire; ``root`` says that it may count as root."""

    key: Any
    span_id: str
    line: bytes
    root: bool
    run_id: str


class Unreadable(Struct, gc=False):
    """Something in a document could not be read; ``alone`` says that it belongs to no trace."""

    key: Any
    problem: Problem
    alone: bool


class Refused(Struct, gc=False):
    """There was a span that could not be taken in: its trace is not whole."""

    key: Any
    span_id: str


class Attached(Struct, gc=False):
    """A tool span brings arguments; ``make`` prepares them on the worker's time."""

    key: Any
    span_id: str
    make: Callable[[], Attachment]


class Described(Struct, gc=False):
    """What is known of a trace besides its spans: notes of its reader, its completion."""

    key: Any
    piece: Trace


class Asked(threading.Event):
    """A question to the worker, set when it is answered: ``ok`` says that everything complete is recorded.

    ``flush`` ends every grace first, ``stop`` closes every trace and then the worker, ``status`` only looks.
    """

    def __init__(self, what: Literal["status", "flush", "stop"]) -> None:
        """Ask."""
        super().__init__()
        self.what, self.ok = what, False
        self.accounts: Accounts | None = None
