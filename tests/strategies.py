"""Well-formed traces of every shape, as values and as documents.

``traces()`` draws ``Trace`` values that no rule refuses; ``tests/mutations.py`` breaks documents of them.
"""

from __future__ import annotations

import base64
import json
from typing import Any

from hypothesis import strategies as st

from otel_gate import otlp
from otel_gate.core.merge import join
from otel_gate.core.model import Completion, EntityRef, Event, Link, Reason, Resource, Scope, Span, Trace
from otel_gate.core.record import document_bytes

Document = dict[str, Any]
READ_BY_RULES = frozenset({"run.id", "tool.name", "input.sha256", "error.type"})
REASONS: tuple[Reason, ...] = ("root_ended", "timed_out", "shut_down")
UINT32, UINT64 = 2**32 - 1, 2**64 - 1
REMOTE = 0x300

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
some_texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12).filter(str.strip)
trace_ids = st.integers(1, 2**128 - 1).map("{:032x}".format)
span_ids = st.integers(1, 2**64 - 1).map("{:016x}".format)
counts = st.just(0) | st.integers(0, UINT32)


def _object(value: dict[str, Any]) -> dict[str, Any]:
    """Write an object in the shape's form: one whose only key begins with ``$`` is wrapped."""
    return {"$object": value} if len(value) == 1 and next(iter(value)).startswith("$") else value


scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
    | st.binary(max_size=6).map(lambda raw: {"$bytes": base64.b64encode(raw).decode()})
    | st.sampled_from(["NaN", "Infinity", "-Infinity"]).map(lambda name: {"$double": name})
)
keys = texts | st.sampled_from(["$bytes", "$double", "$object", "a", "b"])
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3).map(_object),
    max_leaves=6,
)
attributes = st.dictionaries(texts.filter(lambda key: key not in READ_BY_RULES), values, max_size=3)
times = st.tuples(st.integers(1, UINT64), st.integers(1, UINT64)).map(sorted)
entity_refs = st.builds(EntityRef, texts, texts, st.lists(texts, max_size=2).map(tuple), st.just(()))
resources = st.builds(Resource, attributes, counts, texts, st.lists(entity_refs, max_size=1).map(tuple))
scopes = st.builds(Scope, texts, texts, attributes, counts, texts)
links = st.builds(Link, trace_ids, span_ids, texts, st.integers(0, UINT32), attributes, counts)
events = st.builds(Event, texts, st.integers(0, UINT64), attributes, counts)
kinds: st.SearchStrategy[str | int] = st.sampled_from(
    ["unspecified", "internal", "server", "client", "producer", "consumer", 6, 99]
)
quiet_statuses: st.SearchStrategy[str | int] = st.sampled_from(["unset", "ok", 3, 2**31 - 1])
completions = st.none() | st.builds(Completion, st.sampled_from(REASONS))
plain_names = texts.filter(lambda name: not name.startswith("tool."))
evidence: st.SearchStrategy[dict[str, str]] = st.just({}) | some_texts.map(lambda text: {"error.type": text})


@st.composite
def _spans(draw: st.DrawFn, place: tuple[str, str], shelves: tuple[int, int]) -> Span:
    """Draw a well-formed span with the given id and parent, and its resource and scope from shelves of such sizes."""
    extra, name = draw(_roles(place[1]))
    start_ns, end_ns = draw(times)
    status = draw(quiet_statuses | st.just("error"))
    shown = draw(st.lists(events, max_size=2))
    if status == "error":
        extra = {**extra, **draw(evidence)}
        shown += [] if "error.type" in extra else [Event("exception", end_ns, draw(attributes))]
    return Span(
        *place, name, start_ns, end_ns, status, {**draw(attributes), **extra}, tuple(shown),
        status_message=draw(texts), kind=draw(kinds), links=tuple(draw(st.lists(links, max_size=1))),
        trace_state=draw(texts), flags=draw(st.sampled_from([0, 1, 0x100, REMOTE, REMOTE | 1, UINT32])),
        dropped_attributes_count=draw(counts), dropped_events_count=draw(counts), dropped_links_count=draw(counts),
        derived=draw(st.sampled_from([(), ("run.id",), ("gen_ai.tool.name",)])),
        redacted=draw(st.sampled_from([(), ("input",)])),
        resource=draw(st.integers(0, shelves[0] - 1)) if shelves[0] else None,
        scope=draw(st.integers(0, shelves[1] - 1)) if shelves[1] else None,
    )  # fmt: skip


def _roles(parent: str) -> st.SearchStrategy[tuple[dict[str, Any], str]]:
    """Draw what makes a root, an agent's step or a tool span: attributes and a name."""
    if not parent:
        return st.tuples(st.builds(lambda text: {"run.id": text}, some_texts), plain_names)
    called = st.builds(lambda name, text: {"tool.name": name, "input.sha256": text}, some_texts, some_texts)
    return st.tuples(st.just({}), plain_names) | st.tuples(called, texts.map("tool.{}".format))


@st.composite
def traces(draw: st.DrawFn, max_spans: int = 6) -> Trace:
    """Draw a well-formed trace: a tree of agent, tool and failed spans, in any order."""
    ids = draw(st.lists(span_ids, min_size=1, max_size=max_spans, unique=True))
    parents = ["", *(draw(st.sampled_from(ids[:place])) for place in range(1, len(ids)))]
    shelves = tuple(draw(st.lists(resources, max_size=2))), tuple(draw(st.lists(scopes, max_size=2)))
    sizes = len(shelves[0]), len(shelves[1])
    spans = [draw(_spans(place, sizes)) for place in zip(ids, parents, strict=True)]
    return Trace(draw(trace_ids), tuple(draw(st.permutations(spans))), *shelves, draw(completions))


def as_document(trace: Trace) -> Document:
    """Return a trace as an object of the simplified shape."""
    document: Document = json.loads(document_bytes(trace))
    return document


def trace_of(document: Document) -> Trace:
    """Read a document as ``check`` does: its bytes through the reader, its pieces joined."""
    return join(piece.trace for piece in otlp.read(json.dumps(document).encode())).trace
