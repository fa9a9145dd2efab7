"""The run id of a trace: explicit on the root, else by the setting ``run_id`` (DESIGN section 5)."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Protocol

from msgspec.structs import replace

from otel_gate.core.model import Recognised

if TYPE_CHECKING:
    from collections.abc import Mapping

    from otel_gate.core.model import Span, Trace

RUN_ID = "run.id"
NOTHING = "", ""
AUTO, REQUIRE, BY_CONVERSATION, BY_TRACE = POLICIES = "auto", "require", "conversation", "trace"


def run_id_of(trace: Trace) -> str:
    """Return the run id of the first root, or of the root that was still open above it, or an empty text."""
    still = {span.span_id: span.run_id for span in trace.completion.open if span.run_id} if trace.completion else {}
    above = (still[root.parent_span_id] for root in trace.roots if root.parent_span_id in still)
    own = (text for root in trace.roots if (text := text_of(root, RUN_ID)))
    return next(itertools.chain(above, own, () if trace.roots else still.values()), "")


def text_of(span: Span, key: str) -> str:
    """Return an attribute when it is a text that is not blank, else an empty text."""
    value = span.attributes.get(key)
    return value if isinstance(value, str) and value.strip() else ""


class Carried(Protocol):
    """The run ids that spans carry themselves, each with where it stood; empty when there is none."""

    def run_id(self, root: Span) -> tuple[str, str]:
        """Return the native run id of a root."""

    def conversation(self, root: Span) -> tuple[str, str]:
        """Return the conversation or session that a root belongs to."""


def with_run_id(trace: Trace, policy: str, drawn: Mapping[str, str], carried: Carried | None = None) -> Trace:
    """Give each root without a run id the native one, or the one that the policy names; its ``derived`` lists it.

    ``drawn`` holds ids that were drawn in the agent's process, by span id of the local root. A policy that is none of
    ``auto``, ``require``, ``conversation`` and ``trace`` is the run id itself.
    """
    bare = [root for root in trace.roots if RUN_ID not in root.attributes]
    given = {id(root): found for root in bare if (found := _run_id(trace, root, policy, drawn, carried))[0]}
    if not given:
        return trace
    return replace(trace, spans=tuple(_derive(span, *given.get(id(span), NOTHING)) for span in trace.spans))


def _run_id(
    trace: Trace, root: Span, policy: str, drawn: Mapping[str, str], carried: Carried | None
) -> tuple[str, str]:
    native = carried.run_id(root) if carried else NOTHING
    if native[0] or policy == REQUIRE:
        return native
    stamped = drawn.get(root.span_id, ""), ""
    if policy == AUTO:
        return stamped
    if policy not in (BY_CONVERSATION, BY_TRACE):
        return policy, "the setting run_id"
    conversation = carried.conversation(root) if carried else NOTHING
    if conversation[0]:
        return conversation
    return (trace.trace_id, "trace_id") if policy == BY_TRACE else stamped


def _derive(span: Span, run_id: str, where: str) -> Span:
    if not run_id:
        return span
    recognised = span.recognised
    if where:
        before = span.recognised or Recognised()
        recognised = replace(before, sources={**before.sources, RUN_ID: where})
    attributes = {**span.attributes, RUN_ID: run_id}
    return replace(span, attributes=attributes, derived=(*span.derived, RUN_ID), recognised=recognised)
