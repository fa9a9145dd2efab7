"""The conventions, in the order in which they are asked: strongest marker first, an emitter's own before the general one.

To add one: a file with ``CONVENTIONS``, a line here, and a recorded trace (CONTRIBUTING says how).
"""

from __future__ import annotations

from otel_gate.conventions import genai, native, openinference
from otel_gate.conventions.recognise import Table

CONVENTIONS = (
    *openinference.CONVENTIONS,
    *genai.CONVENTIONS,
    *native.CONVENTIONS,
)
TABLE = Table(CONVENTIONS)
