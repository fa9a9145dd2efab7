"""The small diff of arguments."""

from __future__ import annotations

import json
from typing import Any

import pytest

from otel_gate.report.arguments import CHARS, MOST, ArgumentChange, argument_diff

CASES: list[tuple[Any, Any, list[tuple[str, str | None, str | None]]]] = [
    ({"q": "a", "n": 1}, {"q": "b", "n": 1}, [("$.q", '"a"', '"b"')]),
    ({"a": {"b": [1, 2]}}, {"a": {"b": [1, 3, 4]}}, [("$.a.b[1]", "2", "3"), ("$.a.b[2]", None, "4")]),
    ({"a": 1}, {"b": 1}, [("$.a", "1", None), ("$.b", None, "1")]),
    ({"two words": 1}, {"two words": 2}, [('$["two words"]', "1", "2")]),
    (1, True, [("$", "1", "true")]),
    (1, 1.0, [("$", "1", "1.0")]),
    ([], {}, [("$", "[]", "{}")]),
    ({"a": None}, {}, [("$.a", "null", None)]),
]


@pytest.mark.parametrize(("was", "now", "expected"), CASES)
def test_changes_stand_at_their_places(was: Any, now: Any, expected: list[Any]) -> None:
    """Each place that differs is named, with what stood and stands there."""
    found = argument_diff(json.dumps(was).encode(), json.dumps(now).encode())
    assert [(one.path, one.was, one.now) for one in found.changes] == expected
    assert not found.more


def test_a_long_diff_and_long_values_are_cut() -> None:
    """The first few changes stand there, the others are counted; a long value is shortened."""
    was, now = ({str(at): text * 200 for at in range(MOST + 5)} for text in "ab")
    found = argument_diff(json.dumps(was).encode(), json.dumps(now).encode())
    assert (len(found.changes), found.more) == (MOST, 5)
    assert {len(one.was or "") for one in found.changes} == {CHARS}


@pytest.mark.parametrize("blob", [b"not json", b"\xff\xfe", b"[" * 100_000])
def test_what_is_no_json_is_a_text(blob: bytes) -> None:
    """Arguments that are not JSON are compared as one text, and nothing is raised."""
    found = argument_diff(blob, b"{}")
    assert [one.path for one in found.changes] == ["$"]
    assert found.changes[0] != ArgumentChange("$", None, None)
