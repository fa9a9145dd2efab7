"""``input.sha256`` of values that JSON doesn't know, and of those that have no canonical form."""

from __future__ import annotations

import enum
import math
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

import pytest

from otel_gate.core.canonical import MAX_DEPTH, Unhashable, canonical, canonical_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator


class Colour(enum.Enum):
    """An enumeration of texts."""

    RED = "red"


class Level(enum.IntEnum):
    """An enumeration of numbers."""

    HIGH = 3


class Point(NamedTuple):
    """A named tuple."""

    x: int
    y: int


class Ratio(float):
    """A number of another library."""

    def __repr__(self) -> str:
        """Speak like that library."""
        return f"Ratio({float(self)})"


@dataclass
class Query:
    """Arguments as a dataclass."""

    text: str
    tags: set[str]


class Model:
    """Arguments that can dump themselves, as pydantic's models do."""

    def __init__(self, **fields: Any) -> None:
        """Keep the fields."""
        self.fields = fields

    def model_dump(self, *, mode: str) -> dict[str, Any]:
        """Return the fields when asked for JSON."""
        return self.fields if mode == "json" else {}


class Headers(Mapping[Any, Any]):
    """A mapping that is no dict."""

    def __init__(self, *pairs: tuple[Any, Any]) -> None:
        """Keep the pairs."""
        self.pairs = dict(pairs)

    def __getitem__(self, key: Any) -> Any:
        """Return one value."""
        return self.pairs[key]

    def __iter__(self) -> Iterator[Any]:
        """Walk the keys."""
        return iter(self.pairs)

    def __len__(self) -> int:
        """Count the keys."""
        return len(self.pairs)


class Speechless:
    """A value whose ``str()`` raises."""

    def __str__(self) -> str:
        """Raise."""
        raise RuntimeError


def nested(levels: int) -> list[Any]:
    """Make an array so many levels deep."""
    value: list[Any] = []
    for _ in range(levels - 1):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "same"),
    [
        (Query("x", {"b", "a"}), {"text": "x", "tags": ["a", "b"]}),
        ({"query": Query("x", set())}, {"query": {"text": "x", "tags": []}}),
        (Model(a=1, b=Point(1, 2)), {"a": 1, "b": [1, 2]}),
        (Headers(("b", 1), ("a", (2,))), {"a": [2], "b": 1}),
        (OrderedDict(b=1, a=2), {"a": 2, "b": 1}),
        ({"a": frozenset({3, 10, 2})}, {"a": [10, 2, 3]}),
        ({"a": {1, "a"}}, {"a": ["a", 1]}),
        (Point(1, 2), [1, 2]),
        ((1, (2, ())), [1, [2, []]]),
        ({"a": Colour.RED, "b": Level.HIGH, "c": Ratio(0.5), "d": True}, {"a": "red", "b": 3, "c": 0.5, "d": True}),
        ({Colour.RED: 1, 2: "two", None: 0, True: 1}, {"red": 1, "2": "two", "null": 0, "true": 1}),
        ({"raw": b"\x00\x01", "more": bytearray(b"\x02")}, {"raw": {"$bytes": "AAE="}, "more": {"$bytes": "Ag=="}}),
        ({"at": datetime(2025, 12, 1, tzinfo=UTC)}, {"at": "2025-12-01 00:00:00+00:00"}),
        ({"id": UUID(int=5), "path": PurePosixPath("/tmp/x")}, {"id": str(UUID(int=5)), "path": "/tmp/x"}),  # noqa: S108
        (PurePosixPath("a/b"), "a/b"),
        (UUID(int=5), str(UUID(int=5))),
        (Colour.RED, "red"),
    ],
)
def test_values_that_are_no_json_hash_like_the_json_they_stand_for(value: object, same: object) -> None:
    """Dataclasses, models, mappings, sets, enum members, bytes inside and the like are turned into JSON first."""
    assert canonical_bytes(value) == canonical_bytes(same)


@pytest.mark.parametrize("value", [b'{ "a": 1 }', bytearray(b"\xff\x00"), memoryview(b"abc")])
def test_bytes_are_hashed_as_received(value: bytes) -> None:
    """Bytes are taken as they are, be they JSON or not."""
    assert canonical_bytes(value) == bytes(value)


def test_text_with_a_raw_surrogate_is_hashed_as_received() -> None:
    """A Python text with a lone surrogate has bytes all the same."""
    assert canonical_bytes("\ud800") == b"\xed\xa0\x80"


@pytest.mark.parametrize("text", ["[" * 200_000, '{"a":' * 200_000, "9" * 5_000, "[1" + "0" * 5_000 + "]"])
def test_text_too_deep_or_too_long_is_hashed_as_received(text: str) -> None:
    """Text on which the JSON parser gives up is no JSON."""
    assert canonical_bytes(text) == text.encode()


def test_nesting_is_canonical_up_to_five_hundred_levels() -> None:
    """Level 500 is still canonical; a text with one level more is hashed as received, a value as its ``str()``."""
    deepest = "[" * MAX_DEPTH + "]" * MAX_DEPTH
    assert canonical_bytes(f" {deepest}") == canonical_bytes(nested(MAX_DEPTH)) == deepest.encode()
    assert canonical_bytes(f" [{deepest}]") == f" [{deepest}]".encode()
    assert canonical_bytes(nested(MAX_DEPTH + 1)) == f"[{deepest}]".encode()
    with pytest.raises(Unhashable, match="at most 500 levels"):
        canonical(nested(MAX_DEPTH + 1))


@pytest.mark.parametrize(
    ("value", "received"),
    [
        ({"a": math.nan}, b"{'a': nan}"),
        ({1: "a", "1": "b"}, b"{1: 'a', '1': 'b'}"),
        ([10**5_000], b"list"),
        (Speechless(), b"Speechless"),
        ([Speechless(), {1}], None),
        (nested(200_000), b"list"),
        (Model(a=Speechless()), None),
    ],
)
def test_a_value_without_canonical_form_is_hashed_as_its_text(value: object, received: bytes | None) -> None:
    """What can't be canonicalised is hashed as ``str()`` gives it, else as its type's name; nothing is raised."""
    assert canonical_bytes(value) == (str(value).encode() if received is None else received)


def test_a_released_view_of_bytes_is_hashed() -> None:
    """A memory view that holds nothing any more raises nothing."""
    view = memoryview(b"abc")
    view.release()
    assert canonical_bytes(view).startswith(b"<released memory")


def test_a_value_that_holds_itself_is_hashed() -> None:
    """A cycle among Python values raises nothing."""
    value: list[Any] = []
    value.append(value)
    assert canonical_bytes(value) == b"[[...]]"
