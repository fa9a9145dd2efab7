"""The gate: a trace and rules in, a verdict out. A violation is a value; a rule that crashes is one too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.core.model import Trace, Verdict, Violation
from otel_gate.core.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

READABLE = "G000"


def judge(trace: Trace, rules: Iterable[Rule | Callable[[Trace], Iterable[Violation | str]]]) -> Verdict:
    """Run the rules in order and report every violation; an unreadable document gets G000 and nothing else.

    A rule of the user's own is a plain function that yields violations, or texts, beside the ``Rule`` values.
    """
    found: list[Violation] = []
    for rule in rules:
        found.extend(_apply(rule, trace))
        if found and found[0].rule == READABLE and trace.source.problems:
            break
    return Verdict(not found, len(trace.tools), tuple(found))


def _apply(rule: Rule | Callable[[Trace], Iterable[Violation | str]], trace: Trace) -> Iterator[Violation]:
    code, name, check = (
        (rule.code, rule.name, rule.check) if isinstance(rule, Rule) else (_name_of(rule), _name_of(rule), rule)
    )
    try:
        for item in check(trace):
            yield item if isinstance(item, Violation) else Violation(code, name, None, str(item), "", "", "")
    except Exception as error:  # noqa: BLE001 - a crashed rule is a finding about the rule, not the end of the gate
        yield Violation(
            READABLE,
            "readable",
            None,
            f"rule {code} crashed: {type(error).__name__}: {error}",
            "a rule that judges any trace",
            type(error).__name__,
            f"report it if {code} is one of ours; mend the function if it is yours",
        )


def _name_of(rule: object) -> str:
    return getattr(rule, "__name__", type(rule).__name__)
