"""Ids of OTLP in the forms that senders give them: lower hex in the model, whatever they were.

OTLP/JSON wants hex, plain protobuf printers write base64 of the bytes, some write base64 of the hex text. Hex is tried
first: 32 hex digits are base64 too. Text that is none of these stays as it is, for the rules to refuse.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.otlp.fields import HEX, text
from otel_gate.otlp.json_form import base64_bytes

if TYPE_CHECKING:
    from otel_gate.otlp.notes import Notes

TRACE_ID_BYTES = 16
SPAN_ID_BYTES = 8
ID_BASE64 = "id_base64"
ID_HEX_BYTES = "id_hex_bytes"

Coded = tuple[str, str]


def json_id(value: object, path: str, name: str, size: int) -> Coded:
    """Read an id of OTLP/JSON: the id in the model's form, and the code of an oddity or ``""``.

    Raises:
        MismatchError: it is not a string.

    """
    given = text(value, path, name)
    if HEX.fullmatch(given):
        return given.lower(), ""
    found = _from_base64(given, size)
    return (found, ID_BASE64) if found else (given, "")


def wire_id(raw: bytes, size: int) -> Coded:
    """Read an id of OTLP protobuf: all its bytes in lower hex, and the code of an oddity or ``""``."""
    if len(raw) == 2 * size and (found := _hex_text(raw)):
        return found, ID_HEX_BYTES
    return raw.hex(), ""


def no_zeros(span_id: str) -> str:
    """Give the id of a parent, where all zeros is no parent."""
    return span_id if span_id.strip("0") else ""


def noting(coded: Coded, notes: Notes, path: str) -> str:
    """Give the id, and note how it was written when that was odd."""
    span_id, code = coded
    if code:
        notes.add(code, path)
    return span_id


def _from_base64(given: str, size: int) -> str:
    raw = base64_bytes(given) if given.endswith("=") and len(given) % 4 == 0 else None
    if raw is None:
        return ""
    if len(raw) == size:
        return raw.hex()
    return _hex_text(raw) if len(raw) == 2 * size else ""


def _hex_text(raw: bytes) -> str:
    text = raw.decode("ascii", "replace")
    return text.lower() if HEX.fullmatch(text) else ""
