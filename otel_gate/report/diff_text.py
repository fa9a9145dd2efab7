"""A comparison as lines of text: one line of verdict, then only what changed, in tree order."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from otel_gate.report.escape import printable, shortened
from otel_gate.report.quantities import counted
from otel_gate.report.table import columns
from otel_gate.report.text import violation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from otel_gate.report.arguments import ArgumentChange
    from otel_gate.report.diff import ChangeReport, Comparison, DiffReport, OperandReport

MARKS = {"added": "+", "removed": "-", "moved": ">", "status": "!", "error type": "!", "repaired": "%"}
CHANGED = "~"
LABEL, LABELS, VALUE, NAME = 60, 6, 40, 48
SHORT_HASH, HASH_CHARS = 8, 64
MOST = 200


class Style(NamedTuple):
    """What is told beside the changes: how each class is found, and that ``--all`` lists what is unchanged."""

    explain: bool = False
    options: bool = True


COMMAND = Style()


def lines(report: DiffReport, style: Style = COMMAND, *, several: bool = False) -> list[str]:
    """Return what goes to stdout; ``several`` sums folders up."""
    if len(report.pairs) == 1 and not several:
        return list(_one(report.pairs[0], style))
    said = [line for pair in report.pairs for line in _of_several(pair, style)]
    counts = {code: sum(pair.exit_code == code for pair in report.pairs) for code in (0, 1)}
    others = len(report.pairs) - sum(counts.values())
    more = f", {others} not comparable" if others else ""
    return [*said, f"{counted(len(report.pairs), 'run')}: {counts[0]} same, {counts[1]} different{more}"]


def _of_several(pair: Comparison, style: Style) -> Iterator[str]:
    yield f"{pair.verdict}  {shortened(pair.name, NAME)}" + (f"  {printable(pair.error)}" if pair.error else "")
    if not pair.error and pair.exit_code:
        yield from ("  " + line for line in _body(pair, style))


def _one(pair: Comparison, style: Style) -> Iterator[str]:
    if pair.error or pair.base is None or pair.new is None:
        yield f"{pair.verdict}  {printable(pair.error)}"
        return
    if pair.verdict == "NOT COMPARABLE":
        yield "NOT COMPARABLE  nothing was compared"
    else:
        size = f"({counted(pair.base.spans, 'span')} → {pair.new.spans})"
        said = f"  {counted(len(pair.changes), 'change')}" if pair.changes else ""
        yield f"{pair.verdict}{said}  {size}   base {_name(pair.base)}  new {_name(pair.new)}"
    yield from _body(pair, style)


def _body(pair: Comparison, style: Style) -> Iterator[str]:
    if pair.verdict == "NOT COMPARABLE":
        for side, operand in (("base", pair.base), ("new run", pair.new)):
            if operand and not operand.shape_ok:
                yield f"  the {side}, {_name(operand)}, is not well-formed"
                yield from (f"    {violation(one, one.path)}" for one in operand.violations[:MOST])
        return
    shown = pair.changes[:MOST]
    for change, line in zip(shown, columns([_cells(change) for change in shown], "  ") if shown else [], strict=True):
        yield line
        yield from _arguments(change)
        if style.explain:
            yield f"      {change.severity}: {change.rule}"
    if len(pair.changes) > MOST:
        yield f"  … and {len(pair.changes) - MOST} more"
    yield from (f"  = {_path(path)}" for path in pair.unchanged_spans)
    yield _foot(pair, style)
    if pair.accept:
        yield f"accept with: {printable(pair.accept)}"


def _foot(pair: Comparison, style: Style) -> str:
    moved = sum(change.type == "moved" for change in pair.changes)
    parts = [f"unchanged: {counted(pair.unchanged, 'span')}", f"moved: {moved}"]
    if pair.tolerated:
        parts.append(f"tolerated: {counted(pair.tolerated, 'change')}")
    if pair.only_order:
        parts.append("only the order differs")
    if style.options and pair.unchanged and not pair.unchanged_spans:
        parts.append("run with --all to list")
    return "    ".join(parts)


def _cells(change: ChangeReport) -> tuple[str, ...]:
    place = change.new or change.base
    path = _path(place.path) if place else ""
    return f"{MARKS.get(change.type, CHANGED)} {path}", _values(change), change.explanation


def _values(change: ChangeReport) -> str:
    if change.type in ("added", "removed"):
        failed = change.was or change.now
        size = [counted(change.spans, "span")] if change.spans > 1 else []
        return ", ".join([*size, f"status {_value(failed)}"] if failed else size)
    if change.type == "moved":
        return f"from {_path(change.base.path)}" if change.base and not change.ordered else ""
    title = "input.sha256 " if change.type == "argument" else "" if change.type == "renamed" else f"{change.type} "
    return f"{title}{_value(change.was)} → {_value(change.now)}"


def _value(text: str) -> str:
    if len(text) == HASH_CHARS and text.isalnum():
        return f"{shortened(text[:SHORT_HASH], SHORT_HASH)}…"
    return shortened(text, VALUE) or "(none)"


def _arguments(change: ChangeReport) -> Iterator[str]:
    if change.arguments is None:
        return
    yield from (f"      {_inside(one)}" for one in change.arguments.changes)
    if change.arguments.more:
        yield f"      … and {change.arguments.more} more"
    if change.arguments.note:
        yield f"      {printable(change.arguments.note)}"


def _inside(one: ArgumentChange) -> str:
    was, now = (printable(text) if text is not None else "(absent)" for text in (one.was, one.now))
    return f"{shortened(one.path, LABEL)}: {was} → {now}"


def _path(path: Sequence[str]) -> str:
    labels = path if len(path) <= LABELS else (path[0], "…", *path[2 - LABELS :])
    return " / ".join(shortened(label, LABEL) or "(no name)" for label in labels)


def _name(operand: OperandReport) -> str:
    """Return what it was asked for by; of a long path the end, which is what tells two apart."""
    name = printable(operand.name)
    return name if len(name) <= NAME else f"…{name[1 - NAME :]}"
