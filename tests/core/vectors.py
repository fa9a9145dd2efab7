"""The published vectors of ``input.sha256``, and which of them other implementations of RFC 8785 can be asked about."""

from __future__ import annotations

import base64
import json
from typing import TypedDict

from tests.conftest import ROOT

SAFE = 2**53 - 1


class Vector(TypedDict):
    """One of ``fixtures/canonical/vectors.json``; ``canonical`` None is hashed as received."""

    name: str
    input: str | dict[str, str]
    canonical: str | None
    sha256: str


VECTORS: list[Vector] = json.loads((ROOT / "fixtures/canonical/vectors.json").read_text(encoding="utf-8"))


def received(vector: Vector) -> str | bytes:
    """Return what was received: a text, or what JSON can't carry, bytes and texts that are no Unicode."""
    match vector["input"]:
        case {"$bytes": content}:
            return base64.b64decode(content)
        case {"utf8_hex": digits}:
            return bytes.fromhex(digits).decode("utf-8", "surrogatepass")
        case text:
            assert isinstance(text, str)
            return text


def in_the_rfc(vector: Vector) -> bool:
    """Tell whether the RFC has a canonical form of it: JSON, and no integer that only our extension keeps."""
    text = received(vector)
    if vector["canonical"] is None or not isinstance(text, str):
        return False
    integers: list[int] = []
    json.loads(text, parse_int=lambda digits: integers.append(int(digits)))
    return all(abs(number) <= SAFE for number in integers)
