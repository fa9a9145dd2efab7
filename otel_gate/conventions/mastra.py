"""Mastra's exporter: the GenAI conventions, and a run id on every span."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.conventions import genai
from otel_gate.conventions.meaning import Convention, Meaning

if TYPE_CHECKING:
    from otel_gate.conventions.meaning import Seen

SWITCH = "tracingOptions.hideInput: false"


def recognise(seen: Seen) -> Meaning:
    """Read a span that names its operation, and the id of its run."""
    return (genai.recognise(seen) or Meaning())._replace(run_id=seen.text("mastra.metadata.runId"))


CONVENTIONS = (Convention("mastra", recognise, ("@mastra/otel-exporter",), SWITCH, covers=(genai.recognise,)),)
