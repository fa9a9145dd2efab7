"""Where a span stands in its run, in words: the names from the root down, repeats among siblings numbered from 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from otel_gate.core.diff.tree import Node

Path = tuple[str, ...]
FIRST, LAST = 2, 30  # of a longer path, what is between them is left out: it would make long reports of deep runs
BETWEEN = "…"


def paths(top: Node, wanted: Iterable[Node | None]) -> dict[int, Path]:
    """Return the paths of wanted nodes by their ``id()``."""
    sought = {id(node) for node in wanted if node is not None}
    found: dict[int, Path] = {}
    above: list[str] = []
    stack = [(node, label, 0) for node, label in _labelled(top)][::-1]
    while stack and len(found) < len(sought):
        node, label, depth = stack.pop()
        del above[depth:]
        above.append(label)
        if id(node) in sought:
            found[id(node)] = _folded(above)
        stack.extend([(child, name, depth + 1) for child, name in _labelled(node)][::-1])
    return found


def _labelled(parent: Node) -> Iterator[tuple[Node, str]]:
    counts: dict[str, int] = {}
    for child in parent.children:
        counts[child.deed.name] = counts.get(child.deed.name, 0) + 1
    seen: dict[str, int] = {}
    for child in parent.children:
        name = child.deed.name
        seen[name] = seen.get(name, 0) + 1
        yield child, f"{name}[{seen[name]}]" if counts[name] > 1 else name


def _folded(labels: list[str]) -> Path:
    if len(labels) <= FIRST + LAST:
        return tuple(labels)
    return (*labels[:FIRST], BETWEEN, *labels[-LAST:])
