"""Values by number: one number a value, and what was announced is what lines name, whoever interrupts whom."""

from __future__ import annotations

import itertools
import threading
from typing import TYPE_CHECKING, Any

import pytest

from otel_gate.core.model import Scope, encode
from otel_gate.pipeline.lines import Local, Table, spans
from tests.pipeline.driven import span_id

if TYPE_CHECKING:
    from collections.abc import Callable

OUTER = encode(Scope("outer"))


def same(value: Any) -> Any:
    return value


def test_equal_values_have_one_number() -> None:
    """A value is announced once, whatever object carries it."""
    table, announced = Table(), list[tuple[int, Any]]()
    table.bind(threading.RLock(), lambda number, value: announced.append((number, value)))
    numbers = [table.number(key, Scope(name), same) for key, name in (("a", "x"), ("b", "x"), ("c", "y"), ("a", "?"))]
    assert numbers == [0, 0, 1, 0]
    assert announced == [(0, Scope("x")), (1, Scope("y"))]
    assert table.values == dict(announced)


class Known(dict):
    """Lets something happen whenever the outer value is looked up or entered."""

    def __init__(self, meanwhile: Callable[[], None]) -> None:
        super().__init__()
        self.meanwhile = meanwhile

    def get(self, key: Any, default: Any = None) -> Any:
        found = super().get(key, default)
        if key == OUTER:
            self.meanwhile()
        return found

    def __setitem__(self, key: Any, value: Any) -> None:
        if key == OUTER:
            self.meanwhile()
        super().__setitem__(key, value)


@pytest.mark.parametrize("moment", range(3))
def test_a_signal_handler_numbers_a_value_in_the_middle_of_another(moment: int) -> None:
    """Wherever it interrupts (after the look-up, while it is announced, before it is entered), both are right."""
    table, moments = Table(), itertools.count()

    def meanwhile() -> None:
        if next(moments) == moment:
            assert table.values[table.number("inner", Scope("inner"), same)] == Scope("inner")

    table._known = Known(meanwhile)
    table.bind(threading.RLock(), lambda _, value: meanwhile() if encode(value) == OUTER else None)
    number = table.number("outer", Scope("outer"), same)
    assert table.values[number] == Scope("outer")
    assert sorted(scope.name for scope in table.values.values()) == ["inner", "outer"]
    assert next(moments) == 3


def test_a_line_whose_announcement_is_lost_has_no_value() -> None:
    """A span of which the resource or scope is not known any more is recorded without; the others keep theirs."""
    table = Table()
    table.learn(5, Scope("known"))
    lines = [
        b'{"span_id":"%b","parent_span_id":"","name":"x","start_ns":1,"end_ns":2,"status":"ok","attributes":{},'
        b'"events":[],"scope":%d}' % (span_id(number).encode(), number)
        for number in (4, 5)
    ]
    scopes = Local(table)
    found, unread = spans(lines, Local(Table()), scopes)
    assert unread == []
    assert [span.scope for span in found] == [None, 0]
    assert scopes.used == [Scope("known")]
