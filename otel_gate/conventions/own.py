"""Conventions of the user's own: asked before ours, and believed no further than what they return looks like.

One that raises, or returns something else than a ``Meaning`` or None, has said nothing; what it did is a note of the
trace, and the others are asked on. The note names the kind of an error and never quotes it: its text may hold what a
span holds. ``SystemExit`` and its like are errors too; only ``KeyboardInterrupt`` goes through.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, get_args

from otel_gate import settings as setting
from otel_gate.conventions.meaning import Arguments, Convention, Found, Meaning, Operation, Reason, Requested, Seen
from otel_gate.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

EXPECTED = "a function (span, scope, resource) or (seen) -> Meaning | None, a Convention, or a tuple of them"
OPERATIONS, REASONS = (*get_args(Operation), None), (*get_args(Reason), None)


class ShapeError(Exception):
    """A meaning that is none: which part, what was expected, and the kind of what stood there."""


def of_user(values: Iterable[Any]) -> tuple[Convention, ...]:
    """Return the conventions that values of the setting ``conventions`` stand for; a name may stand for several.

    Raises:
        SettingsError: a value stands for something that is no convention.
    """
    return tuple(_guarded(one) for value in values for one in _several(value))


def _several(value: Any) -> Iterator[Convention]:
    found: Any = setting.resolve(value) if isinstance(value, str) else value
    is_one = isinstance(found, Convention) or not isinstance(found, tuple | list)
    for one in (found,) if is_one else found:
        if isinstance(one, Convention) and _is_whole(one) and _takes(one.recognise, 1):
            yield one
        elif callable(one) and not isinstance(one, type) and (function := _of_seen(one)):
            yield Convention(_name_of(one), function)
        else:
            which = f"conventions {value}"
            raise SettingsError(which, EXPECTED, _shown(one), "def recognise(seen): ..., and the name of that")


def _is_whole(one: Convention) -> bool:
    texts = (one.scopes, one.content, one.marks, (one.name, one.switch))
    listed = all(isinstance(each, tuple) and all(isinstance(text, str) for text in each) for each in texts)
    return listed and isinstance(one.covers, tuple) and callable(one.recognise)


def _of_seen(function: Callable[..., Any]) -> Callable[[Seen], Any] | None:
    """Return a function that is shown a span as ``Seen``, None when this one takes neither that nor its three parts."""
    if _takes(function, len(Seen._fields)):
        return lambda seen: function(*seen)
    return function if _takes(function, 1) else None


def _takes(function: Callable[..., Any], count: int) -> bool:
    """Tell whether a function can be called with so many arguments; one without a signature to read may be."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return True
    try:
        signature.bind(*range(count))
    except TypeError:
        return False
    return True


def _shown(one: object) -> str:
    """Return a function with the names of what it takes, the type of anything else."""
    try:
        named = ", ".join(inspect.signature(one).parameters)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return type(one).__name__
    return type(one).__name__ if isinstance(one, type) else f"{_name_of(one)}({named})"


def _name_of(function: object) -> str:
    name = getattr(function, "__name__", None)
    return name if isinstance(name, str) else type(function).__name__


def _guarded(convention: Convention) -> Convention:
    def recognise(seen: Seen) -> Meaning | None:
        try:
            meaning = convention.recognise(seen)
            return meaning if meaning is None else _checked(meaning)
        except KeyboardInterrupt:
            raise
        except ShapeError as error:
            return Meaning(trouble=f"{convention.name}: {error}")
        except BaseException as error:  # noqa: BLE001 - it is the user's code, and the gate goes on
            return Meaning(trouble=f"{convention.name}: {type(error).__name__}")

    return convention._replace(recognise=recognise)


def _checked(meaning: Any) -> Meaning:
    """Return a meaning in which every part is what it should be.

    Raises:
        ShapeError: one is not.
    """
    _hold(meaning, Meaning, "a Meaning or None")
    _one_of(meaning.operation, OPERATIONS, "operation")
    for name in ("name", "call_id", "run_id", "conversation"):
        _found(getattr(meaning, name), name)
    if meaning.arguments is not None:
        _arguments(meaning.arguments)
    for call in _hold(meaning.calls, tuple, "calls as a tuple"):
        _hold(call, Requested, "calls that are Requested")
        _arguments(call.arguments)
        _text(call.name, "the name of a call")
        _text(call.call_id, "the id of a call")
    _text(meaning.trouble, "trouble")
    checked: Meaning = meaning._replace(transport=bool(meaning.transport))
    return checked


def _found(value: Any, name: str) -> None:
    found = _hold(value, Found, f"{name} as a Found")
    _text(found.value, name)
    _text(found.where, f"where of {name}")


def _arguments(value: Any) -> None:
    given = _hold(value, Arguments, "arguments as Arguments")
    _text(given.where, "where of arguments")
    _one_of(given.unhashed, REASONS, "unhashed")


def _one_of(value: Any, options: tuple[object, ...], name: str) -> None:
    if value not in options:
        message = f"expected {name} as one of {', '.join(map(str, options))}, got another {type(value).__name__}"
        raise ShapeError(message)


def _text(value: Any, name: str) -> None:
    _hold(value, str, f"{name} as a text").encode()  # a lone surrogate can't be recorded


def _hold(value: Any, kind: type, expected: str) -> Any:
    if not isinstance(value, kind):
        message = f"expected {expected}, got {type(value).__name__}"
        raise ShapeError(message)
    return value
