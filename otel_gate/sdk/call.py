"""One traced tool call: its span, how it is made current, and how it ends."""

from __future__ import annotations

import contextlib
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, NamedTuple

from opentelemetry import trace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opentelemetry.trace import Span

ERROR_TYPE = "error.type"


class Call(NamedTuple):
    """A span that has begun, and the attributes that it must end with."""

    span: Span
    required: dict[str, str]

    @contextmanager
    def current(self) -> Iterator[Span]:
        """Make the span current for a block, and end it with the block."""
        with self.ended(), self.made_current():
            yield self.span

    def made_current(self) -> AbstractContextManager[Span]:
        """Make the span current for a block."""
        return trace.use_span(self.span, end_on_exit=False, record_exception=False, set_status_on_exception=False)

    @contextmanager
    def ended(self) -> Iterator[None]:
        """End the span with a block; an exception is recorded in it and goes on."""
        span = self.span
        try:
            yield
        except GeneratorExit:  # the caller has read enough: no failure of the tool
            raise
        except BaseException as error:
            with contextlib.suppress(Exception):  # its own text may raise: the tool's exception is what goes on
                failed(span, error)
            raise
        finally:
            if getattr(span, "dropped_attributes", 0):  # the SDK evicts the oldest first: these become the newest
                span.set_attributes(self.required)
            span.end()


def failed(span: Span, error: BaseException) -> None:
    """Record how a call failed: the exception, error.type and the status."""
    kind = type(error)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    span.set_attribute(ERROR_TYPE, name)
    span.set_status(trace.StatusCode.ERROR)
    span.record_exception(error)
    span.set_status(trace.Status(trace.StatusCode.ERROR, f"{kind.__name__}: {error}"))
