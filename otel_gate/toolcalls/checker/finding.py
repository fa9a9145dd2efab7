"""What a check finds, before it has words: cheap to make, and the same for our checks and for the library's."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

if TYPE_CHECKING:
    from otel_gate.toolcalls.model import Code

Path: TypeAlias = tuple[Any, ...]
"""Where a value stands: ``()`` for the arguments themselves, else ``(path of its parent, key)``."""

MOST_STEPS = 20_000
"""How many references one call may follow; schemas whose references multiply end here."""


class Finding(Struct, frozen=True, gc=False):
    """One mismatch: code, path, the keyword that is violated, that keyword's value, and the value that was there.

    ``rank`` orders findings: missing fields are ``FIRST``, then what is about types and values, then unknown fields.
    """

    code: Code
    path: Path
    keyword: str
    limit: Any
    value: Any
    rank: int = 1


FIRST, LAST = 0, 2


class Overrun(Exception):  # noqa: N818 - it ends a check, it is no error of the call or of ours
    """A check that followed too many references."""


class Findings(list[Finding]):
    """What was found so far, and how many references were followed for it."""

    steps = 0

    def step(self) -> None:
        """Count one reference.

        Raises:
            Overrun: there were too many.

        """
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise Overrun


Check: TypeAlias = Callable[[Any, Path, Findings], None]
"""Looks at a value and adds what it finds."""
