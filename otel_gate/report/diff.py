"""The answer of ``diff`` and ``golden check`` as values: every format is made of these, with additive changes only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec import Struct

from otel_gate.core.diff import WAYS, Class, Severity
from otel_gate.core.diff.paths import paths
from otel_gate.core.diff.tree import walk
from otel_gate.report.arguments import ArgumentDiff  # noqa: TC001 - msgspec reads the types of fields
from otel_gate.report.check import Located, worst

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from otel_gate.core.diff import Change, Difference, Node
    from otel_gate.core.diff.paths import Path

    Locate = Callable[[Node], tuple[str, int]]
    Explain = Callable[[Change], ArgumentDiff | None]

DiffSchema = Literal["otel-gate/diff/1"]
DIFF_SCHEMA: DiffSchema = "otel-gate/diff/1"
Verdict = Literal["SAME", "DIFFERENT", "NOT COMPARABLE"]
DIFFERENT, NOT_WELL_FORMED = 1, 2


class Place(Struct, frozen=True, omit_defaults=True):
    """Where a span stands: the names from the root down, its ids, and its file and line when it has one."""

    path: tuple[str, ...]
    span_id: str = ""
    trace_id: str = ""
    file: str = ""
    line: int = 0


class ChangeReport(Struct, frozen=True, omit_defaults=True):
    """One change. ``base`` and ``new`` are null on the side where there is no such span.

    ``spans`` counts what was added, removed or moved with all below it; ``ordered`` is true when only the order of
    siblings changed; ``rule`` says how the class is found.
    """

    type: Class = msgspec.field(name="class")
    severity: Severity
    explanation: str
    rule: str
    base: Place | None
    new: Place | None
    tool: bool
    was: str = ""
    now: str = ""
    spans: int = 1
    ordered: bool = False
    arguments: ArgumentDiff | None = None


class OperandReport(Struct, frozen=True, omit_defaults=True):
    """One side of a comparison: what it was asked for by, what it is, and the violations that it was refused for."""

    name: str
    format: Literal["trace", "golden"]
    shape_ok: bool
    spans: int
    traces: tuple[str, ...] = ()
    violations: tuple[Located, ...] = ()


class Comparison(Struct, frozen=True):
    """Two runs compared; ``unchanged_spans`` are listed when asked for. ``error`` says why a side is not there."""

    name: str
    exit_code: int
    verdict: Verdict
    base: OperandReport | None
    new: OperandReport | None
    unchanged: int = 0
    tolerated: int = 0
    only_order: bool = False
    changes: tuple[ChangeReport, ...] = ()
    unchanged_spans: tuple[tuple[str, ...], ...] = ()
    accept: str = ""
    error: str = ""


class DiffReport(Struct, frozen=True):
    """Every pair that was compared, and the exit code of the whole."""

    schema: DiffSchema
    exit_code: int
    pairs: tuple[Comparison, ...]


class Side(Struct, frozen=True):
    """One side that can be compared: its tree, its report, and how the lines of its spans are found."""

    tree: Node
    report: OperandReport
    locate: Locate


def whole(pairs: Sequence[Comparison]) -> DiffReport:
    """Return the report over all pairs."""
    return DiffReport(DIFF_SCHEMA, worst(pair.exit_code for pair in pairs), tuple(pairs))


def refused(name: str, base: OperandReport, new: OperandReport) -> Comparison:
    """Return what is said when a side is not well-formed: nothing is compared then."""
    return Comparison(name, NOT_WELL_FORMED, "NOT COMPARABLE", base, new)


def alone(name: str, base: OperandReport | None, new: OperandReport | None, error: str, exit_code: int) -> Comparison:
    """Return what is said about a run that stands on one side only, or can't be read."""
    verdict: Verdict = "DIFFERENT" if exit_code == DIFFERENT else "NOT COMPARABLE"
    return Comparison(name, exit_code, verdict, base, new, error=error)


def compared(  # noqa: PLR0913 - the parts of an answer
    name: str, base: Side, new: Side, found: Difference, *, arguments: Explain, every: bool = False, accept: str = ""
) -> Comparison:
    """Return the report of a comparison; ``every`` lists what is unchanged too."""
    unchanged = list(_unchanged(base.tree, found.changes)) if every else []
    olds = paths(base.tree, [*(change.base for change in found.changes), *unchanged])
    news = paths(new.tree, [change.new for change in found.changes])
    changes = tuple(
        ChangeReport(
            change.type, change.severity, change.explanation, WAYS[change.type],
            _place(change.base, olds, base.locate), _place(change.new, news, new.locate), change.tool,
            change.was, change.now, change.spans, change.ordered, arguments(change),
        )
        for change in found.changes
    )  # fmt: skip
    return Comparison(
        name, DIFFERENT if changes else 0, "DIFFERENT" if changes else "SAME", base.report, new.report,
        found.unchanged, found.tolerated, found.only_order, changes,
        tuple(olds[id(node)] for node in unchanged), accept if changes else "",
    )  # fmt: skip


def _place(node: Node | None, known: dict[int, Path], locate: Locate) -> Place | None:
    if node is None:
        return None
    file, line = locate(node)
    return Place(known[id(node)], node.span_id, node.trace_id, file, line)


def _unchanged(base: Node, changes: Sequence[Change]) -> Iterator[Node]:
    touched = {id(change.base) for change in changes if change.base}
    gone = {id(node) for change in changes if change.type == "removed" and change.base for node in walk(change.base)}
    for node in walk(base):
        if node is not base and id(node) not in touched and id(node) not in gone:
            yield node
