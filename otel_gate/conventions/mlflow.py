"""MLflow's export: every value is JSON, also a text (``mlflow.spanType`` is ``"TOOL"`` with its quotes)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.conventions import arguments
from otel_gate.conventions.meaning import NOTHING, Convention, Found, Meaning
from otel_gate.conventions.run_ids import is_identifier

if TYPE_CHECKING:
    from otel_gate.conventions.meaning import Arguments, Operation, Seen

SWITCH = "MLflow records arguments by default: remove what takes mlflow.spanInputs off its spans"
KIND, INPUT, RUN_ID, CALL_ID = "mlflow.spanType", "mlflow.spanInputs", "mlflow.traceRequestId", "tool_call_id"
KINDS: dict[str, Operation] = {
    "TOOL": "tool", "AGENT": "agent", "LLM": "model", "CHAT_MODEL": "model", "EMBEDDING": "model",
}  # fmt: skip


def recognise(seen: Seen) -> Meaning | None:
    """Read a span that says its type, and the id of its trace in MLflow."""
    if KIND not in seen.span.attributes and RUN_ID not in seen.span.attributes:
        return None
    run_id, kind = _text(seen, RUN_ID), _text(seen, KIND).value
    if not kind:
        return Meaning(run_id=run_id)
    operation = KINDS.get(kind.strip().upper(), "other")
    if operation != "tool":
        return Meaning(operation, run_id=run_id)
    name = Found(seen.span.name, "name") if seen.span.name.strip() else NOTHING
    return Meaning("tool", name, _given(seen), _text(seen, CALL_ID), run_id)


def _text(seen: Seen, key: str) -> Found:
    """Return a text that stands as JSON."""
    value = arguments.parsed(seen.span.attributes.get(key))
    found = Found(value, f"attributes.{key}") if isinstance(value, str) and value.strip() else NOTHING
    return found if is_identifier(found) else NOTHING


def _given(seen: Seen) -> Arguments:
    """Return the inputs; a text that stands as JSON is taken for what it says."""
    given = arguments.required(seen, INPUT)
    value = None if given.unhashed else arguments.parsed(given.value)
    return arguments.of_value(value, given.where) if isinstance(value, str) else given


CONVENTIONS = (Convention("mlflow", recognise, switch=SWITCH, marks=(KIND, RUN_ID)),)
