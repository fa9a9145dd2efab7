"""The difference of two catalogues, as a list of changes: what a deployed agent meets when its tools drift.

A change is breaking when a call that was right may be refused, or mean another thing, afterwards: a tool or a field
that is gone or has a new name, a new required field, a narrower type, a value that an enum lost. Two catalogues have
no change exactly when their hashes are equal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from otel_gate.toolcalls.lint import look_alikes
from otel_gate.toolcalls.renames import Named, pairs
from otel_gate.toolcalls.schemas import Finding, Pair, compare, fields_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_gate.toolcalls.catalogue import Catalogue
    from otel_gate.toolcalls.model import Tool

Code = Literal[
    "tool_removed", "tool_renamed", "tool_added", "tools_reordered", "description_changed", "field_removed",
    "field_renamed", "field_added", "fields_reordered", "became_required", "became_optional", "type_changed",
    "enum_changed", "constraint_changed", "default_changed", "schema_changed", "annotation_changed",
]  # fmt: skip


class Change(Struct, frozen=True):
    """One change: in which tool (its old name, unless it is new), where (a JSON path of the arguments), what it was.

    ``before`` and ``after`` are short texts, "" where there is none; ``breaking`` is as the module says.
    """

    code: Code
    tool: str
    path: str
    before: str
    after: str
    breaking: bool


def diff(old: Catalogue, new: Catalogue) -> list[Change]:
    """Return the changes from one catalogue to another, the removed tools first, then tool by tool in the old order."""
    renamed = _renamed_tools(old, new)
    changes = [
        Change("tool_removed", name, "$", name, "", breaking=True) for name in _gone(old, new) if name not in renamed
    ]
    for tool in old:
        after = new.get(tool.name) or new.get(renamed.get(tool.name, ""))
        if after:
            changes += _tool_changes(tool, after)
    changes += _added(old, new, renamed)
    if old.hash != new.hash and not changes:
        changes.append(Change("tools_reordered", "", "$", "", "", breaking=False))
    return changes


def renames(changes: list[Change]) -> dict[str, dict[str, str]]:
    """Return the renames in a list of changes: for each tool (its old name) old field path -> new field path."""
    found: dict[str, dict[str, str]] = {}
    for one in changes:
        if one.code == "field_renamed":
            found.setdefault(one.tool, {})[one.before] = one.after
    return found


def _gone(old: Catalogue, new: Catalogue) -> list[str]:
    return [name for name in old.names if name not in new]


def _renamed_tools(old: Catalogue, new: Catalogue) -> dict[str, str]:
    removed = [_named(old[name], place) for place, name in enumerate(_gone(old, new))]
    added = [_named(new[name], -1 - place) for place, name in enumerate(_gone(new, old))]  # a place says nothing here
    return pairs(removed, added)


def _named(tool: Tool, place: int) -> Named:
    return Named(tool.name, tool.description, "tool", place, inside=frozenset(fields_of(tool.parameters)))


def _tool_changes(old: Tool, new: Tool) -> Iterator[Change]:
    found = []
    if old.name != new.name:
        found.append(Finding("tool_renamed", "$", old.name, new.name, breaking=True))
    if old.description != new.description:
        found.append(Finding("description_changed", "$", old.description, new.description, breaking=False))
    found += compare(Pair(old.parameters, new.parameters))
    for one in found:
        yield Change(one.code, old.name, one.path, one.before, one.after, one.breaking)


def _added(old: Catalogue, new: Catalogue, renamed: dict[str, str]) -> Iterator[Change]:
    """Name the tools that are new; beside one that looks like another stands which."""
    known = {*old.names, *renamed.values()}
    fresh = {name for name in new.names if name not in known}
    if not fresh:
        return
    twins: dict[str, str] = {}
    for one in look_alikes(new):
        for name, other in (one.tools, one.tools[::-1]):
            twins.setdefault(name, other)
    for name in (name for name in new.names if name in fresh):
        yield Change("tool_added", name, "$", "", f"looks like {twins[name]}" if name in twins else "", breaking=False)


def describe(change: Change) -> str:
    """Return a change as one line, without the tool: what happened, where, from what to what."""
    where = [] if change.path == "$" else [change.path]
    if change.code == "field_renamed":
        return f"{change.code} {change.before} -> {change.after}"
    moved = " -> ".join(side for side in (change.before, change.after) if side)
    return " ".join([change.code, *where]) + (f": {moved}" if moved else "")
