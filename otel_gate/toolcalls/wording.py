"""Issues in words: a finding and a language become an ``Issue``, of which only the message depends on the language.

The words wait until somebody reads them, where what they say can't change before that: a text or a number stays what
it is, an array or an object is shown at once.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct

from otel_gate.toolcalls import shown
from otel_gate.toolcalls.model import Issue, unread
from otel_gate.toolcalls.nearest import MOST_COMPARED, rename
from otel_gate.toolcalls.texts import table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from otel_gate.toolcalls.checker.containers import Unknown
    from otel_gate.toolcalls.checker.finding import Finding
    from otel_gate.toolcalls.checker.references import Wanted
    from otel_gate.toolcalls.model import Code, Texts

TOPIC = "issues"
MOST_OF_LIMIT, MOST_KEPT = 200, 4_096
SAID_BY_VALUE = frozenset({"null", "boolean"})  # types whose values say what they are: null, true, false
SETTLED = frozenset({str, int, float, bool, type(None)})  # types whose values stay what they are


class Worded(Struct, frozen=True, gc=False):
    """A finding, and the language that it is put into."""

    finding: Finding
    language: str

    def texts(self) -> Texts:
        """Return what is said of the finding."""
        finding, language = self.finding, self.language
        code, path, limit, value = finding.code, shown.path(finding.path), finding.limit, finding.value
        if code == "missing_field":
            return _missing(path, limit, language)
        if code == "unknown_field":
            return _unknown(path, str(value)[:MOST_COMPARED], limit, language)
        if code == "type_mismatch":
            return _mismatch(path, limit, shown.kind(value), shown.shown(value), language)
        if code == "invalid_enum":
            return filled(code, path, language, "", limit, shown.shown(value))
        return _constraint(path, finding, language)


def issues_of(findings: Iterable[Finding], language: str) -> tuple[Issue, ...]:
    """Return what a check has found as issues.

    Raises:
        UsageError: there are no texts in this language.

    """
    table(TOPIC, language)
    return tuple([_issue_of(one, language) for one in findings])


def _issue_of(finding: Finding, language: str) -> Issue:
    words = Worded(finding, language)
    return unread(finding.code, words) if type(finding.value) in SETTLED else Issue(finding.code, *words.texts())


def issue(  # noqa: PLR0913, PLR0917 - the places that texts have
    code: Code, path: str, language: str, key: str = "", expected: str = "", got: str = "", *, at: int = 0
) -> Issue:  # fmt: skip
    """Return an issue whose message is the text of its code (or of ``key``), filled with what is given.

    Raises:
        UsageError: there are no texts in this language.

    """
    return Issue(code, *filled(code, path, language, key, expected, got, at=at))


def filled(  # noqa: PLR0913, PLR0917 - the places that texts have
    code: Code, path: str, language: str, key: str = "", expected: str = "", got: str = "", *,
    words: str = "", kind: str = "", keyword: str = "", size: int = 0, at: int = 0,
) -> Texts:  # fmt: skip
    """Return the texts of an issue.

    ``words`` is what the message has in place of ``expected``; ``kind`` the type of what was got, in words.

    Raises:
        UsageError: there are no texts in this language.

    """
    texts = table(TOPIC, language)
    field = texts["arguments"] if path == "$" else texts["field"].format(path=path.removeprefix("$."))
    template = texts.get(key or code, texts["constraint"])
    message = template.format(
        field=field, expected=words or expected, got=got, kind=kind, keyword=keyword, size=size, at=at
    )
    return path, expected, got, message


_kept = lru_cache(maxsize=MOST_KEPT)  # what rests on the schema, and not on the values of a call


@_kept
def kinds(names: tuple[str, ...], language: str) -> str:
    """Return types in words."""
    texts = table(TOPIC, language)
    return texts["or"].join(texts.get(f"type.{name}", name) for name in names) or texts["any"]


@_kept
def _missing(path: str, wanted: Wanted, language: str) -> Texts:
    if wanted.values:
        words = table(TOPIC, language)["one_of"].format(values=wanted.values)
        return filled("missing_field", path, language, "", wanted.values, words=words)
    return filled("missing_field", path, language, "", " | ".join(wanted.types), words=kinds(wanted.types, language))


def _unknown(path: str, name: str, about: Unknown, language: str) -> Texts:
    meant, got = shown.name(rename(name, about.fields.schemas, about.absent)), shown.name(name)
    if meant:
        return filled("unknown_field", path, language, "unknown_field.rename", meant, got)
    names = shown.cut(", ".join(map(shown.name, sorted(about.absent or about.fields.schemas))), shown.MOST_OF_LIST)
    some = "unknown_field.absent" if len(about.absent) < len(about.fields.schemas) else ""
    key = (some if about.absent else "") if names else "unknown_field.none"
    return filled("unknown_field", path, language, key, names, got)


def _mismatch(path: str, names: tuple[str, ...], kind: str, got: str, language: str) -> Texts:
    words, key = kinds(names, language), "type_mismatch.plain" if kind in SAID_BY_VALUE else ""
    return filled(
        "type_mismatch", path, language, key, " | ".join(names), got, words=words, kind=kinds((kind,), language)
    )


def _constraint(path: str, found: Finding, language: str) -> Texts:
    limit = shown.name(found.limit, MOST_OF_LIMIT) if isinstance(found.limit, str) else shown.shown(found.limit)
    keyword, got = shown.name(found.keyword), shown.shown(found.value)
    size = len(found.value) if isinstance(found.value, str | list | dict) else 0
    key = f"constraint.{keyword}"
    return filled("constraint", path, language, key, f"{keyword} {limit}", got, words=limit, keyword=keyword, size=size)
