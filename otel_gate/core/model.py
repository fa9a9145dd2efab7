"""The simplified trace shape as values (DESIGN section 3).

Attribute values are kept in their JSON form: a string, bool, int, float, list, object or null, with
``{"$bytes": base64}`` for bytes, ``{"$double": "NaN" | "Infinity" | "-Infinity"}`` for non-finite doubles and
``{"$object": {...}}`` around an object whose only key begins with ``$``. So a value that was read is written as
it stands, and only the edges (``otlp``, ``sdk``) translate.

What is made a hundred times a trace is not tracked by the garbage collector (``gc=False``): JSON values make no cycles.

Two spans are the same when they encode to the same bytes: in Python ``1 == True == 1.0`` and NaN differs from itself.
"""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct

from otel_gate.core.tool_words import TOOL_ATTRIBUTES, TOOL_PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterable

RecordSchema = Literal["otel-gate/record/1"]
RECORD_SCHEMA: RecordSchema = "otel-gate/record/1"
ZERO_SPAN_ID = "0" * 16
NOWHERE = ("", "")  # where nothing stood
REMOTE_FLAGS = 0x300  # OTLP span flags: "is remote" is known (0x100) and true (0x200)

Attributes = dict[str, Any]
RemoteParent = Literal["root", "reject"]
Reason = Literal["root_ended", "timed_out", "capped", "interrupted", "shut_down"]
Unhashed = Literal["", "absent", "placeholder", "cut", "scrubbed", "conflict"]
Door = Literal["sdk", "exporter", "otlp", "file"]


class Event(Struct, frozen=True, omit_defaults=True, gc=False):
    """Something that happened inside a span; ``time_ns`` is nanoseconds since the epoch, 0 when unknown."""

    name: str
    time_ns: int
    attributes: Attributes
    dropped_attributes_count: int = 0


class Link(Struct, frozen=True, omit_defaults=True, gc=False):
    """A reference to a span of this or another trace (ids in lower hex)."""

    trace_id: str
    span_id: str
    trace_state: str = ""
    flags: int = 0
    attributes: Attributes = {}
    dropped_attributes_count: int = 0


class KnownCall(Struct, frozen=True, omit_defaults=True, gc=False):
    """A call that a span lists for those below it: the hash of its arguments, or why there is none, and where it stood.

    ``name`` and ``call_id`` are ``sha256:`` and the hash of the text, to be compared.
    """

    name: str
    call_id: str = ""
    hashed: str = ""
    unhashed: Unhashed = ""
    where: str = ""


class Known(Struct, frozen=True, omit_defaults=True, gc=False):
    """What a span was understood as before content of it was redacted or left out: it can't be understood again.

    Pairs are a text and where it stood. ``content`` is the hash of all that was changed, so that two spans which
    differed in it still do.
    """

    content: str = ""
    operation: Literal["", "tool", "agent", "model", "other"] = ""
    convention: str = ""
    switch: str = ""
    name: tuple[str, str] = NOWHERE
    call_id: tuple[str, str] = NOWHERE
    run_id: tuple[str, str] = NOWHERE
    conversation: tuple[str, str] = NOWHERE
    hashed: tuple[str, str] = NOWHERE
    unhashed: Unhashed = ""
    transport: bool = False
    calls: tuple[KnownCall, ...] = ()


class Recognised(Struct, frozen=True, omit_defaults=True, gc=False):
    """What a convention made of a span: it is a tool call, or a double of one (``operation``), and by which convention.

    ``sources`` says, of each attribute that was derived, from where (``attributes.input.value``). ``unhashed`` says why
    the arguments of a tool call have no hash (``absent``, ``placeholder``, ``cut``, ``scrubbed``, ``conflict``), and
    ``switch`` what to turn on in the emitter so that they are recorded. ``known`` is what can't be derived again from
    what is left.
    """

    convention: str = ""
    operation: Literal["", "tool", "double"] = ""
    sources: dict[str, str] = {}
    unhashed: Unhashed = ""
    switch: str = ""
    known: Known | None = None


class Span(Struct, frozen=True, omit_defaults=True, gc=False):
    """One span. Absent is ``""`` or 0; times are nanoseconds since the epoch; ``resource`` and ``scope`` are indexes.

    ``trace_id`` is empty when it is the document's own. ``derived`` and ``redacted`` name attributes that were added or
    replaced on the way in; ``conflicts`` names attributes that were given more than once with different values.
    ``observed_ns`` is how long it took by a monotonic clock, kept when its own times say something else.
    """

    span_id: str
    parent_span_id: str
    name: str
    start_ns: int
    end_ns: int
    status: str | int
    attributes: Attributes
    events: tuple[Event, ...]
    trace_id: str = ""
    status_message: str = ""
    kind: str | int = "unspecified"
    links: tuple[Link, ...] = ()
    trace_state: str = ""
    flags: int = 0
    dropped_attributes_count: int = 0
    dropped_events_count: int = 0
    dropped_links_count: int = 0
    derived: tuple[str, ...] = ()
    redacted: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    resource: int | None = None
    scope: int | None = None
    observed_ns: int = 0
    recognised: Recognised | None = None


class EntityRef(Struct, frozen=True, omit_defaults=True):
    """Which resource attributes identify and describe an entity (OTLP ``EntityRef``)."""

    type: str
    schema_url: str = ""
    id_keys: tuple[str, ...] = ()
    description_keys: tuple[str, ...] = ()


