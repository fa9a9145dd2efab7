r"""JSON text to a Python value, tolerant about the text and exact about the meaning.

The fast path is ``msgspec.json.decode``; what it refuses is read again with the standard library, which can be told to
go on. A byte order mark is passed over. Oddities come back as codes: ``nul_head``, ``record_separator``,
``invalid_utf8``, ``lone_surrogate``, ``bare_nan``, ``number_out_of_range``, ``int_as_text``, ``duplicate_json_key``,
where the last one counts, and ``concatenated_json`` (no line feed before it). The typed look of ``plain`` sees no
duplicate keys: seeing them always would cost a third of the speed.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, NamedTuple

import msgspec

from otel_gate.core.counted import counted
from otel_gate.core.model import Problem
from otel_gate.otlp.mismatch import MismatchError, quoted

ROOT = "$"
TOO_DEEP = "nesting of at most 500"
CUT_OFF = "text that looks cut off"
DUPLICATE_JSON_KEY = "duplicate_json_key"
UTF16 = (b"\xff\xfe", b"\xfe\xff", b"{\0", b"[\0", b"\0{", b"\0[")

_HEAD = re.compile(rb"(?:\xef\xbb\xbf|[\0\x1e\s])+")
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)"
)
_LITERALS = ("true", "false", "null", "NaN", "Infinity", "-Infinity")
_SPACE = " \t\r\n\x1e"


class Parsed(NamedTuple):
    """A value with the codes of what was odd about its text, or the ``Problem`` of a text that cannot be read.

    ``line`` is that of its first character, counted from 0 in what was read.
    """

    value: object
    notes: tuple[str, ...] = ()
    problem: Problem | None = None
    line: int = 0


def quick(data: bytes) -> Parsed | None:
    """Read plain JSON at full speed; None when it takes the tolerant reader to tell."""
    try:
        return Parsed(msgspec.json.decode(data))
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return None


def has_duplicate_keys(data: bytes) -> bool:
    """Tell whether an object in plain JSON has a key twice, which the quick reader does not see."""
    found: list[bool] = []

    def look(pairs: list[tuple[str, Any]]) -> None:
        if len({key for key, _ in pairs}) < len(pairs):
            found.append(True)

    try:
        json.JSONDecoder(object_pairs_hook=look).decode(data.decode())
    except (ValueError, RecursionError):
        return False
    return bool(found)


def parse(data: bytes) -> Parsed:
    """Read one JSON text. What cannot be read comes back as a ``Problem``, never as an exception."""
    return quick(data) or _first(parse_all(data))


def parse_all(data: bytes) -> list[Parsed]:
    """Read JSON texts that follow each other, tolerantly; the list ends with a ``Problem`` where reading ends early."""
    found: list[Parsed] = []
    line = 0
    try:
        source, codes = _decoded(data)
        reader, counted, end = _Reader(), 0, 0
        while (start := _skip(source, end)) < len(source):
            if found and "\n" not in source[end:start]:
                codes = ("concatenated_json",)
            line, counted = line + source.count("\n", counted, start), start
            value, end = reader.decode(source, start)
            found.append(Parsed(value, (*codes, *reader.taken()), None, line))
            codes = ()
    except MismatchError as error:
        found.append(Parsed(None, (), error.problem, line))
    return found


def scrubbed(text: str) -> str:
    """Give a plain ``str`` that UTF-8 can hold: surrogate pairs joined, lone surrogates replaced by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text if type(text) is str else str.__str__(text)


class _Reader:
    """The standard library's decoder, with hooks that note what it lets pass."""

    def __init__(self) -> None:
        self._codes: list[str] = []
        self._json = json.JSONDecoder(
            parse_float=self._float, parse_int=self._int, parse_constant=self._constant, object_pairs_hook=self._object
        )

    def decode(self, source: str, at: int) -> tuple[Any, int]:
        try:
            return self._json.raw_decode(source, at)
        except json.JSONDecodeError as error:
            raise MismatchError(ROOT, "JSON text", _what_stands(source[at:], error.pos - at, error.msg)) from None
        except RecursionError:
            raise MismatchError(ROOT, TOO_DEEP, "more") from None

    def taken(self) -> list[str]:
        codes, self._codes = self._codes, []
        return codes

    def _float(self, digits: str) -> float:
        value = float(digits)
        if math.isinf(value):
            self._codes.append("number_out_of_range")
        return value

    def _int(self, digits: str) -> int | str:
        try:
            return int(digits)
        except ValueError:
            self._codes.append("int_as_text")
            return digits

    def _constant(self, token: str) -> float:
        self._codes.append("bare_nan")
        return float(token)

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) < len(pairs):
            self._codes.append(DUPLICATE_JSON_KEY)
        return value


def _decoded(data: bytes) -> tuple[str, tuple[str, ...]]:
    if data.startswith(UTF16):
        raise MismatchError(ROOT, "JSON text in UTF-8", "text that looks like UTF-16")
    head = found.group() if (found := _HEAD.match(data)) else b""
    codes = [code for code, mark in (("nul_head", b"\0"), ("record_separator", b"\x1e")) if mark in head]
    body = data[len(head) :]
    try:
        source = body.decode()
    except UnicodeDecodeError:
        source = body.decode("utf-8", "replace")
        codes.append("invalid_utf8")
    if _SURROGATE.search(body):
        paired = _ESCAPE.sub(lambda escape: "\\ufffd" if escape[1] else escape[0], source)
        if paired != source:
            codes.append("lone_surrogate")
        source = paired
    return source, tuple(codes)


def _first(found: list[Parsed]) -> Parsed:
    if not found:
        return Parsed(None, (), Problem("$", "JSON text", "nothing"))
    if len(found) > 1:
        return Parsed(None, (), found[1].problem or Problem("$", "one JSON text", "another one after it"))
    return found[0]


def _what_stands(source: str, at: int, reason: str) -> str:
    rest = source[at:].strip()
    if _is_cut_off(rest, reason):
        return f"{CUT_OFF} after {counted(len(source.encode('utf-8', 'replace')), 'byte')}"
    offset = len(source[:at].encode("utf-8", "replace"))
    return f"text that is not JSON from byte {offset} on: {quoted(rest[:60])}"


def _is_cut_off(rest: str, reason: str) -> bool:
    if reason.startswith("Unterminated string") or rest in ("", "-"):
        return True
    if "escape" in reason:
        return '"' not in rest
    return any(literal.startswith(rest) for literal in _LITERALS)


def _skip(source: str, at: int) -> int:
    while at < len(source) and source[at] in _SPACE:
        at += 1
    return at
