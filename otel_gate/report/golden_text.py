"""A run as text that line diffs read well: one span a line, indented, without anything that an insertion shifts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.report.escape import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_gate.core.diff import Node

AT_ONCE = "& "
HASH_CHARS = 12


def lines(top: Node) -> Iterator[str]:
    """Yield a line a span; siblings that overlap begin with ``&``."""
    stack = _below(top, 0)
    while stack:
        node, depth, mark = stack.pop()
        yield "  " * depth + mark + _line(node)
        stack.extend(_below(node, depth + 1))


def _below(parent: Node, depth: int) -> list[tuple[Node, int, str]]:
    found = [(child, depth, AT_ONCE if len(group) > 1 else "") for group in parent.groups for child in group]
    return found[::-1]


def _line(node: Node) -> str:
    deed = node.deed
    parts = [printable(deed.name) or "(no name)", deed.kind, deed.status]
    parts += [
        f"input.sha256={deed.hash[:HASH_CHARS]}" if deed.hash else "",
        f"error.type={deed.error_type}" if deed.error_type else "",
    ]
    parts += [f"{name}={value}" for name, value in deed.repair]
    return "  ".join(filter(None, map(printable, parts)))
