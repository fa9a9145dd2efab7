"""The types of JSON Schema, as a strictness means them: a bool is no number, whatever Python says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from otel_gate.toolcalls.shown import MOST_OF_VALUE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from otel_gate.toolcalls.strictness import Strictness

EXACT: dict[str, tuple[type, ...]] = {
    "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,), "null": (type(None),),
    "object": (dict,), "array": (list,),
}  # fmt: skip
_TEXTS = {
    "integer": re.compile(r"-?\d+", re.ASCII),
    "number": re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?", re.ASCII),
    "boolean": re.compile("true|false"),
}


def never(names: Sequence[str], strictness: Strictness) -> frozenset[type]:
    """Return the Python types none of whose values is of one of these types, so that nothing else need be asked."""
    exact = {kind for name in names for kind in EXACT[name]}
    doubtful: set[type] = {float} if "integer" in names else set()
    doubtful |= {str} if strictness.number_texts else set()
    return frozenset(kind for kinds in EXACT.values() for kind in kinds) - exact - doubtful


def acceptor(names: Sequence[str], strictness: Strictness) -> Callable[[Any], bool]:
    """Return what tells whether a value that is of none of the exact Python types is of one of these types yet."""

    def accepts(value: Any) -> bool:
        return any(_is(value, name, strictness) for name in names)

    return accepts


def _is(value: Any, name: str, strictness: Strictness) -> bool:
    if isinstance(value, EXACT[name]):
        return True
    if name == "integer" and isinstance(value, float):
        return strictness.whole_floats and value.is_integer()
    if strictness.number_texts and isinstance(value, str) and name in _TEXTS and len(value) <= MOST_OF_VALUE:
        return _TEXTS[name].fullmatch(value) is not None
    return False


def is_number(value: Any) -> bool:
    """Tell whether a value is a number of JSON."""
    return isinstance(value, int | float) and not isinstance(value, bool)
