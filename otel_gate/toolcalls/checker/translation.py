"""The library's errors as findings: the codes are ours, and of several branches the nearest one speaks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_gate.toolcalls.checker.containers import Fields, Unknown
from otel_gate.toolcalls.checker.finding import FIRST, LAST, Finding
from otel_gate.toolcalls.checker.references import wanted
from otel_gate.toolcalls.shown import listed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_gate.toolcalls.checker.finding import Path

BRANCHING = frozenset({"anyOf", "oneOf"})


def findings(error: Any, path: Path) -> Iterator[Finding]:
    """Translate one ``ValidationError``; ``path`` is where the value stands that the library was given."""
    keyword, limit, value = str(error.validator or "false"), error.validator_value, error.instance
    where = path
    for key in error.relative_path:
        where = (where, key)
    if keyword in BRANCHING and error.context:
        yield from _nearest(error, where)
    elif keyword in ("required", "dependentRequired"):
        yield from _missing(error, where)
    elif keyword == "type":
        yield Finding("type_mismatch", where, keyword, (limit,) if isinstance(limit, str) else tuple(limit), value)
    elif keyword == "additionalProperties":
        known = error.schema.get("properties", {}) if isinstance(error.schema, dict) else {}
        about = Unknown(Fields(known), frozenset(known).difference(value))
        yield Finding("unknown_field", where, keyword, about, where[1], LAST)
    elif keyword in ("enum", "const"):
        yield Finding("invalid_enum", where, keyword, listed([limit] if keyword == "const" else limit), value)
    else:
        yield Finding("constraint", where, keyword, limit, value)


def _missing(error: Any, where: Path) -> Iterator[Finding]:
    """Find out which name the library means: the error tells it in its message alone, quoted as Python does."""
    limit, value = error.validator_value, error.instance
    lists = [limit] if isinstance(limit, list) else [names for key, names in limit.items() if key in value]
    named = [name for names in lists for name in names]
    known = error.schema.get("properties", {}) if isinstance(error.schema, dict) else {}
    for name in dict.fromkeys(named):
        if name not in value and error.message.startswith(repr(name)):
            yield Finding(
                "missing_field", (where, name), str(error.validator), wanted(None, known.get(name)), None, FIRST
            )
            return


def _nearest(error: Any, where: Path) -> Iterator[Finding]:
    branches: dict[Any, list[Any]] = {}
    for inner in error.context:
        branches.setdefault(next(iter(inner.relative_schema_path), None), []).append(inner)
    for inner in min(branches.values(), key=lambda one: (any(_is_type(each) for each in one), len(one))):
        yield from findings(inner, where)


def _is_type(error: Any) -> bool:
    return error.validator == "type" and not error.relative_path
