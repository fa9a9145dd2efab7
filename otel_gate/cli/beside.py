"""The arguments of tool calls that stand in a trace itself, by which a file tells what a store's blobs tell otherwise.

They are those that conventions read, or what stands under a usual key of a span of one's own. What went through
``redact`` is said to be so: no hash can be compared with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.conventions import TABLE
from otel_gate.conventions.normalise import normalise
from otel_gate.core.canonical import canonical_bytes
from otel_gate.core.model import is_tool
from otel_gate.store.blobs import Blob

if TYPE_CHECKING:
    from collections.abc import Mapping

    from otel_gate.conventions.recognise import Understood
    from otel_gate.core.model import Trace

ARGUMENTS = ("gen_ai.tool.call.arguments", "tool.arguments", "tool_arguments", "input.value")
"""Where the arguments of a span of one's own stand, which no convention reads."""


def beside(trace: Trace) -> Mapping[str, Blob]:
    """Return the arguments that stand in a trace, as the bytes that are hashed, by the id of the call's span."""
    normal = normalise(trace, TABLE)
    found = {one.span_id: one.content for one in normal.calls}
    for one, span in zip(normal.told, normal.trace.spans, strict=True):
        content = _content(one) if is_tool(span) and span.span_id not in found else None
        if content is not None:
            found[span.span_id] = content
    redacted = {span.span_id for span in trace.spans if span.redacted}
    return {span_id: Blob(content, span_id in redacted) for span_id, content in found.items()}


def _content(one: Understood) -> bytes | None:
    attributes = one.span.attributes
    given = one.arguments.value if one.arguments and not one.arguments.unhashed else None
    if given is None:
        given = next((attributes[key] for key in ARGUMENTS if attributes.get(key) is not None), None)
    return None if given is None else canonical_bytes(given)
