"""``otel-gate doctor``: look for what is in the way, in the environment and the store; name the remedy, or mend it."""

from __future__ import annotations

import os
import sqlite3
from functools import partial
from importlib import metadata
from typing import TYPE_CHECKING

from otel_gate.cli import configuration, destinations, output, recover, stores
from otel_gate.cli.environment import findings
from otel_gate.core.counted import counted
from otel_gate.core.gate import READABLE, judge
from otel_gate.errors import SettingsError
from otel_gate.rules import RULES
from otel_gate.store import Store, checks
from otel_gate.store.checks import Examination, Finding
from otel_gate.store.prune import BLOB_GRACE_NS

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator

    from otel_gate.core.model import Trace, Verdict
    from otel_gate.settings import Settings

FOUND = 1
DISTRO = "opentelemetry-distro"
CODES = frozenset(rule.code for rule in RULES if rule.code != READABLE)  # a crash of a user's own rule has that one
EPILOG = """\
Without --fix nothing is changed. With it: torn records go to quarantine, the index is made again (deliveries are saved
as far as they can be read, accounts are made from the records), journals of ended processes are recovered, modes are
set, drafts of ended processes are removed, lines that somebody cut off from a segment are forgotten. What a record says
is never rewritten. --fix is best run while no agent writes to the store.
Exit codes: 0 nothing was found, or all of it is mended; 1 something is left."""


def add(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = EPILOG
    parser.add_argument("--fix", action="store_true", help="mend what can be mended")
    text = "make the index anew from the records; deliveries and accounts stay as they are"
    parser.add_argument("--rebuild-index", action="store_true", help=text)


def run(args: Namespace) -> int:
    """Print a line a finding; 1 when one is left."""
    loaded = configuration.load(args, strict=False)
    if args.rebuild_index:
        with stores.opened(loaded.settings) as store:
            entered = store.rebuild(stores.forwardable(loaded.settings))
        output.complain(f"otel-gate: the index was made anew, with {counted(entered, 'record')}")
    left = [Finding(str(problem), "otel-gate config show") for problem in loaded.problems]
    left += findings(os.environ, has_distro=_has_distro())
    mended: list[Finding] = []
    for finding, error in _store(loaded.settings, fix=args.fix):
        if error is None:
            mended.append(finding)
        else:
            left.append(finding._replace(what=f"{finding.what}{error}"))
    left += _destinations(loaded.settings)
    output.say([*(f"mended: {finding.what}" for finding in mended), *map(str, left)] or ["no findings"])
    return FOUND if left else 0


def _has_distro() -> bool:
    try:
        metadata.distribution(DISTRO)
    except metadata.PackageNotFoundError:
        return False
    return True


def _destinations(settings: Settings) -> Iterator[Finding]:
    try:
        names = destinations.names(settings)
    except SettingsError as error:
        yield Finding(f"{error.which}: expected {error.expected}, got {error.got}", error.try_)
        return
    if not names:
        yield Finding(
            "no endpoint is set: traces are recorded, not forwarded",
            "OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4317",
        )


def _store(settings: Settings, *, fix: bool) -> Iterator[tuple[Finding, str | None]]:
    """Yield what was found, and what stands against its being mended; None when it is mended."""
    store = Store(settings.store, layout=settings.layout)
    looked = Examination(
        store, judge=_judged, codes=CODES, forwardable=stores.forwardable(settings),
        blobs_before_ns=store.now_ns() - BLOB_GRACE_NS, recover=partial(_recover, settings),
    )  # fmt: skip
    table = (*checks.FIRST, *(checks.CHECKS if settings.store.is_dir() else ()))
    try:
        for check in table:
            for finding in list(check(looked)):
                yield finding, _mend(looked, finding) if fix else ""
    except OSError as error:
        what = f"the store {settings.store} can't be read: {error}"
        yield Finding(what, "the rights of a user that may"), ""
    finally:
        store.close()


def _mend(looked: Examination, finding: Finding) -> str | None:
    if finding.mend is None:
        return ""
    try:
        finding.mend()
    except (OSError, sqlite3.Error) as error:
        return f" (not mended: {error})"
    finally:
        looked.again()
    return None


def _recover(settings: Settings) -> None:
    left = [one.journal for one in recover.recovered(settings, strict=False) if not one.whole]
    if left:
        message = f"not everything of {left[0]} could be recorded: the journal stays"
        raise OSError(message)


def _judged(trace: Trace) -> Verdict:
    return judge(trace, RULES)
