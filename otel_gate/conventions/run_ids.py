"""The run id that spans carry themselves: one of the run, or, when that is asked for, of the conversation.

A ``run.id`` of the root's resource, which somebody has set for the process, comes before those that emitters set; of
these the root's own comes first, else one that all spans agree on which carry one, so that the order in which spans
arrive never counts. Emitters write a conversation and a session beside each other: there, all that stand under one
name must agree. What stands for an id that was not to be had (``null``, a scrubbed one) is none.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from otel_gate.conventions.arguments import PLACEHOLDERS, SCRUBBED
from otel_gate.conventions.meaning import NOTHING, Found
from otel_gate.core.identity import RUN_ID

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from otel_gate.conventions.meaning import Seen
    from otel_gate.conventions.recognise import Understood
    from otel_gate.core.model import Resource, Span

FIRST = ("attributes.gen_ai.conversation.id", "attributes.session.id")

SHORT = 256  # characters of an id that is worth being kept for a moment


def identifier(seen: Seen, *keys: str) -> Found:
    """Return the first of these attributes that holds an id."""
    span = seen.span
    for key in keys:
        value = span.attributes.get(key)
        if isinstance(value, str) and key not in span.conflicts:
            found = _recent(key, value) if len(value) <= SHORT else _identifier(key, value)
            if found.value:
                return found
    return NOTHING


def _identifier(key: str, value: str) -> Found:
    found = Found(value, f"attributes.{key}")
    return found if value.strip() and is_identifier(found) else NOTHING


_recent = lru_cache(maxsize=4_096)(_identifier)  # most spans of a run carry the same


def is_identifier(found: Found) -> bool:
    """Tell whether a text is an id, and not what stands for a missing one."""
    return bool(found.value) and found.value not in PLACEHOLDERS and not found.value.startswith(SCRUBBED)


class Identity:
    """The run ids and conversations of a trace."""

    def __init__(self, told: Sequence[Understood], resources: Sequence[Resource]) -> None:
        """Look through the spans once."""
        self._resources = resources
        self._run_ids = {id(one.span): one.run_id for one in told if one.run_id[0] and is_identifier(one.run_id)}
        self._told = told
        self._conversations = {
            id(one.span): one.conversation for one in told if one.conversation[0] and is_identifier(one.conversation)
        }
        self._native = _agreed(self._run_ids.values())
        self._conversation = _agreed_by_name(self._conversations.values())

    def run_id(self, root: Span) -> Found:
        """Return the run id of a root's resource, or its native one."""
        return self._of_resource(root) or self._run_ids.get(id(root), self._native)

    def _of_resource(self, root: Span) -> Found | None:
        """Return the run id that the resource of a span carries; None when it carries none."""
        value = None if root.resource is None else self._resources[root.resource].attributes.get(RUN_ID)
        found = _identifier(RUN_ID, value) if isinstance(value, str) else NOTHING
        return Found(found.value, f"resource.{found.where}") if found.value else None

    def disagreement(self, roots: Iterable[Span]) -> str:
        """Say where run ids stand that differ, when a root without one would need them to agree; else nothing."""
        bare = [root for root in roots if id(root) not in self._run_ids and RUN_ID not in root.attributes]
        bare = [root for root in bare if not self._of_resource(root)]
        if not bare or self._native.value or not self._run_ids:
            return ""
        first = dict[str, str]()
        ids = {id(one.span): one.span.span_id for one in self._told}
        for span_id, found in sorted((ids[number], found) for number, found in self._run_ids.items()):
            first.setdefault(found.value, f"{found.where.removeprefix('attributes.')} of span {span_id}")
        one, other, *more = first.values()
        return f"{one}, {other}" + (f", and {len(more)} more" if more else "")

    def conversation(self, root: Span) -> Found:
        """Return the conversation or session that a root belongs to."""
        return self._conversations.get(id(root), self._conversation)


def _agreed(found: Collection[Found]) -> Found:
    first = min(found, default=NOTHING)
    return first if all(one.value == first.value for one in found) else NOTHING


def _agreed_by_name(found: Collection[Found]) -> Found:
    named: dict[str, list[Found]] = {}
    for one in found:
        named.setdefault(one.where, []).append(one)
    agreed = [one for each in named.values() if (one := _agreed(each)).value]
    return min(agreed, key=lambda one: (*(one.where != where for where in FIRST), one), default=NOTHING)
