r"""Spans among other output: a process wrote both to its standard output, and only some is what the exporter printed.

An object begins a line and ends one: it is printed on one, or over many of which the last is its ``}``. All that is no
span by its looks is output of the agent's own, passed over and counted; what begins as a span and can't be read is bad.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from otel_gate.otlp.documents import Document, texts
from otel_gate.otlp.forms import form_of
from otel_gate.otlp.reader import OTHER_OUTPUT
from otel_gate.otlp.tally import filled
from otel_gate.otlp.text import Parsed

if TYPE_CHECKING:
    from collections.abc import Iterator

_MARK = rb"(?:\xef\xbb\xbf|\x1e)?"
_TOP = re.compile(rb"^(?=" + _MARK + rb"[{\[])", re.MULTILINE)
_CLOSING = re.compile(rb"\n[}\]]")
_SPAN = re.compile(_MARK + rb'[{\[]\s*(?:\{\s*)?"(?:name|context)"')
_CONTEXT = b'"context"'


def printed(data: bytes, line: int = 1) -> Iterator[Document]:
    """Walk the documents among other output; a run of that is one empty document, noted as ``other_output``."""
    bounds = [*dict.fromkeys([0, *(top.start() for top in _TOP.finditer(data))]), len(data)]
    for start, end in pairwise(bounds):
        chunk = data[start:end]
        found, length = _documents(chunk)
        for parsed in found:
            yield Document(parsed, line + parsed.line, chunk[:length], start)
        rest = chunk[length:]
        if filled(rest):
            begin = length + len(rest) - len(rest.lstrip())
            at = line + chunk.count(b"\n", 0, begin)
            yield Document(Parsed({}, (OTHER_OUTPUT,)), at, chunk[begin:], start + begin)
        line += chunk.count(b"\n")


def _documents(chunk: bytes) -> tuple[list[Parsed], int]:
    """Return what stands at the head of a chunk, and how long that is: nothing when it is other output."""
    if not _TOP.match(chunk):
        return [], 0
    for end in _ends(chunk):
        found = texts(chunk[:end])
        if found[-1].problem is None:
            return (found, end) if any(_is_meant(one.value) for one in found) else ([], 0)
    return (texts(chunk), len(chunk)) if _SPAN.match(chunk) or _CONTEXT in chunk else ([], 0)


def _ends(chunk: bytes) -> Iterator[int]:
    line, closing = chunk.find(b"\n"), _CLOSING.search(chunk)
    yield len(chunk) if line < 0 else line
    if closing:
        yield closing.end()


def _is_meant(value: Any) -> bool:
    """Tell a span, and what is a document of another form, from an object that the agent printed."""
    if isinstance(value, list):
        return any(map(_is_meant, value))
    return isinstance(value, dict) and ("context" in value or form_of(value) is not None)
