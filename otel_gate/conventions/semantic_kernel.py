"""Semantic Kernel: the GenAI conventions, a switch of its own. A tool is called ``Plugin-function``, and stays so."""

from __future__ import annotations

from otel_gate.conventions import genai
from otel_gate.conventions.meaning import Convention

SWITCH = "SEMANTICKERNEL_EXPERIMENTAL_GENAI_ENABLE_OTEL_DIAGNOSTICS_SENSITIVE=true"
CONVENTIONS = (Convention("semantic_kernel", genai.recognise, ("semantic_kernel.*", "semantic_kernel"), SWITCH),)
