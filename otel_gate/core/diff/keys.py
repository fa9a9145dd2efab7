"""By what spans are taken for the same: from all that they did down to what a rename keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_gate.core.diff.tree import Node

    Key = tuple[Any, ...]
    KeyOf = Callable[[Node], Key | None]  # None: nothing to tell it by


def bag(node: Node) -> Key | None:
    """Tell it by everything, below it too."""
    return (node.bag,)


def digest(node: Node) -> Key | None:
    """Tell it by everything, below it too, and the order there."""
    return (node.digest,)


def deed(node: Node) -> Key | None:
    """Tell it by everything that it did itself."""
    return (node.deed,)


def call(node: Node) -> Key | None:
    """Tell it by name, kind and hash of the arguments."""
    return node.deed.name, node.deed.kind, node.deed.hash


def name_and_kind(node: Node) -> Key | None:
    """Tell it by name and kind: the arguments may be others."""
    return node.deed.name, node.deed.kind


def name(node: Node) -> Key | None:
    """Tell it by its name alone."""
    return (node.deed.name,)


def kind_and_hash(node: Node) -> Key | None:
    """Tell it by kind and arguments: the name may be another."""
    return (node.deed.kind, node.deed.hash) if node.deed.hash else None


def kind_and_children(node: Node) -> Key | None:
    """Tell it by kind and all that is below it."""
    below = tuple(sorted(child.bag for child in node.children))
    return (node.deed.kind, below) if below else None


def kind_and_first_child(node: Node) -> Key | None:
    """Tell it by kind and the name of its first child."""
    first = next(node.children, None)
    return (node.deed.kind, first.deed.name, first.deed.kind) if first else None


def kind_and_operation(node: Node) -> Key | None:
    """Tell a span with others below it by kind and the first word of its name (``invoke_agent`` of whatever agent)."""
    operation, _, target = node.deed.name.partition(" ")
    return (node.deed.kind, operation) if target and node.groups else None


IN_PLACE: tuple[KeyOf, ...] = (
    deed, call, name_and_kind, name, kind_and_hash, kind_and_children, kind_and_first_child,
    kind_and_operation,
)  # fmt: skip
