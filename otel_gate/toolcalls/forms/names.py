"""Names that a provider refuses, turned into ones that it accepts, and back, without collisions.

A name that fits keeps itself, and has its place before any other gets one. One that does not is written in ASCII
(``телефон`` is ``telefon``, so that the model still reads a word), cut to the limit, and numbered where another has it.
So the translation is one to one, and the same in every process.

Fields have one alias throughout a tool, and are translated where the schema declares them: a key of a free-form object
is data and stays. A free-form key that happens to be an alias of a field declared beside it is taken for that field.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

_CYRILLIC_LETTERS = "абвгдеёжзийклмнопрстуфхцчшщъыьэюя"
_IN_LATIN = "a/b/v/g/d/e/e/zh/z/i/i/k/l/m/n/o/p/r/s/t/u/f/kh/ts/ch/sh/shch//y//e/iu/ia"
_CYRILLIC = dict(zip(_CYRILLIC_LETTERS, _IN_LATIN.split("/"), strict=True))
_PERSIAN_LETTERS = "اآأبپتثجچحخدذرزژسشصضطظعغفقکكگلمنوهةیيىئؤء"
_ITS_LATIN = "a/a/a/b/p/t/s/j/ch/h/kh/d/z/r/z/zh/s/sh/s/z/t/z/a/gh/f/q/k/k/g/l/m/n/v/h/h/i/i/i/i/v/"
_PERSIAN = dict(zip(_PERSIAN_LETTERS, _ITS_LATIN.split("/"), strict=True))
_DIGITS = {chr(zero + digit): str(digit) for zero in (0x660, 0x6F0) for digit in range(10)}
_LETTERS = _CYRILLIC | {letter.upper(): text.capitalize() for letter, text in _CYRILLIC.items()} | _PERSIAN | _DIGITS
_REFUSED = re.compile(r"[^A-Za-z0-9_]")


class Rule(NamedTuple):
    """What a provider accepts: a pattern that the whole name fits, and the length of the longest name."""

    pattern: re.Pattern[str]
    most: int


def rule(first: str, rest: str, most: int) -> Rule:
    """Return the rule of names whose first character is one of ``first`` and the others are of ``rest``."""
    return Rule(re.compile(f"[{first}][{rest}]{{0,{most - 1}}}", re.ASCII), most)


def aliases(names: Iterable[str], accepted: Rule, spare: str) -> dict[str, str]:
    """Return an accepted name for each name, every one another; ``spare`` is for names that have no letter of ours."""
    asked = list(dict.fromkeys(names))
    made = {name: name for name in asked if accepted.pattern.fullmatch(name)}
    taken = set(made)
    for name in asked:
        if name not in made:
            made[name] = _free(_ascii(name, accepted, spare), accepted, taken)
            taken.add(made[name])
    return made


def _free(wish: str, accepted: Rule, taken: set[str]) -> str:
    made, number = wish, 1
    while made in taken:
        number += 1
        tail = f"_{number}"
        made = wish[: accepted.most - len(tail)] + tail
    return made


def _ascii(name: str, accepted: Rule, spare: str) -> str:
    spelled = "".join(_LETTERS.get(letter, letter) for letter in name)
    plain = "".join(one for one in unicodedata.normalize("NFKD", spelled) if not unicodedata.combining(one))
    made = _REFUSED.sub("_", plain)
    if not made.strip("_"):
        made = spare
    if not accepted.pattern.fullmatch(made[0]):
        made = f"{spare}_{made}"
    return made[: accepted.most]
