"""Rules of a user's own, named on the command line of these tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.cli.conftest import HOSTILE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_gate.core.model import Trace


def nothing(_: Trace) -> Iterator[str]:
    """Find nothing."""
    yield from ()


def no_search(trace: Trace) -> Iterator[str]:
    """Let no trace pass in which the tool "search" was called."""
    if any(span.attributes.get("tool.name") == "search" for span in trace.spans):
        yield "search is not a tool of this house"


def hostile(_: Trace) -> Iterator[str]:
    """Find something in every trace, and say it in hostile words."""
    yield HOSTILE


hostile.__name__ = HOSTILE
