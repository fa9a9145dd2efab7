"""Golden traces: what a run did, written for code review.

A golden is a document of its own: no times, no random ids, one span a line in tree order, the same bytes for the same
behaviour. A span's ``id`` is made of its path in the tree (names from the root down, repeats numbered); ``group`` is
its place among its siblings: those with the same number overlap in time, and their order says nothing.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from otel_gate.core.diff.tree import Deed, Node, in_group, node, top
from otel_gate.core.diff.view import View
from otel_gate.core.model import encode

if TYPE_CHECKING:
    from collections.abc import Iterator

GoldenSchema = Literal["otel-gate/golden/1"]
GOLDEN_SCHEMA: GoldenSchema = "otel-gate/golden/1"
ID_DIGITS = 16
NAME = re.compile("[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")


class GoldenSpan(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A span of a golden; absent is an empty text."""

    id: Annotated[str, Meta(pattern="^[0-9a-f]{16}$")]
    parent: Annotated[str, Meta(pattern="^([0-9a-f]{16})?$")]
    group: Annotated[int, Meta(ge=1)]
    name: str
    kind: str = ""
    status: str = ""
    tool: bool = False
    hash: str = msgspec.field(default="", name="input.sha256")
    error_type: str = msgspec.field(default="", name="error.type")
    repair: dict[str, str] = {}


class Acceptance(Struct, frozen=True, forbid_unknown_fields=True):
    """The verdict on the run when it was accepted: only a well-formed one is."""

    shape_ok: bool
    tools: int
    spans: int


class Golden(Struct, frozen=True, forbid_unknown_fields=True):
    """The document ``otel-gate/golden/1``."""

    schema: GoldenSchema
    name: Annotated[str, Meta(pattern=f"^{NAME.pattern}$")]
    verdict: Acceptance
    spans: Annotated[tuple[GoldenSpan, ...], Meta(min_length=1)]


_decode = msgspec.json.Decoder(Golden).decode


def make(name: str, run: Node) -> Golden:
    """Make the golden of a run's tree; ``NAME`` says which names there are."""
    spans = tuple(_spans(run))
    verdict = Acceptance(shape_ok=True, tools=sum(span.tool for span in spans), spans=len(spans))
    return Golden(GOLDEN_SCHEMA, name, verdict, spans)


def golden_bytes(golden: Golden) -> bytes:
    """Return the file content of a golden: a header field a line, then a span a line."""
    fields = Golden.__struct_fields__[:-1]
    head = b",\n".join(b'"%s":%s' % (field.encode(), encode(getattr(golden, field))) for field in fields)
    return b"{" + head + b',\n"spans":[\n' + b",\n".join(map(encode, golden.spans)) + b"\n]}\n"


def decode(content: bytes) -> Golden:
    """Return the golden of a file's content.

    Raises:
        msgspec.MsgspecError: it does not fit the schema, or its spans are no tree in order.
    """
    golden = _decode(content)
    if not golden.verdict.shape_ok:
        message = "Expected the verdict shape_ok - at `$.verdict`"
        raise msgspec.ValidationError(message)
    known: dict[str, int] = {"": 0}
    groups: dict[str, int] = {}
    for number, span in enumerate(golden.spans):
        expected = _mismatch(span, known, groups)
        if expected:
            message = f"Expected {expected} - at `$.spans[{number}]`"
            raise msgspec.ValidationError(message)
        known[span.id], groups[span.parent] = number, span.group
    return golden


def is_golden(content: bytes) -> bool:
    """Tell whether a file's content calls itself a golden, of whatever version, well-formed or not."""
    return content.lstrip()[:1] == b"{" and b'"otel-gate/golden/' in content[:512]


def tree(golden: Golden, view: View | None = None) -> Node:
    """Return the tree of what a golden says."""
    looked = view or View()
    below: dict[str, list[GoldenSpan]] = {}
    for span in golden.spans:
        if not looked.leaves_out(span.name):
            below.setdefault(span.parent, []).append(span)
    made: dict[str, Node] = {}
    for span in reversed(golden.spans):
        children = _groups([(one.group, made[one.id]) for one in below.get(span.id, ())], looked)
        made[span.id] = node(_deed(span, looked), children, span_id=span.id, tool=span.tool)
    return top(_groups([(one.group, made[one.id]) for one in below.get("", ())], looked))


def _mismatch(span: GoldenSpan, known: dict[str, int], groups: dict[str, int]) -> str:
    if span.id in known:
        return f"an id that no other span has, got {span.id}"
    if span.parent not in known:
        return f"a parent that stands above, got {span.parent}"
    if span.group not in (groups.get(span.parent, 0), groups.get(span.parent, 0) + 1) or not span.group:
        return f"the group of the sibling above or the next one, got {span.group}"
    return ""


def _spans(run: Node) -> Iterator[GoldenSpan]:
    stack = list(_labelled(run, ""))[::-1]
    while stack:
        span_id, parent, group, one = stack.pop()
        deed = one.deed
        yield GoldenSpan(
            span_id, parent, group, deed.name, deed.kind, deed.status, one.tool, deed.hash, deed.error_type,
            dict(deed.repair),
        )  # fmt: skip
        stack.extend(list(_labelled(one, span_id))[::-1])


def _labelled(parent: Node, parent_id: str) -> Iterator[tuple[str, str, int, Node]]:
    seen: dict[str, int] = {}
    for number, group in enumerate(parent.groups, 1):
        for child in group:
            name = child.deed.name
            seen[name] = seen.get(name, 0) + 1
            path = f"{parent_id}\n{name}\n{seen[name]}".encode("utf-8", "surrogatepass")
            yield hashlib.sha256(path).hexdigest()[:ID_DIGITS], parent_id, number, child


def _deed(span: GoldenSpan, view: View) -> Deed:
    if view.names_only:
        return Deed(span.name)
    repair = tuple(sorted(span.repair.items()))
    return Deed(span.name, span.kind, span.status, span.hash, span.error_type, repair)


def _groups(children: list[tuple[int, Node]], view: View) -> tuple[tuple[Node, ...], ...]:
    groups: dict[int, list[Node]] = {}
    for number, child in children:
        groups.setdefault(0 if view.ignore_order else number, []).append(child)
    return tuple(in_group(groups[number]) for number in sorted(groups))
