"""Google's ADK, schema 1 and 2, alone or with OpenInference on top of it.

The run's id stands on the spans of its model. Schema 1 writes ``{}`` for arguments when content is off, and then for
the response too. The span beside calls that ran together (``execute_tool (merged)``) is no call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.conventions import arguments, genai
from otel_gate.conventions.meaning import Convention, Meaning
from otel_gate.conventions.run_ids import identifier

if TYPE_CHECKING:
    from otel_gate.conventions.meaning import Seen

SCOPES = ("gcp.vertex.agent", "openinference.instrumentation.google_adk*")
SWITCH_1 = "ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS=true"
PREFIX = "gcp.vertex.agent."
RUN_ID, SESSION = f"{PREFIX}invocation_id", f"{PREFIX}session_id"
ARGUMENTS_1, RESPONSE_1 = f"{PREFIX}tool_call_args", f"{PREFIX}tool_response"
MERGED, NO_CONTENT = "execute_tool (merged)", "{}"
PLACEHOLDERS = arguments.PLACEHOLDERS | {NO_CONTENT}


def recognise(seen: Seen) -> Meaning:
    """Read a span that names its operation, and the id of its run."""
    meaning = Meaning("other") if seen.span.name == MERGED else genai.recognise(seen) or Meaning()
    conversation = identifier(seen, genai.CONVERSATION, SESSION)
    return meaning._replace(run_id=identifier(seen, RUN_ID), conversation=conversation)


def schema_1(seen: Seen) -> Meaning | None:
    """Read a tool call whose arguments stand where schema 1 writes them."""
    is_call = ARGUMENTS_1 in seen.span.attributes and genai.operation(seen) == "tool" and seen.span.name != MERGED
    if not is_call:
        return None
    off = seen.span.attributes.get(RESPONSE_1, NO_CONTENT) == NO_CONTENT
    given = arguments.required(seen, ARGUMENTS_1, placeholders=PLACEHOLDERS if off else arguments.PLACEHOLDERS)
    return Meaning("tool", arguments=given)


CONVENTIONS = (
    Convention("google_adk_1", schema_1, SCOPES, SWITCH_1),
    Convention("google_adk", recognise, SCOPES, genai.SWITCH, covers=(genai.recognise,)),
)
