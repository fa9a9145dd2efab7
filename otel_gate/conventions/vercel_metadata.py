"""Vercel AI SDK to release 6: what the application says of a run in ``experimental_telemetry.metadata``, on every span.

The names are the application's own. Those that name a run are taken for one, those that name a session, thread or chat
for a conversation; a user is neither.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.conventions.meaning import Convention, Meaning

if TYPE_CHECKING:
    from otel_gate.conventions.meaning import Seen

METADATA = "ai.telemetry.metadata."
RUNS = tuple(METADATA + name for name in ("run.id", "runId", "run_id"))
CONVERSATIONS = tuple(
    METADATA + name
    for name in (
        "sessionId", "session_id", "session.id", "threadId", "thread_id", "conversationId", "conversation_id", "chatId",
    )
)  # fmt: skip


def recognise(seen: Seen) -> Meaning | None:
    """Read the ids that a span carries, whatever it is."""
    run_id, conversation = seen.text(*RUNS), seen.text(*CONVERSATIONS)
    return Meaning(run_id=run_id, conversation=conversation) if run_id.value or conversation.value else None


CONVENTIONS = (Convention("vercel_metadata", recognise, ("ai",)),)
