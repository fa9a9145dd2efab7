"""What is not compiled goes to the ``jsonschema`` library, with our patterns, a bound on references and no network.

The library is loaded when a schema needs it. Its registry is empty and fetches nothing. Its errors are translated, so
that callers see one kind of finding.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from otel_gate.errors import CatalogueError
from otel_gate.toolcalls import shown
from otel_gate.toolcalls.checker import bounded, translation
from otel_gate.toolcalls.checker.finding import Finding, Overrun
from otel_gate.toolcalls.checker.patterns import Pattern, pattern
from otel_gate.toolcalls.checker.references import DATA

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_gate.toolcalls.checker.finding import Check, Findings, Path

MOST_ERRORS = 1_000
MOST_REFERENCES, LONGEST_KEY = 24, 128
"""References in a schema with ``unevaluated…``: the library follows them there without asking us."""
LARGEST = 2_000
"""Fields or items of a value that such a schema is asked about: the library's time grows with their square."""
NAMING = frozenset({"dependentRequired", "required", "type"})
INSTEAD = "another schema for the tool"
RESOLVED, SHALLOW = "references within the schema", "a schema that nests less deep"
WELL_FORMED, A_PATTERN = "a JSON Schema", "a regular expression that Python knows"


class Library:
    """Checks of parts of one root schema by the library."""

    def __init__(self, root: Any, which: str) -> None:
        """Load nothing yet."""
        self._root, self._which = root, which
        self._validator: Any = None
        self._unresolvable: type[Exception] = ValueError
        self._is_unevaluated = False

    def check(self, schema: Any) -> Check:
        """Return the check of a schema that stands within the root.

        Raises:
            CatalogueError: the schema is ill-formed or can't be bounded, or the library is not installed.

        """
        if self._validator is None:
            self._validator = self._load()
        plain = _without_dialects(schema)
        self._hold(plain)
        validator = self._validator.evolve(schema=plain)

        def check(value: Any, path: Path, found: Findings) -> None:
            bounded.begin(found)
            if self._is_unevaluated and _is_large(value):
                raise Overrun
            mine: list[Finding] = []
            try:
                for number, error in enumerate(validator.iter_errors(value)):
                    if number == MOST_ERRORS:
                        break
                    mine += translation.findings(error, path)
            except (ValueError, OverflowError, TypeError) as error:
                mine.append(Finding("constraint", path, "limits", type(error).__name__, value))
            except self._unresolvable as error:
                raise self._error(RESOLVED, error) from error
            found += sorted(mine, key=_order)

        return check

    def _load(self) -> Any:
        try:
            kind, registry, self._unresolvable = bounded.library()
        except ImportError as error:
            expected = "the package jsonschema, for the rarer keywords"
            raise CatalogueError(self._which, expected, "none", "pip install 'otel-gate[tools]'") from error
        self._bound()
        return kind(_without_dialects(self._root), registry=registry)

    def _bound(self) -> None:
        """See that what the library does by itself, for ``unevaluated…``, has an end."""
        entries = list(_entries(self._root))
        if not any(key.startswith("unevaluated") for key, _ in entries):
            return
        follows = sum(key == "$ref" for key, _ in entries)
        if follows > MOST_REFERENCES:
            expected = f"at most {MOST_REFERENCES} references beside unevaluatedProperties"
            raise CatalogueError(self._which, expected, str(follows), INSTEAD)
        self._is_unevaluated = True
        for key, sources in entries:
            for source in sources if key == "patternProperties" and isinstance(sources, dict) else ():
                if self._compiled(source).longest_cheap < LONGEST_KEY:
                    expected = "patterns that are quick to search for, beside unevaluatedProperties"
                    raise CatalogueError(self._which, expected, shown.shown(source), INSTEAD)

    def _hold(self, schema: Any) -> None:
        """See that a schema is well-formed; first that lists of names hold names, which the library is slow to see."""
        for key, value in _entries(schema):
            lists = value.values() if key == "dependentRequired" and isinstance(value, dict) else [value]
            for names in lists if key in NAMING else ():
                if isinstance(names, list) and not all(isinstance(one, str) for one in names):
                    raise CatalogueError(self._which, f"names in {key}", shown.shown(names), INSTEAD)
        try:
            type(self._validator).check_schema(schema)
        except RecursionError as error:
            raise CatalogueError(self._which, SHALLOW, "RecursionError", INSTEAD) from error
        except Exception as error:
            raise self._error(WELL_FORMED, error) from error
        for key, value in _entries(schema):
            if key == "pattern" and isinstance(value, str):
                self._compiled(value)
            for source in value if key == "patternProperties" and isinstance(value, dict) else ():
                self._compiled(source)

    def _compiled(self, source: str) -> Pattern:
        try:
            return pattern(source)
        except (re.error, ValueError) as error:
            raise self._error(A_PATTERN, error) from error

    def _error(self, expected: str, error: Exception) -> CatalogueError:
        got = shown.name(str(getattr(error, "message", error)), 200)
        return CatalogueError(self._which, expected, got, INSTEAD)


def _order(found: Finding) -> tuple[str, ...]:
    """Return what findings are sorted by: the library's own order is that in which objects were written."""
    return shown.path(found.path), found.code, found.keyword, shown.shown(found.limit), shown.shown(found.value)


def _without_dialects(schema: Any) -> Any:
    """Return a copy without ``$schema``: the library would read references below it as that dialect does."""
    if isinstance(schema, dict):
        return {
            key: value if key in DATA else _without_dialects(value)
            for key, value in schema.items()
            if not (key == "$schema" and isinstance(value, str))
        }
    return [_without_dialects(one) for one in schema] if isinstance(schema, list) else schema


def _is_large(value: Any) -> bool:
    todo = [value]
    while todo:
        one = todo.pop()
        if isinstance(one, dict | list) and len(one) > LARGEST:
            return True
        if isinstance(one, dict):
            if any(len(key) > LONGEST_KEY for key in one):
                return True
            todo += one.values()
        elif isinstance(one, list):
            todo += one
    return False


def _entries(schema: Any) -> Iterator[tuple[str, Any]]:
    todo = [schema]
    while todo:
        one = todo.pop()
        if isinstance(one, dict):
            yield from ((str(key), value) for key, value in one.items())
            todo += one.values()
        elif isinstance(one, list):
            todo += one
