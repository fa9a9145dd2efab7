"""Strategies for traces as they stand in the model: what every writer takes and every reader gives."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from otel_gate.core.model import EntityRef, Event, Link, Resource, Scope, Span, Trace
from otel_gate.otlp.tolerant import UNITS

if TYPE_CHECKING:
    from collections.abc import Callable

TEXT = st.text(max_size=8)
UINT32 = st.integers(0, 2**32 - 1)
UINT64 = st.integers(0, 2**64 - 1)
TIME = UINT64.filter(lambda number: not any(number in unit for unit, _ in UNITS))
SPAN_ID = st.binary(min_size=8, max_size=8).map(bytes.hex)
TRACE_ID = st.binary(min_size=16, max_size=16).map(bytes.hex)
KIND = st.sampled_from(["unspecified", "internal", "server", "client", "producer", "consumer", 6, -1, 2**31 - 1])
STATUS = st.sampled_from(["unset", "ok", "error", 3, -1, -(2**31)])
KEYS = st.sampled_from(["$bytes", "$double", "$object", "$", "tool.name", "", "é"]) | TEXT


def wrapped(value: dict[str, Any]) -> dict[str, Any]:
    """Write an object as DESIGN section 3 has it."""
    return {"$object": value} if len(value) == 1 and next(iter(value))[:1] == "$" else value


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    TEXT,
    st.binary(max_size=5).map(lambda raw: {"$bytes": base64.b64encode(raw).decode()}),
    st.sampled_from(["NaN", "Infinity", "-Infinity"]).map(lambda name: {"$double": name}),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3).map(wrapped),
    max_leaves=5,
)
ATTRIBUTES = st.dictionaries(KEYS.filter(bool), VALUES, max_size=3)
EVENTS = st.builds(Event, TEXT, TIME, ATTRIBUTES, UINT32)
LINKS = st.builds(Link, TRACE_ID, SPAN_ID, TEXT, UINT32, ATTRIBUTES, UINT32)
ENTITIES = st.builds(EntityRef, TEXT, TEXT, st.tuples(TEXT), st.lists(TEXT, max_size=2).map(tuple))
RESOURCES = st.builds(Resource, ATTRIBUTES, UINT32, TEXT, st.lists(ENTITIES, max_size=2).map(tuple))
SCOPES = st.builds(Scope, TEXT, TEXT, ATTRIBUTES, UINT32, TEXT)


@st.composite
def traces(draw: Callable[[Any], Any]) -> Trace:
    """Draw a trace of one to four spans, its resources and scopes in the order of their first use."""
    resources = draw(st.lists(RESOURCES, max_size=2, unique_by=repr))
    scopes = draw(st.lists(SCOPES, max_size=2, unique_by=repr))
    uses = draw(st.lists(st.tuples(_index(resources), _index(scopes)), min_size=1, max_size=4))
    by_resource, by_scope = _places(use[0] for use in uses), _places(use[1] for use in uses)
    spans = [draw(_span(by_resource.get(resource), by_scope.get(scope))) for resource, scope in uses]
    return Trace(
        draw(TRACE_ID),
        tuple(spans),
        tuple(resources[index] for index in by_resource),
        tuple(scopes[index] for index in by_scope),
    )


def _span(resource: int | None, scope: int | None) -> st.SearchStrategy[Span]:
    return st.builds(
        Span,
        span_id=SPAN_ID,
        parent_span_id=st.just("") | SPAN_ID.filter(lambda text: text.strip("0")),
        name=TEXT,
        start_ns=TIME,
        end_ns=TIME,
        status=STATUS,
        attributes=ATTRIBUTES,
        events=st.lists(EVENTS, max_size=2).map(tuple),
        trace_id=st.just(""),
        status_message=TEXT,
        kind=KIND,
        links=st.lists(LINKS, max_size=2).map(tuple),
        trace_state=TEXT,
        flags=UINT32,
        dropped_attributes_count=UINT32,
        dropped_events_count=UINT32,
        dropped_links_count=UINT32,
        resource=st.just(resource),
        scope=st.just(scope),
    )


def _index(pool: list[Any]) -> st.SearchStrategy[int | None]:
    return st.sampled_from([None, *range(len(pool))])


def _places(used: Any) -> dict[int, int]:
    found: dict[int, int] = {}
    for index in used:
        if index is not None:
            found.setdefault(index, len(found))
    return found
