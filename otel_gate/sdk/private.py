"""Content of a span of this process, withheld on the thread that ends it: before that there is nothing on the disk.

Only spans that have content pay for it, and only when ``redact`` is set or arguments are not to be kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.conventions.meaning import NO_RESOURCE, NO_SCOPE
from otel_gate.core.model import encode
from otel_gate.pipeline.lines import decode
from otel_gate.pipeline.pieces import kept

if TYPE_CHECKING:
    from otel_gate.core.model import Span
    from otel_gate.pipeline import Pipeline
    from otel_gate.pipeline.withhold import Withholding


class Private:
    """Withholds content in front of a pipeline, which gets what is left of arguments."""

    def __init__(self, withholding: Withholding, pipeline: Pipeline) -> None:
        """Put in front of a pipeline."""
        self._withholding, self._pipeline = withholding, pipeline

    def line(self, line: bytes, made: Span, key: str) -> bytes:
        """Return the line of a span without what is withheld; ``made`` is the span, ``key`` the id of its trace."""
        pipeline = self._pipeline
        scope = NO_SCOPE if made.scope is None else pipeline.scopes.values[made.scope]
        if not self._withholding.concerns(made, scope.name):
            return line
        resource = NO_RESOURCE if made.resource is None else pipeline.resources.values[made.resource]
        span, blobs = self._withholding.of(decode(line), scope, resource)
        for message in kept(key, span.span_id, blobs):
            pipeline.put(message)
        return encode(span)


def private(pipeline: Pipeline) -> Private | None:
    """Return what withholds content in front of a pipeline, when it is to be withheld."""
    return None if pipeline.withholding is None else Private(pipeline.withholding, pipeline)