class Resource(Struct, frozen=True, omit_defaults=True):
    """What produced the spans (OTLP ``Resource`` with the schema URL of its ``ResourceSpans``)."""

    attributes: Attributes = {}
    dropped_attributes_count: int = 0
    schema_url: str = ""
    entity_refs: tuple[EntityRef, ...] = ()


class Scope(Struct, frozen=True, omit_defaults=True):
    """The instrumentation scope (OTLP ``InstrumentationScope`` with the schema URL of its ``ScopeSpans``)."""

    name: str = ""
    version: str = ""
    attributes: Attributes = {}
    dropped_attributes_count: int = 0
    schema_url: str = ""


class OpenSpan(Struct, frozen=True, omit_defaults=True, gc=False):
    """A span that had started and not ended when its trace was closed; a local root's has its drawn ``run_id``.

    ``age_ns`` is how long it had been open then, as far as the clock tells; 0 when that is not known.
    """

    span_id: str
    name: str = ""
    start_ns: int = 0
    run_id: str = ""
    age_ns: int = 0


class Completion(Struct, frozen=True, omit_defaults=True):
    """Why a trace was closed, which spans were open then, and how many a cap kept out."""

    reason: Reason
    open: tuple[OpenSpan, ...] = ()
    capped: int = 0


class Problem(Struct, frozen=True):
    """The first place where a document departs from the shape (``$.spans[3].start_ns``)."""

    path: str
    expected: str
    got: str


class Note(Struct, frozen=True):
    """An oddity that a reader accepted: its code, how often it was met, and where first."""

    code: str
    count: int
    first: str


class Source(Struct, frozen=True, omit_defaults=True):
    """Who delivered a trace and what its reader noted; ``raw`` is the blob of a document that could not be read."""

    door: Door = "file"
    remote_parent: RemoteParent = "reject"
    notes: tuple[Note, ...] = ()
    problems: tuple[Problem, ...] = ()
    raw: str = ""


class Trace(Struct, frozen=True, dict=True):
    """The spans of one trace, in the order in which they were received, and what is known about their capture.

    A piece of a trace (one line of a file, one batch) is a ``Trace`` too; ``merge.join`` makes one of many.
    """

    trace_id: str
    spans: tuple[Span, ...]
    resources: tuple[Resource, ...] = ()
    scopes: tuple[Scope, ...] = ()
    completion: Completion | None = None
    source: Source = Source()

    @cached_property
    def ids(self) -> frozenset[str]:
        """The span ids of the document."""
        return frozenset(span.span_id for span in self.spans)

    @cached_property
    def tools(self) -> tuple[Span, ...]:
        """The spans that are tool calls."""
        return tuple(span for span in self.spans if is_tool(span))

    @cached_property
    def roots(self) -> tuple[Span, ...]:
        """The spans that count as root: no parent, or (``remote_parent = "root"``) one in another process."""
        return tuple(span for span in self.spans if self.is_root(span))

    def is_root(self, span: Span) -> bool:
        """Tell whether a span counts as root of this document (DESIGN section 5)."""
        if not span.parent_span_id:
            return True
        return self._remote_is_root and has_remote_parent(span) and span.parent_span_id not in self.ids

    @cached_property
    def _remote_is_root(self) -> bool:
        return self.source.remote_parent == "root"


class Violation(Struct, frozen=True, omit_defaults=True):
    """One finding of one rule; ``span_id`` is null when it is about the whole trace."""

    rule: str
    name: str
    span_id: str | None
    message: str
    expected: str
    got: str
    try_: str = msgspec.field(name="try")
    line: int = 0


class Verdict(Struct, frozen=True):
    """The violations of a trace; ``shape_ok`` when there are none. ``tools`` counts its tool calls."""

    shape_ok: bool
    tools: int
    violations: tuple[Violation, ...]


class Revision(Struct, frozen=True):
    """What a record said at one revision: spans are only appended, so the first ``spans`` of it were there."""

    revision: int
    spans: int
    id_hash: str
    verdict: Verdict


class Record(Struct, frozen=True):
    """The stored document: a trace, its verdict, and how it came to be (DESIGN section 3)."""

    schema: RecordSchema
    trace_id: str
    run_id: str
    revision: int
    completion: Completion | None
    verdict: Verdict
    id_hash: str
    source: Source
    resources: tuple[Resource, ...]
    scopes: tuple[Scope, ...]
    history: tuple[Revision, ...]
    spans: tuple[Span, ...]

    @property
    def trace(self) -> Trace:
        """The trace that this record holds."""
        return Trace(self.trace_id, self.spans, self.resources, self.scopes, self.completion, self.source)


encode = msgspec.json.Encoder().encode


def is_tool(span: Span) -> bool:
    """Tell whether a span is a tool call: named ``tool.*``, or recognised by a convention (DESIGN section 4)."""
    if span.recognised is not None and span.recognised.operation:
        return span.recognised.operation == "tool"
    return span.name.startswith(TOOL_PREFIX) or (bool(span.derived) and not TOOL_ATTRIBUTES.isdisjoint(span.derived))


def has_remote_parent(span: Span) -> bool:
    """Tell whether the span's flags say that its parent is in another process."""
    return span.flags & REMOTE_FLAGS == REMOTE_FLAGS


def id_hash(spans: Iterable[Span]) -> str:
    """Lower-hex SHA-256 of the span ids, in order, joined by a line feed: it changes when spans are re-ordered."""
    return hashlib.sha256("\n".join(span.span_id for span in spans).encode("utf-8", "surrogatepass")).hexdigest()
