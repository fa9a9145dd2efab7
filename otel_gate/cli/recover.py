"""``otel-gate recover``: make records of what processes that have ended left in their journals."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from otel_gate.cli import configuration, output, stores
from otel_gate.forward import destinations
from otel_gate.pipeline.policy import Policy, limits
from otel_gate.pipeline.recovery import Recovered, recover
from otel_gate.report.quantities import counted
from otel_gate.store import Store
from otel_gate.store.files import Files

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator

    from otel_gate.settings import Settings

STAYED = 1


def add(parser: ArgumentParser) -> None:
    """Declare no arguments."""
    parser.epilog = (
        "A process with this store does the same by itself, soon after it starts; but what a gateway has left open,"
        " the next gateway goes on with, and this command ends."
    )


def run(args: Namespace) -> int:
    """Recover; 1 when a journal could not be recorded whole and stays."""
    settings = configuration.settled(args)
    with stores.opened(settings):
        done = list(recovered(settings, strict=True))
    output.say(map(_line, done) if done else ["no journal of a process that has ended"])
    return 0 if all(one.whole for one in done) else STAYED


def recovered(settings: Settings, *, strict: bool) -> Iterator[Recovered]:
    """Recover what a store holds, journal by journal; with ``strict`` a wrong destination raises ``SettingsError``."""
    to = destinations(None, os.environ, settings.destinations, strict=strict)
    policy = Policy(
        configuration.rules(settings), configuration.conventions(settings),
        remote_parent=settings.remote_parent or "root", mode=settings.mode, keep_arguments=settings.keep_arguments,
        destinations=tuple(destination.name for destination in to),
    )  # fmt: skip
    return recover(
        settings.store, policy, limits(settings), partial(Store, settings.store, layout=settings.layout), Files()
    )


def _line(one: Recovered) -> str:
    accounts = one.accounts
    said = f"{one.journal}: {counted(accounts.recovered, 'trace')}, {counted(accounts.recorded, 'span')} recorded"
    if accounts.duplicates:
        said += f", {counted(accounts.duplicates, 'exact duplicate')} dropped"
    if one.damaged:
        said += f", {counted(one.damaged, 'damaged entry')} in quarantine".replace("entrys", "entries")
    return said if one.whole else f"{said}; not everything could be written, the journal stays"
