"""What may differ, in a file that is reviewed like the golden beside it.

ignore = ["tool.clock"]          # spans left out, with all below them
allow_new = ["tool.retry*"]      # spans that may be new

[[span]]
name = "tool.now"
classes = ["argument", "status"] # without it: every class
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import msgspec

from otel_gate.core.diff import CLASSES, Tolerance, View
from otel_gate.errors import InputError, UsageError


class _Span(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    classes: tuple[str, ...] = CLASSES


class _File(msgspec.Struct, forbid_unknown_fields=True):
    ignore: tuple[str, ...] = ()
    allow_new: tuple[str, ...] = ()
    span: tuple[_Span, ...] = ()


def read(path: str) -> View:
    """Return what a tolerance file says.

    Raises:
        InputError: it can't be read.
        UsageError: it is no TOML, or says something else.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        got = getattr(error, "strerror", None) or str(error)
        raise InputError(path, "a tolerance file", got, "another path") from error
    try:
        found = msgspec.convert(tomllib.loads(text), _File)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, RecursionError) as error:
        raise UsageError(
            path, "ignore, allow_new and [[span]] tables in TOML", str(error), "otel-gate diff --help"
        ) from error
    return View(ignore=found.ignore, allow_new=found.allow_new, tolerances=tuple(map(_tolerance, found.span)))


def _tolerance(span: _Span) -> Tolerance:
    unknown: Any = [name for name in span.classes if name not in CLASSES]
    if unknown:
        expected, got = f"classes among {', '.join(CLASSES)}", repr(unknown[0])
        raise UsageError(which=f"tolerance for {span.name!r}", expected=expected, got=got, try_="no classes, for all")
    return Tolerance(span.name, frozenset(span.classes))
