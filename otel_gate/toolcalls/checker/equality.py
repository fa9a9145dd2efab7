"""Equality as JSON Schema means it: true is not 1, 1.0 is 1, and so at any depth."""

from __future__ import annotations

from typing import Any


def same(one: Any, two: Any) -> bool:
    """Tell whether two JSON values are equal."""
    if one is two:
        return True
    if isinstance(one, list) and isinstance(two, list):
        return len(one) == len(two) and all(map(same, one, two))
    if isinstance(one, dict) and isinstance(two, dict):
        return len(one) == len(two) and all(key in two and same(value, two[key]) for key, value in one.items())
    return isinstance(one, bool) == isinstance(two, bool) and bool(one == two)


def key(value: Any) -> Any:
    """Return something hashable that equal JSON values share, and no others."""
    if isinstance(value, bool):
        return (value,)
    if isinstance(value, list):
        return ("[", *map(key, value))
    if isinstance(value, dict):
        return frozenset((name, key(one)) for name, one in value.items())
    return id(value) if type(value).__hash__ is None else value


def all_different(values: list[Any]) -> bool:
    """Tell whether no two of the values are equal."""
    return len(set(map(key, values))) == len(values)
