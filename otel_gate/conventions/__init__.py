"""What the spans of real frameworks mean: ``CONVENTIONS`` in the order in which they are asked, and their ``TABLE``.

They are some fifty modules, loaded when one of the two is asked for: ``glance`` needs none of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from otel_gate.conventions.meaning import Convention
    from otel_gate.conventions.recognise import Table

    CONVENTIONS: tuple[Convention, ...]
    TABLE: Table


def __getattr__(name: str) -> Any:
    if name not in ("CONVENTIONS", "TABLE"):
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    given = import_module(f"{__name__}.order").CONVENTIONS
    found = {"CONVENTIONS": given, "TABLE": import_module(f"{__name__}.recognise").Table(given)}
    globals().update(found)
    return found[name]


def table(values: Sequence[Any] = ()) -> Table:
    """Return our conventions, and before them those that values of the setting ``conventions`` stand for.

    Raises:
        SettingsError: a value stands for something that is no convention.
    """
    from otel_gate.conventions import TABLE  # noqa: PLC0415 - a function of this module does not ask ``__getattr__``

    if not values:
        return TABLE
    from otel_gate.conventions.own import of_user  # noqa: PLC0415 - few have any

    return type(TABLE)((*of_user(values), *TABLE.conventions))
