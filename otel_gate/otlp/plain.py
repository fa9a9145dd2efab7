"""The fast look at a request or document: one typed decode, for what is canonical down to the last field.

``plain`` knows the canonical forms only: the names that we (or OTLP) write, no other field, known enumerations, values
that need no rewriting. It answers None to everything else, and the readers find out what that is. What it does give is
what they would give, without a note and without a problem, as far as the rules look at it; a property test holds that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from otel_gate.core.model import Completion, Recognised, RecordSchema, Source

if TYPE_CHECKING:
    from collections.abc import Callable

    Passes = Callable[[str], bool]

Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Uint32 = Annotated[int, Meta(ge=0, le=2**32 - 1)]
Time = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Scalar = str | bool | Int64 | float | None
Values = dict[str, Scalar | list[Scalar]]
Kind = Literal["internal", "server", "client", "producer", "consumer", "unspecified"]
Status = Literal["unset", "ok", "error"]


class _Event(Struct, gc=False, forbid_unknown_fields=True):
    name: str
    time_ns: Time = 0
    attributes: Values | None = None
    dropped_attributes_count: Uint32 = 0


class _Link(Struct, gc=False, forbid_unknown_fields=True):
    trace_id: str
    span_id: str
    trace_state: str = ""
    flags: Uint32 = 0
    attributes: Values | None = None
    dropped_attributes_count: Uint32 = 0


class _Span(Struct, gc=False, forbid_unknown_fields=True):
    span_id: str
    name: str
    start_ns: Time
    end_ns: Time
    parent_span_id: str | None = None
    status: Status | None = None
    attributes: Values | None = None
    events: tuple[_Event, ...] | None = None
    trace_id: str = ""
    status_message: str = ""
    kind: Kind = "unspecified"
    links: tuple[_Link, ...] = ()
    trace_state: str = ""
    flags: Uint32 = 0
    dropped_attributes_count: Uint32 = 0
    dropped_events_count: Uint32 = 0
    dropped_links_count: Uint32 = 0
    derived: tuple[str, ...] = ()
    redacted: tuple[str, ...] = ()
    resource: Uint32 | None = None
    scope: Uint32 | None = None
    recognised: Recognised | None = None

    @property
    def timed(self) -> bool:
        """Whether it ends, and doesn't end before it starts."""
        return 0 < self.start_ns <= self.end_ns

    @property
    def said(self) -> Values:
        """Its attributes."""
        return self.attributes or {}


class _Resource(Struct, forbid_unknown_fields=True):
    attributes: Values = {}
    dropped_attributes_count: Uint32 = 0
    schema_url: str = ""


class _Scope(Struct, forbid_unknown_fields=True):
    name: str = ""
    version: str = ""
    attributes: Values = {}
    dropped_attributes_count: Uint32 = 0
    schema_url: str = ""


class _Document(Struct, forbid_unknown_fields=True):
    trace_id: str
    spans: tuple[_Span, ...]
    resources: tuple[_Resource, ...] = ()
    scopes: tuple[_Scope, ...] = ()
    completion: Completion | None = None
    source: Source = Source()
    schema: RecordSchema | None = None
    run_id: Any = None
    revision: Any = None
    verdict: Any = None
    id_hash: Any = None
    history: Any = None


class Part(Struct, frozen=True):
    """The spans of one trace in a document or request, in the form in which they stand there, and their scope.

    Where scopes matter they are all of one: nested spans of several may be one call, and that takes the conventions.
    """

    trace_id: str
    spans: tuple[Any, ...]
    scope: str = ""


_document = msgspec.json.Decoder(_Document).decode


class Plain:
    """Looks at one block after another; what the last one was is tried first."""

    def __init__(self, form: str, passes: Passes | None = None) -> None:
        """Look for this form, or for any with ``auto``; what is of a scope that doesn't pass takes the conventions."""
        self._passes = passes
        readers = {"shape": [_of_document], "otlp": [_of_request], "auto": [_of_document, _of_request]}
        self._readers = readers.get(form, [])

    def read(self, data: bytes) -> list[Part] | None:
        """Return the parts of the traces in a block, or None when it takes a reader to tell."""
        for number, reader in enumerate(self._readers):
            try:
                found = reader(data, self._passes)
            except (msgspec.MsgspecError, UnicodeError, RecursionError):
                continue
            if number:
                self._readers.reverse()
            return found
        return None


def _of_document(data: bytes, passes: Passes | None) -> list[Part] | None:
    document = _document(data)
    source, completion = document.source, document.completion
    if source.notes or source.problems or (completion and completion.reason != "root_ended"):
        return None
    scope = document.scopes[0].name if document.scopes else ""
    if passes and not (len(document.scopes) < 2 and passes(scope)):  # noqa: PLR2004 - one
        return None
    own, is_named = ("", document.trace_id), bool(passes and scope)
    for span in document.spans:
        if span.trace_id not in own or span.recognised is not None or (is_named and span.scope is None):
            return None
        if not (span.resource is span.scope is None or _are_there(span, document)):
            return None
    return [Part(document.trace_id, document.spans, scope)]


def _of_request(data: bytes, passes: Passes | None) -> list[Part] | None:
    from otel_gate.otlp import plain_otlp  # noqa: PLC0415 - not for files of documents

    request = plain_otlp.decode(data)
    names = {inner.scope.name if inner.scope else "" for group in request.resource_spans for inner in group.scope_spans}
    if passes and not (len(names) < 2 and all(map(passes, names))):  # noqa: PLR2004 - one
        return None
    parts = plain_otlp.parts_of(request)
    scope = "".join(names) if passes else ""
    return None if parts is None else [Part(trace_id, tuple(spans), scope) for trace_id, spans in parts.items()]


def _are_there(span: _Span, document: _Document) -> bool:
    """Tell whether a document has the resource and the scope that a span names."""
    named = ((span.resource, document.resources), (span.scope, document.scopes))
    return all(number is None or number < len(there) for number, there in named)
