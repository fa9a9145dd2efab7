"""``allOf``, ``anyOf`` and ``oneOf``: of several schemas none of which holds, the one that is nearest is reported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from otel_gate.toolcalls.checker.finding import Finding, Findings
from otel_gate.toolcalls.shown import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from otel_gate.toolcalls.checker.compiler import Compiler
    from otel_gate.toolcalls.checker.finding import Check, Path
    from otel_gate.toolcalls.checker.place import Place

IN_PLACE = ("$ref", "allOf", "anyOf", "oneOf")
BESIDE = (*IN_PLACE, "dependentSchemas", "else", "if", "not", "then")
"""Keywords whose schemas may speak of the same object's fields."""


def none(schema: dict[str, Any]) -> bool:
    """Tell whether a schema's own ``properties`` say all that it says about an object's fields."""
    return not any(key in schema for key in BESIDE)


def alone(schema: dict[str, Any]) -> bool:
    """Tell whether one schema within a schema says all that it says about an object's fields."""
    return sum(key in schema for key in (*BESIDE, "properties")) == 1 and len(schema.get("allOf", "1")) == 1


def checks(schema: dict[str, Any], compiler: Compiler, place: Place) -> Iterator[Check]:
    """Return the checks of the three keywords.

    Raises:
        CatalogueError: one of them is no list of schemas.

    """
    for keyword, join in JOINS.items():
        if keyword not in schema:
            continue
        inner = schema[keyword]
        if not isinstance(inner, list) or not inner:
            raise compiler.error(f"{place.at}/{keyword}", "an array of schemas", shown(inner))
        places = [place.beside(f"{keyword}/{number}", closed=place.closed) for number in range(len(inner))]
        yield join([compiler.check(*each) for each in zip(inner, places, strict=True)])


def _all_of(parts: list[Check]) -> Check:
    def check(value: Any, path: Path, found: Findings) -> None:
        for part in parts:
            part(value, path, found)

    return check


def _any_of(parts: list[Check]) -> Check:
    def check(value: Any, path: Path, found: Findings) -> None:
        tried = []
        for part in parts:
            tried.append(_try(part, value, path, found))
            if not tried[-1]:
                return
        found += _nearest(tried, path)

    return check


def _one_of(parts: list[Check]) -> Check:
    def check(value: Any, path: Path, found: Findings) -> None:
        tried = [_try(part, value, path, found) for part in parts]
        holding = sum(not one for one in tried)
        if not holding:
            found += _nearest(tried, path)
        elif holding > 1:
            found.append(Finding("constraint", path, "oneOf", holding, value))

    return check


JOINS: dict[str, Callable[[list[Check]], Check]] = {"allOf": _all_of, "anyOf": _any_of, "oneOf": _one_of}


def _try(part: Check, value: Any, path: Path, found: Findings) -> Findings:
    inner = Findings()
    inner.steps = found.steps
    part(value, path, inner)
    found.steps = inner.steps
    return inner


def _nearest(tried: list[Findings], path: Path) -> list[Finding]:
    """Return the findings of the schema that has the fewest, of those whose type is right when there are any."""
    fitting = [one for one in tried if not _is_of_another_type(one, path)]
    if fitting:
        return min(fitting, key=len)
    names = tuple(dict.fromkeys(name for one in tried for name in one[0].limit))
    return [replace(tried[0][0], limit=names)]


def _is_of_another_type(found: Findings, path: Path) -> bool:
    return found[0].code == "type_mismatch" and found[0].path == path
