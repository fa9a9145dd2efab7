"""Pieces of traces, as a reader gives them, into messages for the worker; content is withheld first."""

from __future__ import annotations

import hashlib
import itertools
import secrets
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from otel_gate.core.model import Source, encode
from otel_gate.pipeline import messages as told
from otel_gate.pipeline.withhold import Withheld

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from otel_gate.core.model import Trace
    from otel_gate.pipeline.lines import Table
    from otel_gate.pipeline.withhold import Blob, Withholding

_unnamed = itertools.count()
_PROCESS = secrets.token_hex(8)  # a journal may be gone on with: what has no name there is none of ours


def messages_of(
    pieces: Iterable[Trace], raw: bytes, resources: Table, scopes: Table, withholding: Withholding | None = None
) -> Iterator[told.Message]:
    """Iterate over what the worker is to be told of pieces that were read from ``raw``.

    The bytes come first when something in them could not be read: they are kept as a blob, unless content is withheld,
    which nobody can do in what could not be read.
    """
    for piece in pieces:
        key = piece.trace_id or (_PROCESS, next(_unnamed))
        source = Source(notes=piece.source.notes)
        if piece.source.problems and raw and withholding is None:
            hashed = hashlib.sha256(raw).hexdigest()
            yield told.Kept(key, "", hashed, raw)
            source = replace(source, raw=hashed)
        if source.notes or source.raw or piece.completion:
            yield told.Described(key, piece.completion, source)
        for problem in piece.source.problems:
            said = problem if withholding is None else withholding.problem(problem)
            yield told.Unreadable(key, said, not piece.trace_id)
        yield from _spans(key, piece, resources, scopes, withholding)


def kept(key: told.Key, span_id: str, blobs: Iterable[Blob]) -> Iterator[told.Kept]:
    """Iterate over what the worker is to be told of arguments that went through ``redact``."""
    return (told.Kept(key, span_id, blob.hashed, blob.left, blob.redacted) for blob in blobs)


def _spans(
    key: told.Key, piece: Trace, resources: Table, scopes: Table, withholding: Withholding | None
) -> Iterator[told.Message]:
    resource_numbers = [resources.number(encode(value), value, _same) for value in piece.resources]
    scope_numbers = [scopes.number(encode(value), value, _same) for value in piece.scopes]
    for span, blobs in map(Withheld, piece.spans) if withholding is None else withholding.of_all(piece):
        yield from kept(key, span.span_id, blobs)
        resource = None if span.resource is None else resource_numbers[span.resource]
        scope = None if span.scope is None else scope_numbers[span.scope]
        line = encode(replace(span, resource=resource, scope=scope))
        yield told.Arrived(key, span.span_id, line, piece.is_root(span), "")


def _same(value: Any) -> Any:
    return value
