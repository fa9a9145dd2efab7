"""The settings of a command: its options are keywords, and what is wrong in any source is a usage error."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from otel_gate import conventions as known
from otel_gate import rules as ours
from otel_gate import settings as setting
from otel_gate.errors import SettingsError, UsageError

if TYPE_CHECKING:
    from argparse import Namespace

    from otel_gate.conventions.recognise import Table
    from otel_gate.settings import Loaded, Settings


def settled(args: Namespace, **keywords: Any) -> Settings:
    """Settle the settings.

    Raises:
        SettingsError: a value, from whatever source, is one that its setting can't have.
    """
    return load(args, strict=True, **keywords).settings


def load(args: Namespace, *, strict: bool, **keywords: Any) -> Loaded:
    """Settle the settings, with provenance; where they speak of a keyword, it was an option here."""
    given = {"store": args.store, **keywords}
    try:
        loaded = setting.load(given, environ=os.environ, cwd=Path.cwd(), strict=strict)
    except SettingsError as error:
        name, keyword, _ = error.which.partition(f" ({setting.KEYWORD})")
        which = option(name) if keyword else error.which
        raise SettingsError(which, error.expected, error.got, error.try_) from error
    origin = {name: option(name) if label == setting.KEYWORD else label for name, label in loaded.origin.items()}
    return loaded._replace(origin=origin)


def option(name: str) -> str:
    """Return the option that sets a setting."""
    return f"--{name.replace('_', '-')}"


def rules(settings: Settings) -> tuple[Any, ...]:
    """Return the rules to judge by: ours, then the user's own; a name may stand for several.

    Raises:
        UsageError: a name stands for something that is no rule.
    """
    return (*ours.RULES, *(rule for value in settings.rules for rule in _resolved(value)))


def conventions(settings: Settings) -> Table:
    """Return the conventions to understand spans by: the user's own, then ours; a name may stand for several.

    Raises:
        UsageError: a name stands for something that is no convention.
    """
    return known.table(settings.conventions)


def _resolved(value: Any) -> tuple[Any, ...]:
    found = setting.resolve(value) if isinstance(value, str) else value
    several = tuple(found) if isinstance(found, tuple | list) and not hasattr(found, "check") else (found,)
    if several and all(callable(rule) or callable(getattr(rule, "check", None)) for rule in several):
        return several
    expected, got = "a function, a Rule, or a list of them", type(found).__name__
    raise UsageError(which=f"rules {value}", expected=expected, got=got, try_="the name of one")
