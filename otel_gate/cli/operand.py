"""One side of a comparison. Whatever it is, it is judged before it is compared.

An ``Operand`` carries the violations that it was refused for; its tree is made only when there are none.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from otel_gate.core import diff
from otel_gate.core.identity import run_id_of
from otel_gate.report.diff import OperandReport, Side

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from otel_gate.core.diff import Node, View
    from otel_gate.core.model import Trace
    from otel_gate.report.check import Located

TRACE, GOLDEN = "trace", "golden"
Lines = dict[tuple[str, str], tuple[str, int]]


class Operand(NamedTuple):
    """What it was asked for by, its violations, its tree under a view, and the file and line of each span.

    ``lines`` is by trace id and span id; it may read files, so it is called only when there is something to place.
    """

    name: str
    format: Any
    violations: tuple[Located, ...]
    traces: tuple[Trace, ...]
    tree: Callable[[View], Node]
    lines: Callable[[], Lines]
    run_id: str = ""

    def report(self, spans: int | None = None) -> OperandReport:
        """Return what is said about it; ``spans`` counts those that are compared (default: all)."""
        ids = tuple(trace.trace_id for trace in self.traces)
        count = sum(len(trace.spans) for trace in self.traces) if spans is None else spans
        return OperandReport(self.name, self.format, not self.violations, count, ids, self.violations)

    def side(self, view: View) -> Side:
        """Return it as one side of a comparison."""
        made = self.tree(view)
        known: Lines = {}

        def locate(node: Node) -> tuple[str, int]:
            if not known:
                known.update(self.lines())
            return known.get((node.trace_id, node.span_id), ("", 0))

        return Side(made, self.report(made.size), locate)


def of_traces(name: str, traces: Sequence[Trace], violations: Sequence[Located], lines: Callable[[], Lines]) -> Operand:
    """Return the traces of a run as an operand."""
    run_id = next((text for trace in traces if (text := run_id_of(trace))), "")
    return Operand(name, TRACE, tuple(violations), tuple(traces), partial(diff.run, traces), lines, run_id)
