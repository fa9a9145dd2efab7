"""What a change is: its class, how much it weighs, and what is said about it.

A name that stands only in the second run is a new tool call, a changed hash under the same name is a changed argument:
what an agent does anew weighs most, what it does with other arguments less, the order least.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_gate.core.diff.tree import Node

Class = Literal[
    "added", "removed", "moved", "argument", "status", "error type", "renamed", "repaired", "kind", "result",
    "duration", "id",
]  # fmt: skip
Severity = Literal["high", "medium", "low"]
SEVERITIES: tuple[Severity, ...] = ("high", "medium", "low")
QUIET = frozenset({"unset", "ok"})
ERROR = "error"
OPPOSITE: dict[str, Class] = {"added": "removed", "removed": "added"}


class Change(Struct, frozen=True, eq=False):
    """One change: the spans that it is about (of the base, of the new run, or both), what was and what is.

    Of what was added or removed, ``was`` and ``now`` say how it failed; ``spans`` counts it with all below it, as of
    what was moved. ``ordered`` says that a span moved among its siblings only, not to another parent.
    """

    type: Class
    base: Node | None
    new: Node | None
    was: str = ""
    now: str = ""
    spans: int = 1
    ordered: bool = False

    @property
    def tool(self) -> bool:
        """Tell whether it is about a tool call."""
        return any(node.tool for node in (self.base, self.new) if node)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the spans that it is about."""
        return tuple(node.deed.name for node in (self.base, self.new) if node)

    @property
    def severity(self) -> Severity:
        """How much it weighs."""
        return _severity(self)

    @property
    def explanation(self) -> str:
        """What happened, in one line."""
        return _explanation(self)

    def mirrored(self) -> Change:
        """Return the same change as seen from the new run."""
        return replace(
            self, type=OPPOSITE.get(self.type, self.type), base=self.new, new=self.base, was=self.now, now=self.was
        )


WAYS: dict[Class, str] = {
    "added": "no span of the base has this name and kind at this place, nor the same run below it elsewhere",
    "removed": "no span of the new run has this name and kind at this place, nor the same run below it elsewhere",
    "moved": "the same span, with all below it, stands elsewhere: after a sibling that it was before, or below another",
    "argument": "same parent, name and kind, another input.sha256",
    "status": "same span, another status (its error type belongs to it)",
    "error type": "same span, failed in both runs, another error.type or exception.type",
    "renamed": "same place and kind, another name, and the same input.sha256 or children",
    "repaired": "same span, another tool.repair.outcome, tool.repair.input.sha256 or tool.repair.issues",
    "result": "same span, another output.sha256",
    "kind": "same parent and name, another span kind",
    "duration": "same span, a length that differs by more than was asked for",
    "id": "same span, another span id",
}


def removed(node: Node) -> Change:
    """Return the change of a span that stands in the base only, with all below it."""
    return Change("removed", node, None, was=_failure(node), spans=node.size)


def added(node: Node) -> Change:
    """Return the change of a span that stands in the new run only, with all below it."""
    return Change("added", None, node, now=_failure(node), spans=node.size)


def of_pair(base: Node, new: Node, durations: int | None = None) -> Iterator[Change]:
    """Yield what two spans that are the same did differently; ``durations`` is the percentage by which they may."""
    was, now = base.deed, new.deed
    if was.name != now.name:
        yield Change("renamed", base, new, was.name, now.name)
    if was.kind != now.kind:
        yield Change("kind", base, new, was.kind, now.kind)
    if was.hash != now.hash:
        yield Change("argument", base, new, was.hash, now.hash)
    if was.status != now.status:
        yield Change("status", base, new, _failed(base), _failed(new))
    elif was.error_type != now.error_type:
        yield Change("error type", base, new, was.error_type, now.error_type)
    if was.repair != now.repair:
        yield Change("repaired", base, new, _repair(base), _repair(new))
    if was.result and now.result and was.result != now.result:
        yield Change("result", base, new, was.result, now.result)
    shorter, longer = sorted((was.length_ns, now.length_ns))
    if durations is not None and shorter >= 0 and (longer - shorter) * 100 > durations * longer:
        yield Change("duration", base, new, f"{was.length_ns} ns", f"{now.length_ns} ns")
    if was.id and now.id and was.id != now.id:
        yield Change("id", base, new, was.id, now.id)


def _failure(node: Node) -> str:
    return _failed(node) if node.deed.status == ERROR else ""


def _failed(node: Node) -> str:
    return node.deed.status + (f" ({node.deed.error_type})" if node.deed.error_type else "")


def _repair(node: Node) -> str:
    return ", ".join(f"{name.rpartition('repair.')[2]} {value}" for name, value in node.deed.repair)


def _severity(change: Change) -> Severity:
    if change.type == "added":
        return "high" if change.tool else "medium"
    if change.type == "renamed":
        return "high" if change.tool else "low"
    if change.type == "status":
        return "low" if _status(change.base) in QUIET and _status(change.new) in QUIET else "high"
    return "low" if change.type in ("moved", "kind", "duration", "id") else "medium"


def _status(node: Node | None) -> str:
    return node.deed.status if node else ""


def _explanation(change: Change) -> str:
    what = "tool call" if change.tool else "span"
    if change.type in ("added", "removed"):
        return f"new {what}" if change.type == "added" else f"{what} gone"
    if change.type == "moved":
        return "order changed" if change.ordered else "moved to another parent"
    if change.type == "argument":
        return _argument(change)
    if change.type == "repaired":
        return "repair newly needed" if not change.was else "no repair needed" if not change.now else "repair changed"
    if change.type == "renamed":
        return "another tool in the same place" if change.tool else "renamed"
    return f"{change.type} changed"


def _argument(change: Change) -> str:
    if not change.was:
        return "arguments recorded in the new run only"
    return "argument changed" if change.now else "arguments recorded in the base only"
