"""The run id of a trace: explicit on the root, else by the setting ``run_id`` (DESIGN section 5)."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from otel_gate.core.model import Span, Trace

RUN_ID = "run.id"
CONVERSATION = ("gen_ai.conversation.id", "session.id")
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


def with_run_id(trace: Trace, policy: str, drawn: Mapping[str, str]) -> Trace:
    """Give each root without a run id the one that the policy names; it is listed in the root's ``derived``.

    ``drawn`` holds ids that were drawn in the agent's process, by span id of the local root. A policy that is none of
    ``auto``, ``require``, ``conversation`` and ``trace`` is the run id itself.
    """
    bare = [root for root in trace.roots if RUN_ID not in root.attributes]
    if not bare or policy == REQUIRE:
        return trace
    given = {id(root): run_id for root in bare if (run_id := _run_id(trace, root, policy, drawn))}
    if not given:
        return trace
    return replace(trace, spans=tuple(_derive(span, given.get(id(span), "")) for span in trace.spans))


def _run_id(trace: Trace, root: Span, policy: str, drawn: Mapping[str, str]) -> str:
    if policy == AUTO:
        return drawn.get(root.span_id, "")
    if policy not in (BY_CONVERSATION, BY_TRACE):
        return policy
    spans = (root, *trace.spans)
    conversation = next((text for key in CONVERSATION for span in spans if (text := text_of(span, key))), "")
    return conversation or (trace.trace_id if policy == BY_TRACE else drawn.get(root.span_id, ""))


def _derive(span: Span, run_id: str) -> Span:
    if not run_id:
        return span
    return replace(span, attributes={**span.attributes, RUN_ID: run_id}, derived=(*span.derived, RUN_ID))
