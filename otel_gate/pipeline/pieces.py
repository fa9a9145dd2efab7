"""Pieces of traces, as a reader gives them, into messages for the worker."""

from __future__ import annotations

import hashlib
import itertools
import secrets
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from otel_gate.core.model import Source, encode
from otel_gate.pipeline import messages as told

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from otel_gate.core.model import Trace
    from otel_gate.pipeline.lines import Table

_unnamed = itertools.count()
_PROCESS = secrets.token_hex(8)  # a journal may be gone on with: what has no name there is none of ours


def messages_of(pieces: Iterable[Trace], raw: bytes, resources: Table, scopes: Table) -> Iterator[told.Message]:
    """Iterate over what the worker is to be told of pieces that were read from ``raw``.

    The bytes come first when something in them could not be read: they are kept as a blob.
    """
    for piece in pieces:
        key = piece.trace_id or (_PROCESS, next(_unnamed))
        source = Source(notes=piece.source.notes)
        if piece.source.problems and raw:
            hashed = hashlib.sha256(raw).hexdigest()
            yield told.Kept(key, "", hashed, raw)
            source = replace(source, raw=hashed)
        if source.notes or source.raw or piece.completion:
            yield told.Described(key, piece.completion, source)
        for problem in piece.source.problems:
            yield told.Unreadable(key, problem, not piece.trace_id)
        yield from _spans(key, piece, resources, scopes)


def _spans(key: told.Key, piece: Trace, resources: Table, scopes: Table) -> Iterator[told.Message]:
    resource_numbers = [resources.number(encode(value), value, _same) for value in piece.resources]
    scope_numbers = [scopes.number(encode(value), value, _same) for value in piece.scopes]
    for span in piece.spans:
        resource = None if span.resource is None else resource_numbers[span.resource]
        scope = None if span.scope is None else scope_numbers[span.scope]
        line = encode(replace(span, resource=resource, scope=scope))
        yield told.Arrived(key, span.span_id, line, piece.is_root(span), "")


def _same(value: Any) -> Any:
    return value
