"""Which traces need no second look: no convention derives anything of them, as scopes and attribute names tell.

For files of a gigabyte: a trace in which every tool call says its name and its hash itself is judged without reading
what its attributes mean, and as long as all do, our conventions are not even loaded. ``Glance`` errs on one side only:
what carries no mark and is of a scope that passes, ``normalise`` would leave as it is.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from otel_gate import conventions
from otel_gate.core.tool_words import MARKS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from otel_gate.conventions.recognise import Table

SCOPES_AT_HAND = 1_024


class Glance:
    """What can be told at a glance, under our conventions and a user's own.

    ``marks`` are the attributes that general conventions go by; ``blind`` says that one has none, and may recognise
    anything.
    """

    def __init__(self, own: Sequence[Any] = ()) -> None:
        """Look for the marks of general conventions.

        Raises:
            SettingsError: a value of the user's own stands for something that is no convention.
        """
        self._own = own
        mine = self.table.conventions[: -len(conventions.CONVENTIONS)] if own else ()
        marks = [one.marks for one in mine if not one.scopes]
        self.marks, self.blind = MARKS.union(*marks), not all(marks)
        self.passes = lru_cache(SCOPES_AT_HAND)(self._passes)

    @cached_property
    def table(self) -> Table:
        """The conventions, for what takes more than a glance."""
        return conventions.table(self._own)

    def _passes(self, scope: str) -> bool:
        """Tell whether nothing but the general conventions reads spans of a scope, and no note is made of it."""
        if not scope:
            return True
        from otel_gate.conventions import native, plumbing  # noqa: PLC0415 - few files name scopes, and none of others
        from otel_gate.conventions.meaning import says_nothing  # noqa: PLC0415
        from otel_gate.conventions.recognise import is_one_of  # noqa: PLC0415

        if not self._own:
            return is_one_of(scope, (*native.SCOPES, *plumbing.SCOPES))
        scoped = [one for one in self.table.of_scope(scope) if one.scopes]
        return bool(scoped) and all(one.recognise is says_nothing for one in scoped)
