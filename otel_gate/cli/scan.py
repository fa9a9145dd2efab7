"""Files to verdicts, block by block: of a trace that is whole in its block only the verdict stays in memory.

Most traces are: one document a line, one request a line. They are judged as they come, at full speed when nothing can
be said against them; what takes more than a glance is left to ``scrutiny``, which is loaded for the first of them. A
trace id that comes again, in a later block or another file, is remembered with the places of its parts, and
``scattered`` judges it as a whole afterwards.
"""

from __future__ import annotations

import hashlib
import sys
from functools import cached_property
from typing import TYPE_CHECKING, Any

from otel_gate.cli.told import PENDING, Entry, Extent, Scanned, Told, collect
from otel_gate.conventions.glance import Glance
from otel_gate.otlp.plain import Plain
from otel_gate.otlp.tally import filled
from otel_gate.report.check import TraceReport
from otel_gate.rules import at_once

if TYPE_CHECKING:
    from collections.abc import Sequence

    from otel_gate.cli.inputs import Source
    from otel_gate.cli.scrutiny import Scrutiny
    from otel_gate.cli.told import Policy
    from otel_gate.otlp.blocks import Block
    from otel_gate.otlp.plain import Part as PlainPart


class Scanner:
    """Reads files and judges what is whole in a block."""

    def __init__(self, policy: Policy, rules: Sequence[Any] | None = None, conventions: Sequence[Any] = ()) -> None:
        """Judge by these rules, None for ours; understand spans by our conventions and these of a user's own."""
        self.policy = policy
        self._rules = rules
        self._glance = Glance(conventions)
        is_slow = self._glance.blind or policy.explain or rules is not None
        self._plain = None if is_slow else Plain(policy.form, self._glance.passes)

    @cached_property
    def scrutiny(self) -> Scrutiny:
        """The long way, for what takes more than a glance."""
        from otel_gate.cli.scrutiny import Scrutiny  # noqa: PLC0415 - most files do without

        return Scrutiny(self.policy, self._rules, self._glance.table)

    def scan(self, source: Source, start: int = 0, end: int | None = None) -> Scanned:
        """Read a file, or the blocks that begin in a range of its bytes."""
        found = Scanned.of_nothing()
        known: dict[str, Entry] = {}
        with source.opened() as file:
            for block in source.walk(file, start, end):
                extent = Extent(source.number, block.offset, block.line, len(block.data), start)
                told = self._at_once(block)
                if told:
                    found.lines.read += filled(block.data)
                else:
                    extent = extent.absolute(source)
                for trace_id, one in told or self.scrutiny.of_block(block, extent, source, found):
                    collect(found.entries, known, Entry(trace_id, one, [extent]))
        if source.fault and not start:
            self.scrutiny.faulty(source, found)
        return found

    def _at_once(self, block: Block) -> list[tuple[str, Told]] | None:
        """Judge a block in which there is nothing to complain about; None when that can't be told at once.

        What looks like a part of a trace is pending: the rest of it may come later.
        """
        told = []
        for part in self.plain(block) or ():
            found = self.well_formed(part)
            if found is None and not at_once.is_part(part.trace_id, part.spans):
                return None
            told.append((part.trace_id, found or PENDING))
        return told

    def plain(self, block: Block) -> list[PlainPart] | None:
        """Return the parts in a block that is canonical, None when it takes the readers and the rules."""
        return self._plain.read(block.data) if self._plain else None

    def well_formed(self, part: PlainPart) -> Told | None:
        """Return what is said of a trace that is surely well-formed, else None."""
        held = at_once.held(part.trace_id, part.spans, self._glance.marks)
        if held is None:
            return None
        root, hashed = held.root, hashlib.sha256("\n".join([span.span_id for span in part.spans]).encode()).hexdigest()
        report = TraceReport(part.trace_id, True, hashed, held.run_id, len(part.spans), held.tools, ())  # noqa: FBT003
        return Told(report, sys.intern(root.name), (), 0, (root.start_ns, root.end_ns))
