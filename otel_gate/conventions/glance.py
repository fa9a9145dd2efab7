"""Which traces need no second look: no convention derives anything of them, as scopes and attribute names tell.

For files of a gigabyte: a trace in which every tool call says its name and its hash itself is judged without reading
what its attributes mean. ``Glance`` errs on one side only: what it lets pass, ``normalise`` would leave as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.conventions import genai
from otel_gate.conventions.meaning import says_nothing
from otel_gate.conventions.native import NATIVE
from otel_gate.core.tool_words import BESIDE_NAME, OF_TOOLS

if TYPE_CHECKING:
    from collections.abc import Collection

    from otel_gate.conventions.recognise import Table

_OF_TOOLS = OF_TOOLS | BESIDE_NAME


class Glance:
    """What of a table can be told at a glance."""

    def __init__(self, table: Table) -> None:
        """Look for the marks of the table's general conventions."""
        general = [one for one in table.conventions if not one.scopes and one.name not in (NATIVE, genai.NAME)]
        self.blind = any(not one.marks for one in general)  # what has no mark may recognise anything
        self._marks = frozenset(mark for one in general for mark in one.marks)
        self._table = table

    def passes(self, scope: str) -> bool:
        """Tell whether nothing but the general conventions reads spans of a scope, and no note is made of it."""
        scoped = [one for one in self._table.of_scope(scope) if one.scopes]
        return not scope or (bool(scoped) and all(one.recognise is says_nothing for one in scoped))

    def is_plain(self, keys: Collection[str]) -> bool:
        """Tell whether attributes of these names carry no mark, or none but that of the GenAI conventions."""
        if not self._marks.isdisjoint(keys):
            return False
        return genai.OPERATION in keys or _OF_TOOLS.isdisjoint(keys)  # without its mark it is a note
