"""Conventions of the user's own: asked before ours, and believed no further than what they return looks like.

One that raises, or returns something else than a ``Meaning`` or None, has said nothing; what it did is a note of the
trace, and the others are asked on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from otel_gate import settings as setting
from otel_gate.conventions.meaning import Arguments, Convention, Found, Meaning, Operation, Reason, Requested
from otel_gate.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from otel_gate.conventions.meaning import Seen

EXPECTED = "a function (span, scope, resource) -> Meaning | None, a Convention, or a tuple of them"
SHOWN = 200  # characters of an error
OPERATIONS, REASONS = (*get_args(Operation), None), (*get_args(Reason), None)


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
        if isinstance(one, Convention) and _is_whole(one):
            yield one
        elif callable(one) and not isinstance(one, type):
            yield Convention(_name_of(one), _of_function(one))
        else:
            which = f"conventions {value}"
            raise SettingsError(which, EXPECTED, type(one).__name__, "the name of one")


def _is_whole(one: Convention) -> bool:
    texts = (one.scopes, one.content, one.marks, (one.name, one.switch))
    listed = all(isinstance(each, tuple) and all(isinstance(text, str) for text in each) for each in texts)
    return listed and isinstance(one.covers, tuple) and callable(one.recognise)


def _of_function(function: Callable[..., Any]) -> Callable[[Seen], Any]:
    return lambda seen: function(seen.span, seen.scope, seen.resource)


def _name_of(function: object) -> str:
    name = getattr(function, "__name__", None)
    return name if isinstance(name, str) else type(function).__name__


def _guarded(convention: Convention) -> Convention:
    def recognise(seen: Seen) -> Meaning | None:
        try:
            meaning = convention.recognise(seen)
            return meaning if meaning is None else _checked(meaning)
        except Exception as error:  # noqa: BLE001 - it is the user's code, and the gate goes on
            return Meaning(trouble=f"{convention.name}: {type(error).__name__}{_said(error)}")

    return convention._replace(recognise=recognise)


def _said(error: Exception) -> str:
    try:
        text = str(error)[:SHOWN]
    except Exception:  # noqa: BLE001 - that is the user's code too
        return ""
    return f": {text.encode('utf-8', 'backslashreplace').decode()}" if text else ""


def _checked(meaning: Any) -> Meaning:
    """Return a meaning in which every part is what it should be.

    Raises:
        TypeError: one is not.
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
        message = f"expected {name} as one of {', '.join(map(str, options))}, got {value!r}"
        raise TypeError(message)


def _text(value: Any, name: str) -> None:
    _hold(value, str, f"{name} as a text").encode()  # a lone surrogate can't be recorded


def _hold(value: Any, kind: type, expected: str) -> Any:
    if not isinstance(value, kind):
        message = f"expected {expected}, got {type(value).__name__}"
        raise TypeError(message)
    return value
