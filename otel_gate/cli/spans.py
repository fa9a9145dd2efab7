"""Tool calls as traces hold them: the tool's name, and arguments from a store's blobs or a span's attributes."""

from __future__ import annotations

import functools
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from otel_gate.cli import stored
from otel_gate.cli.beside import ARGUMENTS
from otel_gate.cli.span_lines import lines_of
from otel_gate.cli.traces import Part, read_input
from otel_gate.conventions import TABLE
from otel_gate.conventions.normalise import normalise
from otel_gate.core.identity import text_of
from otel_gate.core.model import is_tool
from otel_gate.pipeline import catalogues
from otel_gate.toolcalls.catalogue import ATTRIBUTE, UNNAMED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from otel_gate.core.model import Span, Trace
    from otel_gate.store import Store
    from otel_gate.toolcalls.model import Tool

NAME = "tool.name"
HASH, REDACTED, ERROR_TYPE = "input.sha256", "redacted", "error.type"
WANTING = frozenset({"missing_tool_name", "no_call", "truncated"})
"""What the guard says, as ``error.type``, of a span whose call names no tool."""
MOST_RECORDS = 2**31


class Found(NamedTuple):
    """One tool call of a trace; ``reason`` says why it can't be judged, ``tools`` are those of its own catalogue.

    ``wanting`` is the issue that the span itself gives for naming no tool: no arguments could tell it. ``file`` and
    ``line`` are where the span stands, 0 is the file as a whole.
    """

    trace_id: str
    span_id: str
    tool: str
    arguments: Any = None
    reason: str = ""
    wanting: str = ""
    tools: Sequence[Tool] | None = None
    file: str = ""
    line: int = 0


class _Kept(NamedTuple):
    arguments: Any
    reason: str


def in_file(path: str, form: Any) -> Iterator[Found]:
    """Find the tool calls in a file of traces.

    Raises:
        InputError: there is no trace in it.

    """
    file = read_input(path, form)
    if file.error:
        raise file.error
    for piece in file.pieces:
        places = dict(enumerate(lines_of(Part(file, piece))))
        for number, _, call in _calls(piece.trace, _missing):
            yield call._replace(file=path, line=places.get(number, piece.line))


def in_store(store: Store, *, by_this: bool = False) -> Iterator[Found]:
    """Find the tool calls in a store, the newest record first, each with its own catalogue unless ``by_this``."""
    known: dict[str, Sequence[Tool] | None] = {}
    for row in store.index.newest(MOST_RECORDS, refused=False, rule="", run_id=""):
        kept = stored.load(store, row["place"])
        places = functools.cache(lambda kept=kept: [*kept.places()])
        for number, span, call in _calls(kept.record.trace, partial(_blob, store)):
            hashed = "" if by_this else str(span.attributes.get(ATTRIBUTE) or "")
            if hashed and hashed not in known:
                own = catalogues.kept(store.blobs, hashed)
                known[hashed] = own.tools if own else None
            file, line = places()[number]
            yield call._replace(tools=known.get(hashed), file=file, line=line)


def _calls(trace: Trace, kept: Callable[[Span], _Kept | None]) -> Iterator[tuple[int, Span, Found]]:
    """Return the calls of a trace; what is kept of one comes first, then what stands in the trace itself."""
    normal = normalise(trace, TABLE)
    at_hand = {call.span_id: call.content for call in normal.calls}
    for number, span in enumerate(normal.trace.spans):
        if is_tool(span):
            name = text_of(span, NAME)
            arguments, reason = kept(span) or _attribute(span, at_hand.get(span.span_id))
            wanting = _wanting(span, name)
            yield number, span, Found(trace.trace_id, span.span_id, name, arguments, "" if wanting else reason, wanting)


def _wanting(span: Span, name: str) -> str:
    """Return which issue the span has for a call that names no tool, "" for any other call."""
    code = span.attributes.get(ERROR_TYPE)
    return code if name == UNNAMED and isinstance(code, str) and code in WANTING else ""


def _missing(_span: Span) -> None:
    """Say that nothing is kept beside a file."""


def _blob(store: Store, span: Span) -> _Kept | None:
    hashed = span.attributes.get(HASH)
    blob = store.blobs.get(hashed) if isinstance(hashed, str) else None
    if blob is None:
        return None
    if blob.redacted:
        return _Kept(None, REDACTED)
    return _Kept(blob.content.decode("utf-8", "replace"), "")


def _attribute(span: Span, content: bytes | None) -> _Kept:
    if span.redacted:
        return _Kept(None, REDACTED)
    given = (span.attributes[key] for key in ARGUMENTS if span.attributes.get(key) is not None)
    arguments = next(given, None) if content is None else content.decode("utf-8", "replace")
    return _Kept(arguments, "" if arguments is not None else "missing")
