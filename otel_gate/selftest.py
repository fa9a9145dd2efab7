"""A gate that can't fail is decoration: break a well-formed trace once for every rule, and see each break refused.

The broken documents go the whole way, as bytes through the reader, so that neither a reader that mends what it reads
nor a rule that looks away can pass.
"""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any, NamedTuple

from otel_gate import otlp
from otel_gate.core.gate import judge
from otel_gate.core.merge import join
from otel_gate.core.record import document_bytes
from otel_gate.errors import NotWellFormed
from otel_gate.rules import RULES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_gate.core.model import Trace
    from otel_gate.core.rule import Rule

Document = dict[str, Any]
UNBROKEN = "the document that is to be broken"


class Result(NamedTuple):
    """What the gate said to a document that one rule must refuse: the codes of the rules that did."""

    rule: Rule
    codes: tuple[str, ...]

    @property
    def refused(self) -> bool:
        """Tell whether exactly the rule in question refused it."""
        return self.codes == (self.rule.code,)


def run(document: Document) -> list[Result]:
    """Break a document of one well-formed trace by every rule, and judge each break.

    Raises:
        NotWellFormed: the document is refused as it stands, so a break of it would show nothing.

    """
    trace = _read(document)
    codes = _codes(trace)
    if codes:
        raise NotWellFormed(UNBROKEN, expected="a well-formed trace", got=" ".join(codes), try_="check on it")
    return [Result(rule, _codes(_read(broken))) for rule, broken in breaks(as_document(trace))]


def breaks(document: Document) -> Iterator[tuple[Rule, Document]]:
    """Copy a well-formed document once for every rule, broken by that rule."""
    for rule in RULES:
        broken = copy.deepcopy(document)
        rule.broken(broken)
        yield rule, broken


def as_document(trace: Trace) -> Document:
    """Return a trace as an object of the simplified shape."""
    document: Document = json.loads(document_bytes(trace))
    return document


def _read(document: Document) -> Trace:
    return join(piece.trace for piece in otlp.read(json.dumps(document).encode())).trace


def _codes(trace: Trace) -> tuple[str, ...]:
    return tuple(dict.fromkeys(found.rule for found in judge(trace, RULES).violations))
