"""What a rule is: a code, a name, a check that yields violations, and a way to break a good document with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from otel_gate.core.model import Violation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from otel_gate.core.model import Span, Trace


class Rule(NamedTuple):
    """One rule of the gate. The docstring of ``check`` (summary, Why, Fix) is its documentation.

    ``broken`` takes a well-formed document of the simplified shape (with a tool span) and changes it so that
    this rule, and no other, refuses it.
    """

    code: str
    name: str
    check: Callable[[Trace], Iterable[Violation]]
    broken: Callable[[dict[str, Any]], None]

    @property
    def doc(self) -> str:
        """The rule's documentation, without indentation."""
        import inspect  # noqa: PLC0415 - dear to load, and `check` needs no documentation

        return inspect.getdoc(self.check) or ""

    @property
    def summary(self) -> str:
        """The first line of the documentation."""
        return self.doc.partition("\n")[0]


def violation(  # noqa: PLR0913 - the six parts of a finding
    code: str, name: str, span: Span | None, message: str, *, expected: str, got: str, try_: str
) -> Violation:
    """Make a violation about one span, or about the whole trace when ``span`` is None."""
    return Violation(code, name, span.span_id if span else None, message, expected, got, try_)
