"""Every single edit of a run, as a change of its plan, and what a diff has to say about it."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from hypothesis import assume
from hypothesis import strategies as st

from tests.core.diff.runs import Plan, every, plans

if TYPE_CHECKING:
    from collections.abc import Callable

NEW = "tool.new"
OTHER_HASH = "e" * 64


def _below_root(draw: st.DrawFn, run: Plan) -> Plan:
    spans = list(every(run))[1:]
    assume(spans)
    return draw(st.sampled_from(spans))


def _parent(run: Plan, child: Plan) -> tuple[Plan, list[Plan]]:
    return next((one, group) for one in every(run) for group in one.groups if any(other is child for other in group))


def _out(run: Plan, child: Plan) -> Plan:
    parent, group = _parent(run, child)
    group[:] = [one for one in group if one is not child]
    parent.groups = [one for one in parent.groups if one]
    return parent


def _call(span: Plan) -> tuple[object, ...]:
    return span.name, span.kind, span.hash


def _children(span: Plan) -> list[Plan]:
    return [child for group in span.groups for child in group]


def add(draw: st.DrawFn, run: Plan) -> str:
    """Put a new span, with or without spans below it, anywhere."""
    parent = draw(st.sampled_from(list(every(run))))
    made = draw(plans(1, name=draw(st.sampled_from([NEW, "chat", "tool.search"]))))
    at = draw(st.integers(0, len(parent.groups)))
    if at < len(parent.groups) and draw(st.booleans()):
        parent.groups[at].append(made)
    else:
        parent.groups.insert(at, [made])
    return "added"


def remove(draw: st.DrawFn, run: Plan) -> str:
    """Take a span out, with all below it."""
    _out(run, _below_root(draw, run))
    return "removed"


def argument(draw: st.DrawFn, run: Plan) -> str:
    """Change the hash of a tool call's arguments."""
    tools = [one for one in every(run) if one.hash]
    assume(tools)
    draw(st.sampled_from(tools)).hash = OTHER_HASH
    return "argument"


def status(draw: st.DrawFn, run: Plan) -> str:
    """Let a span fail, or not fail."""
    one = draw(st.sampled_from(list(every(run))))
    one.status = "ok" if one.status == "error" else "error"
    return "status"


def rename(draw: st.DrawFn, run: Plan) -> str:
    """Rename a span that something tells from others: a hash, or spans below it."""
    told = [one for one in every(run) if one.hash or one.groups]
    assume(told)
    one = draw(st.sampled_from(told))
    one.name = NEW if one.hash else "renamed"
    return "renamed"


def reorder(draw: st.DrawFn, run: Plan) -> str:
    """Move a span that stands alone to another place among its siblings."""
    alone = [(one, at) for one in every(run) for at, group in enumerate(one.groups) if len(group) == 1]
    assume(alone)
    parent, at = draw(st.sampled_from(alone))
    parent.groups.insert(draw(st.integers(0, len(parent.groups) - 1)), parent.groups.pop(at))
    return "moved"


def reparent(draw: st.DrawFn, run: Plan) -> str:
    """Move a span, with all below it, to another parent; neither is a repeat of a span beside it, there or here."""
    one = _below_root(draw, run)
    old = _out(run, one)
    new = draw(st.sampled_from([span for span in every(run) if span is not old] or [old]))
    assume(_call(new) != _call(old))
    assume(_call(one) not in {_call(span) for span in (old, new, *_children(new), *_children(old))})
    new.groups.insert(draw(st.integers(0, len(new.groups))), [one])
    return "moved"


EDITS: list[Callable[[st.DrawFn, Plan], str]] = [add, remove, argument, status, rename, reorder, reparent]


@st.composite
def edited(draw: st.DrawFn, run: Plan, edit: Callable[[st.DrawFn, Plan], str]) -> tuple[Plan, str]:
    """Draw an edited copy of a run, and the class of the one change that it makes."""
    made = copy.deepcopy(run)
    return made, edit(draw, made)
