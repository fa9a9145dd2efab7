"""The arguments of a call, read strictly: what is in doubt is no JSON, and never becomes an empty object."""

from __future__ import annotations

from json import JSONDecodeError, JSONDecoder
from math import isinf
from typing import TYPE_CHECKING, Any, NoReturn

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable


class Malformed(Struct, frozen=True):
    """Text that is no JSON from character ``at`` on; ``at`` is -1 when it is JSON whose meaning is in doubt."""

    text: str
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
