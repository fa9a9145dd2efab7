"""Values as JSON that is safe to print: on a terminal, and in the log of a CI runner."""

from __future__ import annotations

import json

import msgspec

from otel_gate.report.escape import printable_json


def text(value: object) -> str:
    """Return a value as indented JSON; lone surrogates (of a file's name, say) are escaped."""
    try:
        plain = msgspec.json.format(msgspec.json.encode(value)).decode()
    except UnicodeEncodeError:
        plain = json.dumps(msgspec.to_builtins(value), indent=2)
    return printable_json(plain)


def document(data: bytes) -> str:
    """Return a document or record of ours as it stands, safe to print, without its last line feed."""
    return printable_json(data.decode().rstrip("\n"))


def line(value: object) -> str:
    """Return a value as one line of JSON that is safe to print."""
    try:
        plain = msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        plain = json.dumps(msgspec.to_builtins(value), separators=(",", ":"))
    return printable_json(plain)
