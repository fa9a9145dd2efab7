"""The words of names and descriptions, and how much two lots of words have in common.

Names are taken apart where people put them together: ``getUserById`` and ``get_user-by.id`` have the same words.
"""

# ruff: noqa: RUF001 - the words of other languages
from __future__ import annotations

import re
from functools import lru_cache

MOST_TEXT = 4_000
_PARTS = re.compile(r"[^\W\d_]+|\d+")
_HUMPS = re.compile(r"(?<=[a-zа-яё0-9])(?=[A-ZА-ЯЁ])|(?<=[A-Z])(?=[A-Z][a-z])")
_LEAST_STEM = 4
_SAYING_NOTHING = """
a all also an and any are as at be by can do for from has have if in into is it its may no not of on only or so such
that the then there these this to use used using was when which will with would
you your
в во до для же за и из или как к ко на не о об от по при с со то у что эта это этот
از است این آن با برای به تا در را که و یا یک
"""
STOP_WORDS = frozenset(_SAYING_NOTHING.split())


def words(text: str) -> list[str]:
    """Return the words of a name or a description, in lower case."""
    return [stem(word) for word in _PARTS.findall(_HUMPS.sub(" ", text[:MOST_TEXT]).casefold())]


@lru_cache(maxsize=8192)
def telling(text: str) -> tuple[str, ...]:
    """Return the words that can say what a text is about: no numbers, no single Latin letters, no ``of``."""
    found = (word for word in words(text) if word not in STOP_WORDS and not word.isdigit())
    return tuple(word for word in found if len(word) > 1 or not word.isascii())


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """Return a word without its English plural: enough for ``user`` and ``users`` to meet."""
    if len(word) >= _LEAST_STEM and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-3] + "y" if word.endswith("ies") else word[:-1]
    return word


def overlap(one: set[str] | frozenset[str], other: set[str] | frozenset[str]) -> float:
    """Return how much two sets have in common, 0 to 1 (shared of all, Jaccard's)."""
    return len(one & other) / len(one | other) if one and other else 0.0


def trigrams(name: str) -> frozenset[str]:
    """Return the three-letter pieces of a name, with its ends marked."""
    plain = f"^{''.join(words(name)) or name.casefold()}$"
    return frozenset(plain[place : place + 3] for place in range(len(plain) - 2))


def name_likeness(one: str, other: str) -> float:
    """Return how alike two names look, 0 to 1: by their words, or by their letters where those say more."""
    mine, theirs = frozenset(words(one)), frozenset(words(other))
    return max(overlap(mine, theirs), overlap(trigrams(one), trigrams(other)))


def containment(one: frozenset[str], other: frozenset[str]) -> float:
    """Return how much of the smaller set is in the other, 0 to 1."""
    return len(one & other) / min(len(one), len(other)) if one and other else 0.0
