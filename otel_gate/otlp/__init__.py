"""Wire <-> model: the simplified shape, records, OTLP/JSON and OTLP protobuf in; OTLP/JSON and protobuf out.

Only reading of files is loaded here. ``proto`` (which needs protobuf), ``wire`` and ``otlp_json_out`` are imported by
name where they are used.
"""

from otel_gate.otlp.lines import lines
from otel_gate.otlp.read import Piece, read

__all__ = ["Piece", "lines", "read"]
