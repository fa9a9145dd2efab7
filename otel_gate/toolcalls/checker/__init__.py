"""A compiled checker of arguments: findings in an order that rests on neither the order of objects nor the process.

Nothing here hangs or crashes on what others wrote: levels, references, patterns and library errors have bounds, and a
value beyond them is a finding (``limits``), a schema beyond them a ``CatalogueError``.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

from otel_gate.toolcalls.checker.compiler import Compiler
from otel_gate.toolcalls.checker.finding import Finding, Findings, Overrun

if TYPE_CHECKING:
    from otel_gate.toolcalls.strictness import Strictness

MOST_VALUE_LEVELS = 100
_rank = attrgetter("rank")
_CONTAINERS = frozenset({dict, list})


class Checker:
    """The compiled check of one schema.

    Raises:
        CatalogueError: the schema is ill-formed, loops, nests too deep or points outside itself.

    """

    def __init__(self, schema: Any, strictness: Strictness, which: str = "a schema") -> None:
        """Compile a schema; ``which`` names it in errors."""
        self._check = Compiler(schema, strictness, which).compiled()

    def findings(self, value: Any) -> list[Finding]:
        """Return what is wrong with a value: missing fields, then types and values, then unknown fields."""
        found = Findings()
        try:
            is_bounded = not _is_deep(value) and self._check(value, (), found) is None
        except (RecursionError, Overrun):
            is_bounded = False
        if not is_bounded:
            found.append(Finding("constraint", (), "limits", None, value))
        if len(found) > 1:
            found.sort(key=_rank)
        return found


def _is_deep(value: Any) -> bool:
    if isinstance(value, dict) and _CONTAINERS.isdisjoint(map(type, value.values())):
        return False
    level = [value]
    for _ in range(MOST_VALUE_LEVELS):
        level = [inner for one in level for inner in _inside(one) if isinstance(inner, dict | list)]
        if not level:
            return False
    return True


def _inside(value: Any) -> Any:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
