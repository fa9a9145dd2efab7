"""A value of an attribute through the user's ``redact(key, value)``: as a whole, and then every value inside it.

What has a name (``password``) stands in many places: as a member of an object, in a JSON text, in a JSON text in that.
So structures and JSON texts are walked to the end, and ``redact`` is asked about every member by its name, and about a
value in an array by the name of the array. The names themselves are texts of a model too: each is asked about under
``""``, since it is the value of none. A text in which something changed is written anew. What ``redact`` raises on, and
what nests too deep to be walked, is replaced.
"""

from __future__ import annotations

import json
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from otel_gate.otlp.json_form import unescaped
from otel_gate.otlp.values import from_python

if TYPE_CHECKING:
    from collections.abc import Callable

    Redact = Callable[[str, Any], Any]

OPENINGS = ("{", "[", '"')
NO_KEY = ""
WITHHELD_NAME = "[withheld: a name]"


def replaced(error: BaseException) -> str:
    """Return the text that stands where ``redact`` met an error."""
    return f"[withheld: redact met {type(error).__name__}]"


class Walk:
    """Asks one function about values; ``fault`` is told of what it raises."""

    def __init__(self, redact: Redact, fault: Callable[[BaseException], None]) -> None:
        """Take the function."""
        self._redact, self._fault = redact, fault

    def attribute(self, key: str, value: Any) -> Any:
        """Return what is left of a value in the JSON form of attributes, the same object when nothing changed."""
        try:
            plain = _plain(value)
            left = self.value(key, plain)
            return value if left is plain else from_python(left)[0]
        except Exception as error:  # noqa: BLE001 - whatever it is, nothing goes on that was not looked at
            self._fault(error)
            return replaced(error)

    def value(self, key: str, value: Any) -> Any:
        """Return what is left of a Python value, the same object when nothing changed."""
        left = self._asked(key, value)
        if type(left) is not type(value) and not isinstance(left, str):  # it is the function's own
            return left
        return self._inside(key, left)

    def members(self, key: str, value: dict[Any, Any]) -> dict[Any, Any]:
        """Return what is left of an object of this key about which as a whole nobody is asked."""
        left: dict[Any, Any] = {}
        same = True
        for name, one in value.items():
            is_text = isinstance(name, str)
            new = self._asked(NO_KEY, name) if is_text else name
            member = self.value(name if is_text else key, one)
            same = same and new is name and member is one
            left[new if new is name and new not in left else _free(new, left)] = member
        return value if same else left

    def _asked(self, key: str, value: Any) -> Any:
        given = deepcopy(value) if isinstance(value, dict | list) else value  # it may change what it is given
        try:
            left = self._redact(key, given)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the function is the user's
            self._fault(error)
            return replaced(error)
        return value if left is value or (type(left) is type(value) and left == value) else left

    def _inside(self, key: str, value: Any) -> Any:
        if isinstance(value, str):
            return self._text(key, value)
        if isinstance(value, dict):
            return self.members(key, value)
        if isinstance(value, list | tuple):
            items = [self._item(key, one) for one in value]
            return value if all(new is old for new, old in zip(items, value, strict=True)) else items
        return value

    def _item(self, key: str, value: Any) -> Any:
        return self._inside(key, value) if isinstance(value, dict | list | tuple) else self.value(key, value)

    def _text(self, key: str, text: str) -> str:
        """Walk a text that is JSON."""
        if not text.lstrip().startswith(OPENINGS):
            return text
        twice: list[str] = []

        def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
            found = dict(pairs)
            if len(found) != len(pairs):
                twice.append(key)
            return found

        try:
            value = json.loads(text, object_pairs_hook=once)
        except ValueError:
            return text
        left = self.value(key, value) if isinstance(value, str) else self._inside(key, value)
        if left is value and not twice:  # of a key that is there twice, one value would not have been looked at
            return text
        return json.dumps(left, ensure_ascii=False, default=str)


def _free(name: Any, taken: dict[Any, Any]) -> str:
    """Return what is left of a name as a text that no other member has."""
    clean = name if isinstance(name, str) else WITHHELD_NAME
    while clean in taken:
        clean = f"{clean} {len(taken)}"
    return clean


def _plain(value: Any) -> Any:
    """Turn a value of the JSON form into the Python value that it stands for."""
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        plain = unescaped(value)
        return {key: _plain(one) for key, one in plain.items()} if isinstance(plain, dict) else plain
    return value
