"""Rules of a user's own, named on the command line of these tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.core.rule import Rule, violation
from tests.cli.conftest import HOSTILE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_gate.core.model import Trace, Violation


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


def broken(_: Trace) -> Iterator[str]:
    """Judge no trace, and say so in hostile words."""
    raise RuntimeError(HOSTILE)


def broken_at_times(trace: Trace) -> Iterator[str]:
    """Crash when the first tool call has no hash."""
    if not trace.tools[0].attributes["input.sha256"]:
        yield "no hash"


def no_search_of_a_code(trace: Trace) -> Iterator[Violation]:
    """Let no such trace pass either, under a code."""
    for said in no_search(trace):
        yield violation("X1", "no-search", None, said, expected="no search", got="one", try_="another tool")


hostile.__name__ = HOSTILE
KNOWN = Rule("X1", "no-search", no_search_of_a_code, lambda _: None)
