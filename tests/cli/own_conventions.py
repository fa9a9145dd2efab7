"""Conventions of a user's own, as ``--conventions`` names them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate import Arguments, Found, Meaning

if TYPE_CHECKING:
    from otel_gate import Resource, Scope, Span

NOTHING = 7


def shop(span: Span, scope: Scope, _resource: Resource) -> Meaning | None:
    """Read the spans of a framework that nobody else has."""
    if scope.name != "shop" or span.name != "do":
        return None
    name, given = span.attributes.get("what"), span.attributes.get("with")
    return Meaning("tool", Found(str(name), "attributes.what"), Arguments(given, "attributes.with"))


def crash(span: Span, _scope: Scope, _resource: Resource) -> Meaning | None:
    """Crash on every span but the first."""
    if span.parent_span_id:
        raise KeyError(span.name)
    return None


def search(span: Span, _scope: Scope, _resource: Resource) -> Meaning | None:
    """Know what every search was for."""
    return Meaning("tool", arguments=Arguments({"query": "x"}, "known")) if span.name == "tool.search" else None


BOTH = (crash, shop)
