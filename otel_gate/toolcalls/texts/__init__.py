"""The texts that a model reads, as tables: a module a topic and language, ``issues_en``, each one dict ``TEXTS``.

A new text is one line in every table of its topic (a test holds that all have the same keys and the same places to
fill); a new language is one module a topic and its name in ``LANGUAGES``. Values are filled in as they are, so whoever
fills makes them short and harmless first.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from otel_gate.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

LANGUAGES = ("en", "ru", "fa")


def text(topic: str, language: str, key: str, /, **values: Any) -> str:
    """Return one text of a topic in a language, filled with ``values``.

    Raises:
        UsageError: there are no texts in this language.

    """
    return table(topic, language)[key].format_map(values)


@lru_cache(maxsize=64)
def table(topic: str, language: str) -> Mapping[str, str]:
    """Return the texts of a topic in a language (``ru``, also written ``ru-RU``).

    Raises:
        UsageError: there are no texts in this language.

    """
    texts: Mapping[str, str] = import_module(f"{__name__}.{topic}_{language_of(language)}").TEXTS
    return texts


def language_of(wanted: str) -> str:
    """Return the language of a code (``ru`` of ``ru-RU``).

    Raises:
        UsageError: there are no texts in this language.

    """
    name = wanted.replace("_", "-").partition("-")[0].lower() if isinstance(wanted, str) else ""
    if name in LANGUAGES:
        return name
    raise UsageError(which="language", expected=" or ".join(LANGUAGES), got=repr(wanted)[:40])
