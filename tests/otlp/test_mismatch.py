"""How a value is named in a message."""

from __future__ import annotations

import pytest

from otel_gate.otlp.mismatch import mismatch, seen


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "bool true"),
        (10**79, f"int {10**79}"),
        (-(10**80), "int of more than 80 digits"),
        (1e300, "float 1e+300"),
        ("a" * 80, 'str "' + "a" * 80 + '"'),
        ("a" * 81, 'str "' + "a" * 79 + '…"'),
        ('"\x1b\ud800', 'str "\\"\\u001b?"'),
        ([], "array of 0 elements"),
        ([1], "array of 1 element"),
        ({"a": 1, "b": 2}, "object of 2 keys"),
        (b"", "bytes"),
    ],
)
def test_a_value_is_named_by_its_type_and_shortened(value: object, text: str) -> None:
    """Scalars show their text, at most about 80 characters of it and no control characters; containers their size."""
    assert seen(value) == text


def test_the_parts_of_a_path_are_joined() -> None:
    """A mismatch says where, what was expected and what stands there."""
    problem = mismatch(5, "str", "$.spans[0]", "name").problem
    assert (problem.path, problem.expected, problem.got) == ("$.spans[0].name", "str", "int 5")
