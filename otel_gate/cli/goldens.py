"""Goldens in their folder, as operands."""

from __future__ import annotations

from functools import partial
from shlex import quote
from typing import TYPE_CHECKING

import msgspec

from otel_gate.cli.operand import GOLDEN, Lines, Operand
from otel_gate.core import diff, golden
from otel_gate.errors import InputError, UsageError
from otel_gate.otlp import lines
from otel_gate.report.check import Located

if TYPE_CHECKING:
    from pathlib import Path

PREFIX = "golden:"
FOLDER = "golden"


def place(folder: Path, name: str) -> Path:
    """Return where the golden of a name is.

    Raises:
        UsageError: it can't be the name of a golden.
    """
    if not golden.NAME.fullmatch(name):
        expected, try_ = "at most 128 letters, digits and . _ -, no . or - first", "a name such as refund-flow"
        raise UsageError(which=f"golden name {name!r}", expected=expected, got="another text", try_=try_)
    return folder / f"{name}.json"


def accepting(run: str, name: str, folder: str) -> str:
    """Return the command that accepts a run, as a shell takes it."""
    named = f"./{run}" if run.startswith("-") and run != "-" else run
    inside = f" --dir {quote(folder)}" if folder != FOLDER else ""
    return f"otel-gate golden accept {quote(named)} --as {name}{inside}"


def read(path: Path, name: str) -> Operand:
    """Return the golden of a file; one that does not fit its schema has a violation.

    Raises:
        InputError: it can't be read.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        got, try_ = error.strerror or str(error), f"otel-gate golden accept RUN --as {path.stem} --dir {path.parent}"
        raise InputError(str(path), "a golden", got, try_) from error
    return of_content(content, str(path), name)


def of_content(content: bytes, path: str, name: str) -> Operand:
    """Return the golden in a file's content; one that does not fit its schema has a violation."""
    try:
        made = golden.decode(content)
    except (msgspec.MsgspecError, RecursionError) as error:
        return Operand(name, GOLDEN, (_unfit(path, str(error)),), (), lambda _view: diff.run(()), dict)

    def at() -> Lines:
        found = lines(content)
        return {("", span.id): (path, line) for span, line in zip(made.spans, found, strict=False)}

    return Operand(name, GOLDEN, (), (), partial(golden.tree, made), at, made.name)


def _unfit(path: str, message: str) -> Located:
    return Located(
        "G000", "readable", None, message, f"the schema {golden.GOLDEN_SCHEMA}", "another document",
        "otel-gate golden accept, to write it anew", 1, path,
    )  # fmt: skip
