"""Values that are given to a name which says that they are secret: ``password=…``, ``"api_key": "…"``, ``--token …``.

The library's own way finds one such value a line, in source code. Its words are taken, and ours added. A text is
searched for fragments of these words first, which is fast; names and values are looked for only around them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from otel_gate.secret_scan.patterns import SHAPE, plugin

if TYPE_CHECKING:
    from collections.abc import Iterator

KEYWORD = "Secret Keyword"

# "token" alone is not taken from the library: what a model writes and counts is full of it.
_NOT_WORDS = frozenset({"token"})
_WORDS = (
    r"(?:access|signing|encryption|master|secret)[-_ ]?key", r"secret[-_]?access[-_]?key", "passphrase", "credentials?",
    r"(?:access|auth|refresh|id|bearer|api|session|security|oauth|csrf|device|bot)[-_]?token", "authorization",
)  # fmt: skip
_NO_VALUES = frozenset({"null", "none", "nil", "true", "false", "undefined"})
_FRAGMENT = re.compile("[a-z_. -]key|pass|pwd|secret|token|authoriz|credential|contrase")
_BEFORE, _AFTER = 11, 6  # characters of a word around its fragment
_LONGEST_OPTION = 24
_SEPARATOR = r"\s{0,5}(?::=|=>|={1,3}|:)\s{0,5}"
_SCHEME = r"(?:bearer|basic|token)"
_BARE = rf"(?:{_SCHEME}\s{{1,3}})?(?![=:]|{_SCHEME}\b)(?P<value>[^\s\"'`,;&(){{}}\[\]<>\\]{{1,4096}})"


def assigned(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the values stand that are given to a secret's name."""
    done = 0
    for fragment in _FRAGMENT.finditer(_lowered(text)):
        start = fragment.start()
        if start < done:
            continue
        word = _WORD.match(text, start) or _WORD.search(text, max(done, start - _BEFORE), fragment.end() + _AFTER)
        if word is None or word.start() > start:
            continue
        suffix = _SUFFIX.match(text, word.end())
        done = suffix.end() if suffix else word.end()
        is_option = _OPTION.search(text, max(0, word.start() - _LONGEST_OPTION), word.start())
        forms = (*_GIVEN, _AS_OPTION, _IN_LIST) if is_option else _GIVEN
        value = next((found for form in forms if (found := form.match(text, done))), None)
        if value and value["value"].lower() not in _NO_VALUES:
            yield value.span("value")


def names_a_secret(key: str) -> bool:
    """Tell whether a key, or its last part, is the name of a secret."""
    return _KEY.search(key) is not None


def is_a_token(key: str, value: str) -> bool:
    """Tell whether a text under the key ``token`` looks like one."""
    return key.lower() == "token" and _TOKEN.fullmatch(value) is not None


def asks_for_a_secret(item: object, value: object) -> bool:
    """Tell whether an item of a list of arguments is an option (``--password``) whose value is the next item."""
    if not isinstance(item, str) or not isinstance(value, str) or value.startswith("-"):
        return False
    return _LISTED.fullmatch(item) is not None and (names_a_secret(item) or item.lower() == "--token")


def _lowered(text: str) -> str:
    """Return a text with its ASCII letters lowered, and every character in its place."""
    return text.encode("latin-1", "replace").lower().decode("latin-1")


def _words() -> str:
    """Return the words that name a secret, as one alternation; none that could run on through the text."""
    library = (word for word in plugin("keyword").DENYLIST if word not in _NOT_WORDS and not set(word) & set("*+"))
    return "|".join([*_WORDS, *library])


_NAMES = _words()
_WORD = re.compile(rf"(?<!\[)(?:{_NAMES})", re.IGNORECASE)
_SUFFIX = re.compile(r"(?:s|\d{1,3})?(?:[_-]\w{1,30})?", re.IGNORECASE)
_KEY = re.compile(rf"(?:{_NAMES})s?\d{{0,3}}$", re.IGNORECASE)
_OPTION = re.compile(r"--[\w-]{0,20}\Z")
_GIVEN = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        r"(?:[\"'`]\]?)?" + _SEPARATOR + r"(?P<quote>[\"'`])(?P<value>(?:(?!(?P=quote))[^\\\n]|\\.){1,4096})",
        r"(?:\\{1,8}[\"'])?" + _SEPARATOR + r"(?P<quote>\\{1,8}[\"'])(?P<value>(?:(?!(?P=quote))[^\n]){1,4096})",
        _SEPARATOR + _BARE,
    )
)
_IN_LIST = re.compile(
    r"(?P<quote>\\{0,8}[\"'])\s{0,5},\s{0,5}(?P=quote)(?![-\[])(?P<value>(?:(?!(?P=quote))[^\n]){1,4096})"
)
_TOKEN = re.compile(SHAPE, re.ASCII)
_LISTED = re.compile(r"--?[\w-]{1,40}")
_AS_OPTION = re.compile(r"\s{1,3}" + _BARE, re.IGNORECASE)
