"""AnyValue of OTLP/JSON to the JSON form of the model, and lists of key and value to attributes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from otel_gate.core.model import Attributes, encode
from otel_gate.otlp.fields import Item, field, item_of, items, text
from otel_gate.otlp.json_form import (
    ARRAY_COST,
    DOUBLES,
    OBJECT_COST,
    Codes,
    Value,
    base64_bytes,
    bytes_value,
    double,
    fitted,
    integer,
    object_value,
    spent,
)
from otel_gate.otlp.mismatch import mismatch, quoted
from otel_gate.otlp.text import TOO_DEEP
from otel_gate.otlp.values import canonical

if TYPE_CHECKING:
    from otel_gate.otlp.tolerant import Tolerant

DUPLICATE_KEY = "duplicate_key"
EMPTY_KEY = "empty_key"

_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_BOOLS: dict[Any, bool] = {"true": True, "false": False, 1: True, 0: False}


class AnyReader:
    """Reads AnyValue objects; codes of what is odd go to the list that ``fitted`` passes along."""

    def __init__(self, tolerant: Tolerant) -> None:
        """Take the field readers, whose notes get what is odd."""
        self._tolerant = tolerant
        self._members = {
            "stringValue": self._string,
            "boolValue": self._bool,
            "intValue": self._int,
            "doubleValue": self._double,
            "arrayValue": self._array,
            "kvlistValue": self._kvlist,
            "bytesValue": self._bytes,
        }

    def read(self, value: object, path: str) -> Value:
        """Read an AnyValue; empty, null and missing are null.

        Raises:
            MismatchError: a member is not what its name says, or the nesting exhausts the stack.

        """
        codes: Codes = []
        try:
            out = fitted(lambda given, room, codes: self._any(given, path, room, codes), value, codes)
        except RecursionError:
            raise mismatch(value, TOO_DEEP, path) from None
        for code in codes:
            self._tolerant.notes.add(code, path)
        return out

    def mapped(self, given: Item, path: str) -> Attributes:
        """Read attributes that stand there as an object of plain JSON values, or of AnyValues."""
        self._tolerant.notes.add("attributes_as_object", path)
        out: Attributes = {}
        codes: Codes = []
        for key, value in given.items():
            at = f"{path}[{quoted(key)}]"
            is_any = isinstance(value, dict) and len(value) == 1 and not self._members.keys().isdisjoint(value)
            out[key] = self.read(value, at) if is_any else canonical(value, at, codes)
        for code in codes:
            self._tolerant.notes.add(code, path)
        return out

    def attributes(self, given: list[Any], path: str) -> tuple[Attributes, tuple[str, ...]]:
        """Read a list of key and value: the attributes, and the keys that came again with another value."""
        out: Attributes = {}
        conflicts: dict[str, None] = {}
        for index, one in enumerate(given):
            key, value = _plain_pair(one) or self._pair(one, f"{path}[{index}]")
            if key in out:
                self._tolerant.notes.add(DUPLICATE_KEY, f"{path}[{index}].key")
                if encode(out[key]) != encode(value):
                    conflicts[key] = None
            out[key] = value
        return out, tuple(conflicts)

    def _pair(self, given: object, path: str) -> tuple[str, Value]:
        item = self._tolerant.camel(item_of(given, path), path)
        if "Key" in item:
            item = {"key": item["Key"], "value": item.get("Value")} | item
        key = field(item, path, "key", text, "")
        if not key:
            self._tolerant.notes.add(EMPTY_KEY, path)
        return key, self.read(item.get("value"), f"{path}.value")

    def _any(self, value: object, path: str, room: int, codes: Codes) -> Value:
        if value is None:
            return None
        item = self._tolerant.camel(item_of(value, path), path)
        if "Value" in item:
            item = _of_go(item, codes)
        present = [name for name in self._members if item.get(name) is not None]
        if len(present) > 1:
            codes.append("two_values")
        if not present:
            codes.extend(["string_index"] * ("stringValueStrindex" in item))
            return None
        return self._members[present[0]](item[present[0]], f"{path}.{present[0]}", room, codes)

    def _string(self, value: object, path: str, _room: int, _codes: Codes) -> str:
        if type(value) is str:
            return value
        raise mismatch(value, "str", path)

    def _bool(self, value: object, path: str, _room: int, codes: Codes) -> bool:
        if type(value) is bool:
            return value
        if type(value) not in (str, int) or value not in _BOOLS:
            raise mismatch(value, "bool", path)
        codes.append("bool_as_text")
        return _BOOLS[value]

    def _int(self, value: object, path: str, _room: int, codes: Codes) -> int | str:
        return integer(self._tolerant.whole(value, path), codes)

    def _double(self, value: object, path: str, _room: int, codes: Codes) -> Value:
        if type(value) is float:
            return double(value)
        if type(value) is str and value in DOUBLES:
            return {"$double": value}
        if type(value) is str and _NUMBER.fullmatch(value):
            number = float(value)
        elif type(value) is int:
            number = _float(value)
        else:
            raise mismatch(value, "double", path)
        codes.extend(["number_out_of_range"] * (number in (DOUBLES["Infinity"], DOUBLES["-Infinity"])))
        return double(number)

    def _array(self, value: object, path: str, room: int, codes: Codes) -> list[Any]:
        room, out = spent(room, ARRAY_COST), []
        for one, at in items(item_of(value, path), path, "values"):
            out.append(self._any(one, at, room, codes))
        return out

    def _kvlist(self, value: object, path: str, room: int, codes: Codes) -> dict[str, Any]:
        room, out = spent(room, OBJECT_COST), {}
        for given, at in items(item_of(value, path), path, "values"):
            one = self._tolerant.camel(given, at)
            if "Key" in one:
                one = {"key": one["Key"], "value": one.get("Value")} | one
            key = field(one, at, "key", text, "")
            codes.extend([DUPLICATE_KEY] * (key in out))
            out[key] = self._any(one.get("value"), f"{at}.value", room, codes)
        return object_value(out)

    def _bytes(self, value: object, path: str, _room: int, codes: Codes) -> Value:
        raw = base64_bytes(self._string(value, path, _room, codes))
        if raw is not None:
            return bytes_value(raw)
        codes.append("bytes_as_text")
        return value


def _of_go(item: Item, codes: Codes) -> Item:
    """Read what a Go program prints of the struct behind an AnyValue: ``{"Value": {"StringValue": ...}}``."""
    inner = item["Value"]
    if not isinstance(inner, dict):
        return item
    codes.append("go_struct")
    return {_lowered(name): _lowered_values(value) for name, value in inner.items()}


def _lowered(name: str) -> str:
    return name[:1].lower() + name[1:]


def _lowered_values(value: object) -> object:
    if isinstance(value, dict) and "Values" in value:
        return {"values": value["Values"]} | value
    return value


def _plain_pair(given: Value) -> tuple[str, str] | None:
    """Read the most common pair, a key and a string, at full speed; None when it is anything else."""
    try:
        key, item = given["key"], given["value"]
        value = item["stringValue"]
    except (KeyError, TypeError):
        return None
    return (key, value) if key and type(key) is str and type(value) is str and len(item) == 1 else None


def _float(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return DOUBLES["Infinity"] if value > 0 else DOUBLES["-Infinity"]
