"""``otel-gate blob``: the arguments that are kept under a hash.

To a file or a pipe they go as the bytes that they are, so that they can be hashed and read again; a terminal, which
they could drive, gets them line by line with whatever could act made visible.
"""

from __future__ import annotations

import base64
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from otel_gate.cli import blobs, configuration, output
from otel_gate.cli.arguments import add_format
from otel_gate.core.canonical import canonical, decode
from otel_gate.errors import InputError, UsageError
from otel_gate.report import calls
from otel_gate.report.escape import shortened
from otel_gate.store.blobs import HASH, REDACTED
from otel_gate.verify import recomputed

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from otel_gate.store.blobs import Blob

BLOB_SCHEMA = "otel-gate/blob/1"
DIGITS, FEWEST, LISTED = 64, 8, 5
NO = 1
EPILOG = """\
To a file or a pipe the bytes go as they are; for the log of a CI runner, where text can be a command, take
--format json. Exit code 1: what is kept has another hash."""


def add(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = EPILOG
    text = f"an input.sha256; its first {FEWEST} digits or more are enough when no other begins with them"
    parser.add_argument("hash", metavar="HASH", help=text)
    blobs.add(parser)
    add_format(parser, "text", "json")


def run(args: Namespace) -> int:
    """Print what is kept under a hash."""
    beginning = _digits(args.hash)
    store = configuration.settled(args).store
    get = blobs.getter(args.blobs, store)
    hashed = _whole(beginning, Path(args.blobs) if args.blobs else store / blobs.FOLDER)
    blob = get(hashed)
    if blob is None:
        raise _none(beginning, store)
    outcome, got = recomputed(hashed, blob)
    code = NO if outcome == "mismatch" else 0
    if blob.redacted:
        output.complain(f"otel-gate: {hashed} is redacted: this is what was left, the hash is that of the original")
    if code:
        output.complain(f"otel-gate: {hashed} has other bytes: expected this hash, got {got}; try otel-gate doctor")
    if args.format == "json":
        output.say_json(calls.arguments(_envelope(hashed, blob, code)))
    elif sys.stdout is not None and sys.stdout.isatty():
        output.say(blob.content.decode("utf-8", "backslashreplace").split("\n"))
    else:
        output.say_bytes(blob.content)
    return code


def _digits(text: str) -> str:
    digits = text.strip().lower()
    if FEWEST <= len(digits) <= DIGITS and HASH.fullmatch(digits.ljust(DIGITS, "0")):
        return digits
    expected, got = f"{FEWEST} to {DIGITS} hex digits", repr(shortened(text, DIGITS + 1))
    raise UsageError("HASH", expected, got, "the hash that otel-gate calls or show prints")


def _whole(beginning: str, folder: Path) -> str:
    """Return the one hash that begins so.

    Raises:
        InputError: there is none.
        UsageError: there are several.
    """
    try:
        names = [path.name for place in (folder / beginning[:2], folder) if place.is_dir() for path in place.iterdir()]
    except OSError as error:
        raise InputError(str(folder), "a folder to list", error.strerror or str(error), "another --blobs") from error
    found = sorted({name.removesuffix(REDACTED) for name in names if name.startswith(beginning)})
    known = [name for name in found if HASH.fullmatch(name)]
    if not known:
        raise _none(beginning, folder)
    if len(known) > 1:
        got = f"several: {', '.join(known[:LISTED])}{', …' * (len(known) > LISTED)}"
        raise UsageError(which=f"hash {beginning}", expected="one blob", got=got, try_="more of its digits")
    return known[0]


def _none(beginning: str, place: Path) -> InputError:
    got = f"none in {place}"
    return InputError(f"hash {beginning}", "a blob", got, "--store, --blobs; keep_arguments = false keeps none")


def _envelope(hashed: str, blob: Blob, code: int) -> dict[str, Any]:
    body = "redacted" if blob.redacted else "mismatch" if code else "kept"
    size, arguments = len(blob.content), _json(blob.content)
    return {
        "schema": BLOB_SCHEMA, "exit_code": code, "hash": hashed, "body": body, "size_bytes": size,
        "arguments": arguments,
    }  # fmt: skip


def _json(content: bytes) -> Any:
    """Return bytes as the JSON value that they are, else as the text, else as ``{"$bytes": base64}``."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return {"$bytes": base64.b64encode(content).decode()}
    try:
        value = decode(text)
        canonical(value)
    except (ValueError, RecursionError):
        return text
    return value
