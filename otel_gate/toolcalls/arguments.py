"""The arguments of a call, read strictly: what is in doubt is no JSON, and never becomes an empty object.

Arguments that come as an object are held to the same: NaN and the infinities have no JSON, so a record could hold them
as text only, and the call would be malformed there.
"""

from __future__ import annotations

from json import JSONDecodeError, JSONDecoder
from math import isfinite, isinf
from typing import TYPE_CHECKING, Any, NoReturn

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable


class Malformed(Struct, frozen=True):
    """What is no JSON, from character ``at`` on; ``at`` is -1 when it is JSON whose meaning is in doubt.

    ``given`` is the text, or the object that no JSON can be written of.
    """

    given: Any
    at: int = -1


class InDoubt(ValueError):  # noqa: N818 - said of a text
    """A key is given twice, or a number is none of JSON's."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise InDoubt
    return found


def _no_number(_: str) -> NoReturn:
    raise InDoubt


def _finite(text: str) -> float:
    number = float(text)
    if isinf(number):
        raise InDoubt
    return number


DECODER = JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_number, parse_float=_finite)
_scan: Callable[[str, int], tuple[Any, int]] = DECODER.scan_once  # type: ignore[attr-defined] # since Python 2.7


def parsed(text: str) -> Any:
    """Return the JSON value of a text, or ``Malformed``: no JSON, a key twice, NaN, too deep, too large a number."""
    try:
        value, end = _scan(text, 0)
        # a text that has nothing around the value, as most have, is done
        return value if end == len(text) else DECODER.decode(text)
    except StopIteration:
        return _decoded(text)
    except JSONDecodeError as error:
        return Malformed(text, error.pos)
    except (ValueError, RecursionError):
        return Malformed(text)


def _decoded(text: str) -> Any:
    try:
        return DECODER.decode(text)
    except JSONDecodeError as error:
        return Malformed(text, error.pos)
    except (ValueError, RecursionError):
        return Malformed(text)


PLAIN = frozenset({str, int, bool, type(None)})


def is_finite(value: Any) -> bool:
    """Tell whether every number in a value is one of JSON's: no NaN, no infinity."""
    if isinstance(value, dict) and PLAIN.issuperset(map(type, value.values())):
        return True
    waiting, seen = [value], set[int]()
    while waiting:
        one = waiting.pop()
        if isinstance(one, float) and not isfinite(one):
            return False
        if isinstance(one, dict | list | tuple) and id(one) not in seen:  # a value of Python's may hold itself
            seen.add(id(one))
            waiting += one.values() if isinstance(one, dict) else one
    return True
