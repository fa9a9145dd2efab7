"""Secrets in arguments, results and messages, found and taken out before anything is written.

``redact = "otel_gate.secret_scan:redact"`` switches it on; it needs ``pip install 'otel-gate[secrets]'``.

What is not scanned is not kept either: the end of a text beyond ``MOST`` characters, and a value that can't be walked.
Everything else comes back as it is. There is no state, so threads may share it.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from otel_gate.secret_scan.assigned import KEYWORD, asks_for_a_secret, assigned, is_a_token, names_a_secret
from otel_gate.secret_scan.patterns import PATTERNS, REST_OF_A_TOKEN

if TYPE_CHECKING:
    from collections.abc import Iterator

    Span = tuple[int, int, str]

MOST = 500_000  # characters of one text
EDGE = 4_096  # of these, the last ones of a longer text: a secret that begins there may not be seen whole
BYTES = "$bytes"

__all__ = ["MOST", "redact", "scanned"]


def redact(key: str, value: Any) -> Any:
    """Return a JSON value with ``[secret: TYPE]`` in the place of every secret in its texts; it never raises.

    A text under a key that names a secret (``password``, ``db.api_key``) is one as a whole. A value that can't be
    walked comes back as ``[not scanned: WHY]``.
    """
    try:
        return _walked(key, value)
    except Exception as error:  # noqa: BLE001 - nested too deep, or a container of the caller's own
        return f"[not scanned: {type(error).__name__}]"


def scanned(text: str) -> str:
    """Return a text with ``[secret: TYPE]`` in the place of every secret, and without what is beyond ``MOST``."""
    most = len(text) if len(text) <= MOST else MOST - EDGE
    parts: list[str] = []
    at = 0
    for start, end, label in _joined(_found(text[:MOST])):
        if start >= most:
            break
        parts += text[at:start], f"[secret: {label}]"
        at = end
    parts.append(text[at:most])
    if most < len(text):
        parts.append(f"[not scanned: {len(text) - max(at, most)} characters]")
    return "".join(parts)


def _walked(key: str, value: Any) -> Any:
    """Walk a value; each level of nesting costs one frame, so that 500 fit under an agent's own."""
    if isinstance(value, str):
        is_secret = value and (names_a_secret(key) or is_a_token(key, value))
        return f"[secret: {KEYWORD}]" if is_secret else scanned(value)
    if isinstance(value, bytes | bytearray):
        return _bytes(bytes(value))
    if isinstance(value, list | tuple):
        items: list[Any] = []
        before = None
        for item in value:
            items.append(f"[secret: {KEYWORD}]" if asks_for_a_secret(before, item) else _walked(key, item))
            before = item
        return items
    if not isinstance(value, dict):
        return value
    if value.keys() == {BYTES}:
        return {BYTES: _base64(value[BYTES])}
    found: dict[Any, Any] = {}
    for name, item in value.items():
        found[_free(name, found)] = _walked(name if isinstance(name, str) else key, item)
    return found


def _free(name: Any, taken: dict[Any, Any]) -> Any:
    """Return a key without secrets that is not taken yet."""
    clean = scanned(name) if isinstance(name, str) else name
    return clean if clean not in taken else f"{clean} {len(taken)}"


def _bytes(content: bytes) -> bytes:
    return scanned(content.decode("latin-1")).encode("latin-1")


def _base64(value: Any) -> Any:
    try:
        content = base64.b64decode(value, validate=True)
    except (TypeError, ValueError):
        return _walked(BYTES, value)
    left = _bytes(content)
    return value if left == content else base64.b64encode(left).decode()


def _found(text: str) -> Iterator[Span]:
    for label, expression, group in PATTERNS:
        done = 0
        for match in expression.finditer(text):
            start, end = match.span(group if group and match[group] else 0)
            if start >= done:
                rest = None if group else REST_OF_A_TOKEN.match(text, end)
                done = rest.end() if rest else end
                yield start, done, label
    for start, end in assigned(text):
        yield start, end, KEYWORD


def _joined(spans: Iterator[Span]) -> list[Span]:
    """Order spans and join those that overlap; the longest of the first gives the name."""
    joined: list[Span] = []
    for start, end, label in sorted(spans, key=lambda span: (span[0], -span[1])):
        if joined and start < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]), joined[-1][2])
        else:
            joined.append((start, end, label))
    return joined
