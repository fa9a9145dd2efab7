"""Stored records judged again, under other rules, conventions, or another word on remote parents.

Spans stay as they are, but for what conventions derive.

A record of which something else is violated now, and nothing but such a one, gets a next revision; its history keeps
what was said before. What passes now is owed to the destinations, what passed and fails now is held back from those
that it was owed to. A record without a trace id has the hash of its content for a name and is left as it is: no rules
let it pass.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from otel_gate.conventions.normalise import normalise
from otel_gate.core import record
from otel_gate.core.gate import judge
from otel_gate.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from otel_gate.core.model import Record, RemoteParent, Verdict
    from otel_gate.pipeline.policy import Policy
    from otel_gate.store import Saved, Store

GROUP = 256


class Rejudged(Struct, frozen=True):
    """One record: what it said (``before``) and what is said now (``after``), and whether that is something else.

    ``problem`` says why it could not be judged; then there are no verdicts.
    """

    place: str
    trace_id: str
    before: Verdict | None = None
    after: Verdict | None = None
    changed: bool = False
    problem: str = ""


def rejudge(
    store: Store, places: Iterable[str], policy: Policy, remote_parent: RemoteParent | None, *, dry_run: bool
) -> Iterator[Rejudged]:
    """Judge the records at these places again and yield what came of each; ``remote_parent`` None is as recorded.

    With ``dry_run`` nothing is written. Raises what a store raises.
    """
    iterator = iter(places)
    while group := tuple(itertools.islice(iterator, GROUP)):
        found = [_judged(store, place, policy, remote_parent) for place in group]
        if not dry_run:
            wanted = [one for one in found if one.changed]
            _settle(store, [_saved(store, one, policy, remote_parent) for one in wanted], policy)
        yield from found


def _judged(store: Store, place: str, policy: Policy, remote_parent: RemoteParent | None) -> Rejudged:
    try:
        made = store.load(place)
    except InputError as error:
        return Rejudged(place, "", problem=str(error))
    after = _next(made, policy, remote_parent)
    changed = after is not None and record.identified(made.trace_id)
    return Rejudged(place, made.trace_id, made.verdict, after.verdict if after else made.verdict, changed)


def _next(before: Record, policy: Policy, remote_parent: RemoteParent | None) -> Record | None:
    """Return the next revision of a record; None when nothing else is violated."""
    trace = before.trace
    if remote_parent is not None:
        trace = replace(trace, source=replace(trace.source, remote_parent=remote_parent))
    trace = normalise(trace, policy.conventions).trace
    verdict = judge(trace, policy.rules)
    return None if _facts(verdict) == _facts(before.verdict) else record.make(trace, verdict, before)


def _facts(verdict: Verdict) -> list[tuple[str, str | None]]:
    """Return what is violated where: other words for it are no other verdict."""
    return [(found.rule, found.span_id) for found in verdict.violations]


def _saved(store: Store, one: Rejudged, policy: Policy, remote_parent: RemoteParent | None) -> Saved | None:
    return store.save(one.trace_id, lambda before: _next(before, policy, remote_parent) if before else None)


def _settle(store: Store, saved: Sequence[Saved | None], policy: Policy) -> None:
    """Owe or hold what was saved: to the destinations of the policy, and to those that it was owed to before."""
    by_names: dict[tuple[str, ...], list[Saved]] = {}
    for one in saved:
        if one is not None:
            known = (row["destination"] for row in store.outbox.of(one.place))
            by_names.setdefault(tuple(dict.fromkeys((*policy.destinations, *known))), []).append(one)
    for names, group in by_names.items():
        store.settle(group, names, policy.forwardable)
