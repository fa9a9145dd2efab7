"""Two operands compared, for every command that does it: judged first, and the arguments looked up that are kept."""

from __future__ import annotations

import functools
from argparse import ArgumentTypeError
from typing import TYPE_CHECKING, NamedTuple

from otel_gate.core.diff import View, diff
from otel_gate.errors import UsageError
from otel_gate.report.arguments import ArgumentDiff, argument_diff
from otel_gate.report.diff import compared, refused

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence
    from pathlib import Path

    from otel_gate.cli.operand import Operand
    from otel_gate.core.diff import Change
    from otel_gate.report.diff import Comparison
    from otel_gate.store.blobs import Blob

ARGUMENT = "argument"
MOST_PERCENT = 100


class Asked(NamedTuple):
    """What is asked of a comparison: the view, whether unchanged spans are listed, and where blobs are."""

    view: View
    every: bool
    store: Path


def add(parser: ArgumentParser) -> None:
    """Declare what is compared and shown."""
    parser.add_argument("--names-only", action="store_true", help="compare names and places of spans alone")
    parser.add_argument("--ignore-order", action="store_true", help="let the order of siblings count nothing")
    ignore = "leave spans of this name out, with all below them (* and ? allowed); may be repeated"
    parser.add_argument("--ignore", action="append", default=[], metavar="NAME", help=ignore)
    allow = "let spans of this name be new; may be repeated"
    parser.add_argument("--allow-new", action="append", default=[], metavar="NAME", help=allow)
    text = "count durations that differ by more than so many percent of the longer one"
    parser.add_argument("--durations", type=_percent, metavar="PERCENT", help=text)
    parser.add_argument("--ids", action="store_true", help="count span ids that differ")
    parser.add_argument(
        "--tolerance",
        metavar="FILE",
        help="a TOML file of what may differ: ignore, allow_new, [[span]] with name and classes",
    )
    parser.add_argument("--all", action="store_true", dest="every", help="list unchanged spans too")
    parser.add_argument("--explain", action="store_true", help="say of each change how its class is found")


def _percent(text: str) -> int:
    if text.isascii() and text.isdigit() and int(text) <= MOST_PERCENT:
        return int(text)
    message = f"expected a whole number from 0 to {MOST_PERCENT}, got {text!r}"
    raise ArgumentTypeError(message)


def asked(args: Namespace, store: Path) -> Asked:
    """Return what the arguments ask for.

    Raises:
        UsageError: the tolerance file is not one.
        InputError: it can't be read.
    """
    from otel_gate.cli import tolerance  # noqa: PLC0415 - needs TOML, which most comparisons don't

    view = tolerance.read(args.tolerance) if args.tolerance else View()
    return Asked(
        View(
            args.names_only, args.ignore_order, (*view.ignore, *args.ignore), (*view.allow_new, *args.allow_new),
            view.tolerances, durations=args.durations, ids=args.ids,
        ),
        args.every, store,
    )  # fmt: skip


def compare(name: str, base: Operand, new: Operand, how: Asked, accept: str = "") -> Comparison:
    """Compare two operands, when both are well-formed.

    Raises:
        UsageError: what is ignored leaves nothing to compare.
    """
    if base.violations or new.violations:
        return refused(name, base.report(), new.report())
    left, right = base.side(how.view), new.side(how.view)
    if not (left.tree.size and right.tree.size):
        expected, got = "a span left to compare", f"none in {(new if left.tree.size else base).name}"
        raise UsageError(which="--ignore", expected=expected, got=got, try_="a pattern that leaves the root")
    found = diff(left.tree, right.tree, how.view)
    arguments = functools.partial(_arguments, how.store)
    return compared(name, left, right, found, arguments=arguments, every=how.every, accept=accept)


def _arguments(store: Path, change: Change) -> ArgumentDiff | None:
    """Return what changed inside the arguments, as far as both blobs are kept; what is not at hand is said."""
    if change.type != ARGUMENT or not (change.was and change.now):
        return None
    blobs = [_blob(store, hashed) for hashed in (change.was, change.now)]
    was, now = blobs
    if was is None and now is None:
        return None
    if was is None or now is None:
        return ArgumentDiff(note=f"the arguments of {_sides(blobs, missing=True)} are not kept")
    found = argument_diff(was.content, now.content)
    if was.redacted or now.redacted:
        note = f"the arguments of {_sides(blobs, missing=False)} are redacted: what is left of them is compared here"
        return ArgumentDiff(found.changes, found.more, note)
    return found


def _sides(blobs: Sequence[Blob | None], *, missing: bool) -> str:
    names = ("the base", "the new run")
    chosen = [
        name for name, blob in zip(names, blobs, strict=True) if (blob is None if missing else blob and blob.redacted)
    ]
    return " and ".join(chosen)


def _blob(store: Path, hashed: str) -> Blob | None:
    from otel_gate.store.blobs import Blobs  # noqa: PLC0415 - only changed arguments are looked up
    from otel_gate.store.files import Files  # noqa: PLC0415

    try:
        return Blobs(store / "blobs", Files()).get(hashed)
    except OSError:
        return None
