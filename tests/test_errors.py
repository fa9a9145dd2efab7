"""Errors say which, expected, got and what to try, and carry the answer's codes."""

from __future__ import annotations

import ast
import pickle
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from otel_gate import errors
from otel_gate.errors import GateError

if TYPE_CHECKING:
    from collections.abc import Iterator

CODES = {
    "GateError": (70, 500),
    "UsageError": (64, 400),
    "NoSuchCommand": (127, 400),
    "NotExecutable": (126, 400),
    "SettingsError": (64, 400),
    "InputError": (66, 404),
    "CatalogueError": (66, 422),
    "NotWellFormed": (2, 422),
    "WriteError": (74, 507),
}


def test_the_codes_are_those_of_the_design() -> None:
    """Each class of the tree has its exit code and HTTP status, and they are these."""
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, GateError)]
    assert {kind.__name__: (kind.exit_code, kind.http_status) for kind in kinds} == CODES


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (("a.json",), "a.json"),
        (("a.json", "a trace"), "a.json: expected a trace"),
        (("a.json", "", "a folder"), "a.json: got a folder"),
        (("a.json", "a trace", "[]", "another file"), "a.json: expected a trace, got []; try another file"),
        (("no input", "", "", "a file"), "no input; try a file"),
    ],
)
def test_the_message_is_built_from_the_parts_that_are_there(parts: tuple[str, ...], message: str) -> None:
    """A part that is empty leaves no words behind."""
    assert str(GateError(*parts)) == message


def test_the_parts_are_attributes() -> None:
    """A caller reads the parts without taking the message apart."""
    error = GateError("w", expected="e", got="g", try_="t")
    assert (error.which, error.expected, error.got, error.try_) == ("w", "e", "g", "t")


def test_an_error_survives_pickling() -> None:
    """An error can cross a process boundary and still says the same."""
    error = pickle.loads(pickle.dumps(GateError("w", "e", "g", "t")))  # noqa: S301 - our own bytes
    assert str(error) == "w: expected e, got g; try t"


def tries(tree: ast.Module) -> Iterator[str]:
    """Give each text that is written as what to try: the fourth part of an error, ``try_=``, or a name ``try_``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CODES:
            values = [*node.args[3:4], *(one.value for one in node.keywords if one.arg == "try_")]
        elif isinstance(node, ast.Assign) and any("try_" in ast.unparse(target) for target in node.targets):
            values = node.value.elts[-1:] if isinstance(node.value, ast.Tuple) else [node.value]
        else:
            continue
        constants = (one.value for value in values for one in ast.walk(value) if isinstance(one, ast.Constant))
        yield from (text for text in constants if isinstance(text, str))


def test_what_to_try_goes_on_from_try() -> None:
    """A message ends with ``; try T``: T is a thing, a command or ``to`` do something, never a verb after ``try``."""
    said = {
        (path.name, text)
        for path in Path(errors.__file__).parent.rglob("*.py")
        for text in tries(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert len(said) > 100
    assert [one for one in said if one[1].startswith(("run ", "use ", "set ")) or ", or to " in one[1]] == []
