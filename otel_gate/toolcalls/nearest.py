"""Which known name is meant by an unknown one: by its letters, by its words, by the words of a description.

Names are compared by the pairs of letters that they share (Dice's coefficient), whatever their case and separators. The
result rests on the names alone: equal scores keep the order in which the names were given.
"""

from __future__ import annotations

import re
from functools import lru_cache
from operator import add
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

LIKELY, CONTAINED, DESCRIBED = 0.6, 0.75, 0.65
MOST_COMPARED, MOST_DESCRIPTION, SHORTEST_WORD, MOST_KEPT = 80, 2_000, 3, 8_192
_WORD = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+(?![^\W\d_A-Z])|\d+|[^\W_]+")


class _Name(NamedTuple):
    """A name as it is compared: its words, and the pairs of letters in them, with the edges as letters of their own."""

    words: frozenset[str]
    pairs: frozenset[str]


def _compared(short: str) -> _Name:
    words = [word.casefold() for word in _WORD.findall(short)]
    text = f"^{''.join(words)}$"
    return _Name(frozenset(words), frozenset(map(add, text, text[1:])))


_name = lru_cache(maxsize=MOST_KEPT)(_compared)


@lru_cache(maxsize=MOST_KEPT)
def _described(text: str) -> frozenset[str]:
    return frozenset(word.casefold() for word in _WORD.findall(text))


def similarity(one: str, two: str) -> float:
    """Return how alike two names are, from 0 to 1."""
    return _alike(_name(one[:MOST_COMPARED]), _name(two[:MOST_COMPARED]))


def _alike(left: _Name, right: _Name) -> float:
    shared = 2 * len(left.pairs & right.pairs) / (len(left.pairs) + len(right.pairs))
    contained = left.words and right.words and (left.words <= right.words or right.words <= left.words)
    return max(shared, CONTAINED) if contained else shared


def nearest(name: str, known: Iterable[str], most: int) -> list[str]:
    """Return the ``most`` names that are the most alike, the nearest first."""
    return sorted(known, key=lambda one: -similarity(name, one))[:most]


def rename(name: str, known: Mapping[str, Any], absent: Iterable[str]) -> str:
    """Return which of the ``absent`` fields an unknown one is likely meant to be, "" when none is.

    ``known`` maps the names of fields to their schemas.
    """
    best, score = "", LIKELY
    mine = _compared(name[:MOST_COMPARED])  # seldom seen again, so only the known names are kept
    for field in sorted(absent):
        likeness = _alike(mine, _name(field[:MOST_COMPARED]))
        if likeness < DESCRIBED and _tells(known[field], mine.words):
            likeness = DESCRIBED
        if likeness > score or (likeness == score and not best):
            best, score = field, likeness
    return best


def _tells(schema: Any, wanted: frozenset[str]) -> bool:
    """Tell whether a field's title or description holds every word of a name."""
    if not isinstance(schema, dict) or not wanted or max(map(len, wanted)) < SHORTEST_WORD:
        return False
    for key in ("title", "description"):
        text = schema.get(key)
        if isinstance(text, str) and wanted <= _described(text[:MOST_DESCRIPTION]):
            return True
    return False
