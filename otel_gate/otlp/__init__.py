"""Wire <-> model: the simplified shape, records, OTLP/JSON and OTLP protobuf in; OTLP/JSON and protobuf out.

Only reading of files stands here, and is loaded when it is asked for: ``plain`` needs none of it. ``proto`` (which
needs protobuf), ``wire`` and ``otlp_json_out`` are imported by name where they are used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from otel_gate.otlp.brackets import lines
    from otel_gate.otlp.reader import Piece, read

__all__ = ["Piece", "lines", "read"]
_PLACES = {"Piece": "reader", "lines": "brackets", "read": "reader"}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    value = getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
    globals()[name] = value
    return value
