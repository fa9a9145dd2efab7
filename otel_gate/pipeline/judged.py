"""One closed trace on its way into a record: its pieces, joined with what there is of it already, and judged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from otel_gate.conventions.normalise import normalise
from otel_gate.core import identity, merge, record
from otel_gate.core.gate import judge
from otel_gate.core.model import Note, Source
from otel_gate.store.index import DUPLICATES

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_gate.core.assembly import Closed
    from otel_gate.core.model import Completion, Record, Trace
    from otel_gate.pipeline.policy import Policy


class Judged:
    """A closed trace; ``record`` is what the store calls, more than once in a race.

    ``again`` says that it is recovered, and may have a record of which its journal was not told.
    """

    def __init__(
        self, closed: Closed, pieces: list[Trace], policy: Policy, keep: Callable[[str, bytes], None], *,
        again: bool = False,
    ) -> None:  # fmt: skip
        """Take the pieces; ``keep`` takes the hash and the bytes of arguments, and may raise as a store does."""
        self.closed, self.trace_id, self.duplicates, self.pieces = closed, pieces[0].trace_id, 0, pieces
        self._policy, self._keep, self._again, self.was_there = policy, keep, again, False

    def record(self, before: Record | None) -> Record | None:
        """Return the record of the trace, or its next revision; None when there is nothing to add."""
        was_drawn = _drawn(before.completion if before is not None else None)
        run_ids = {**was_drawn, **_drawn(self.closed.completion), **self.closed.run_ids}
        pieces = self.pieces if before is None else [before.trace, _amending(self.pieces[0]), *self.pieces[1:]]
        joined, self.duplicates = merge.join(pieces)
        normal = normalise(joined, self._policy.conventions, self._policy.run_id, run_ids)
        trace = normal.trace
        self.was_there = self._again and before is not None
        if before is not None and (_adds_nothing(trace, before) or (self._again and self._knows(trace, before))):
            return None
        if self.duplicates and not self.was_there:
            note = Source(notes=(Note(DUPLICATES, self.duplicates, ""),))
            trace = replace(trace, source=merge.source([trace.source, note]))
        if self._policy.keep_arguments:
            for call in normal.calls:
                self._keep(call.hashed, call.content)
        return record.make(trace, judge(trace, self._policy.rules), before)

    def _knows(self, trace: Trace, before: Record) -> bool:
        """Tell whether a record has all that a journal has of its trace, which was closed once more since."""
        was, found = before.completion, self.closed.completion
        still = {span.span_id for span in was.open} if was else set()
        return (
            len(trace.spans) == len(before.spans)
            and trace.source.problems == before.source.problems
            and identity.run_id_of(trace) == before.run_id
            and found.capped <= (was.capped if was else 0)
            and still.issuperset(span.span_id for span in (trace.completion or found).open)
        )


def _drawn(completion: Completion | None) -> dict[str, str]:
    """Return the run ids of roots that were open when a trace was closed."""
    return {span.span_id: span.run_id for span in completion.open if span.run_id} if completion else {}


def _amending(piece: Trace) -> Trace:
    """Leave out what a record of this door says already."""
    return replace(piece, source=replace(piece.source, notes=()))


def _adds_nothing(trace: Trace, before: Record) -> bool:
    return (
        len(trace.spans) == len(before.spans)
        and trace.completion == before.completion
        and trace.source.problems == before.source.problems
        and identity.run_id_of(trace) == before.run_id
    )
