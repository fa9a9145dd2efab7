"""A schema becomes a function once, so that a call costs no look at the schema again.

Common keywords are compiled here, references within the schema among them; what is left goes to ``library``. A schema
comes from others: it may loop, nest or be ill-formed, and each of these is a ``CatalogueError`` that says where. The
order of findings rests on lists (``required``, ``items``) and names, never on the order in which objects were written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_gate.errors import CatalogueError
from otel_gate.toolcalls import shown
from otel_gate.toolcalls.checker import branches, containers, references
from otel_gate.toolcalls.checker.finding import Finding
from otel_gate.toolcalls.checker.keywords import KEYWORDS, IllFormed, rule, ruled
from otel_gate.toolcalls.checker.library import Library
from otel_gate.toolcalls.checker.place import Place
from otel_gate.toolcalls.checker.types import EXACT, acceptor, never

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from otel_gate.toolcalls.checker.finding import Check, Findings, Path
    from otel_gate.toolcalls.checker.keywords import Rule
    from otel_gate.toolcalls.strictness import Strictness

MOST_LEVELS = 100
ENTANGLED = frozenset({"patternProperties", "prefixItems", "unevaluatedItems", "unevaluatedProperties"})
"""Keywords that change what their neighbours mean: a schema with one of them goes to the library whole."""
LIBRARY = ENTANGLED | {
    "contains", "dependentRequired", "dependentSchemas", "else", "if", "maxContains", "minContains", "not",
    "propertyNames", "then",
}  # fmt: skip
"""Every keyword of JSON Schema 2020-12 that asserts something and is not compiled here."""


class Compiler:
    """Compiles one tool's schema; ``which`` names it in errors."""

    def __init__(self, root: Any, strictness: Strictness, which: str) -> None:
        """Start with nothing compiled."""
        self.root, self.strictness, self.which = root, strictness, which
        self.library = Library(root, which)
        self._references: dict[tuple[str, bool], list[Check]] = {}

    def compiled(self) -> Check:
        """Return the check of the whole schema.

        Raises:
            CatalogueError: the schema is ill-formed, loops, nests too deep or points outside itself.

        """
        try:
            if references.need_library(self.root, MOST_LEVELS):
                return self.library.check(self.root)
            return self.check(self.root, Place(closed=self.strictness.known_fields))
        except RecursionError as error:
            raise self.error("#", f"at most {MOST_LEVELS} levels", "more") from error

    def check(self, schema: Any, place: Place) -> Check:
        """Return the check of a schema at a place of the root."""
        if isinstance(schema, bool):
            return _nothing if schema else _never
        if not isinstance(schema, dict):
            raise self.error(place.at, "a schema: an object, true or false", shown.shown(schema))
        if place.level > MOST_LEVELS:
            raise self.error(place.at, f"at most {MOST_LEVELS} levels", "more")
        check = self._checked(schema, place)
        if self.strictness.nullable and schema.get("nullable") is True:
            return lambda value, path, found: None if value is None else check(value, path, found)
        return check

    def error(self, at: str, expected: str, got: str) -> CatalogueError:
        """Return the error of a schema that can't be compiled."""
        return CatalogueError(f"{self.which} at {shown.name(at, 100)}", expected, got, "another schema for the tool")

    def wanted(self, schema: Any) -> references.Wanted:
        """Return what is told of a missing field of this schema."""
        return references.wanted(self.root, schema)

    def _checked(self, schema: dict[str, Any], place: Place) -> Check:
        if ENTANGLED & schema.keys():
            return self.library.check(schema)
        parts = list(self._parts(schema, place))
        if "type" not in schema:
            return parts[0] if len(parts) == 1 else _all(parts)
        wanted = schema["type"]
        names = tuple(wanted) if isinstance(wanted, list) else (wanted,)
        if not all(isinstance(name, str) and name in EXACT for name in names):
            raise self.error(f"{place.at}/type", "a type of JSON Schema", shown.shown(wanted))
        exact = frozenset(kind for name in names for kind in EXACT[name])
        wrong, accepts = never(names, self.strictness), acceptor(names, self.strictness)
        return _of_type(exact, wrong, accepts, names, parts)

    def _parts(self, schema: dict[str, Any], place: Place) -> Iterator[Check]:
        rules = [self._rule(keyword, schema[keyword], place.at) for keyword in KEYWORDS if self._holds(keyword, schema)]
        if rules:
            yield ruled(rules)
        yield from containers.checks(schema, self, place._replace(closed=place.closed and branches.none(schema)))
        yield from branches.checks(schema, self, place._replace(closed=place.closed and branches.alone(schema)))
        if "$ref" in schema:
            yield self._reference(schema["$ref"], place, closed=place.closed and branches.alone(schema))
        rest = {key: value for key, value in schema.items() if key in LIBRARY}
        if rest:
            yield self.library.check(rest)

    def _holds(self, keyword: str, schema: dict[str, Any]) -> bool:
        return keyword in schema and (keyword != "format" or self.strictness.formats)

    def _rule(self, keyword: str, limit: Any, at: str) -> Rule:
        try:
            return rule(keyword, limit)
        except IllFormed as error:
            raise self.error(f"{at}/{keyword}", str(error), shown.shown(limit)) from error

    def _reference(self, reference: Any, place: Place, *, closed: bool) -> Check:
        target = references.target(self.root, reference)
        if isinstance(target, references.Nowhere):
            raise self.error(f"{place.at}/$ref", "a reference within the schema", shown.shown(reference))
        if reference in place.followed:
            got = f"a loop through {shown.shown(reference)}"
            raise self.error(f"{place.at}/$ref", "references that come to an end", got)
        kept = self._references.get((reference, closed))
        if kept is None:
            # known before it is compiled, so that a schema may hold itself, further down
            kept = self._references[reference, closed] = []
            kept.append(self.check(target, place.behind(reference, closed=closed)))

        def check(value: Any, path: Path, found: Findings) -> None:
            found.step()
            kept[0](value, path, found)

        return check


def _nothing(value: Any, path: Path, found: Findings) -> None:
    """Find nothing."""


def _never(value: Any, path: Path, found: Findings) -> None:
    found.append(Finding("constraint", path, "false", None, value))


def _all(parts: list[Check]) -> Check:
    def check(value: Any, path: Path, found: Findings) -> None:
        for part in parts:
            part(value, path, found)

    return check


def _of_type(
    exact: frozenset[type],
    wrong: frozenset[type],
    accepts: Callable[[Any], bool],
    names: tuple[str, ...],
    parts: list[Check],
) -> Check:
    """Check the type first: nothing else is said of a value of another type."""
    rest = parts[0] if len(parts) == 1 else _all(parts) if parts else None

    def check(value: Any, path: Path, found: Findings) -> None:
        kind = type(value)
        if kind not in exact and (kind in wrong or not accepts(value)):
            found.append(Finding("type_mismatch", path, "type", names, value))
        elif rest is not None:
            rest(value, path, found)

    return check
