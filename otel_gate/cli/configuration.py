"""The settings of a command: its options are keywords, and what is wrong in any source is a usage error."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from otel_gate import settings as setting
from otel_gate.errors import UsageError
from otel_gate.rules import RULES

if TYPE_CHECKING:
    from argparse import Namespace

    from otel_gate.settings import Loaded, Settings


def settled(args: Namespace, **keywords: Any) -> Settings:
    """Settle the settings.

    Raises:
        SettingsError: a value, from whatever source, is one that its setting can't have.
    """
    return load(args, strict=True, **keywords).settings


def load(args: Namespace, *, strict: bool, **keywords: Any) -> Loaded:
    """Settle the settings, with provenance."""
    given = {"store": args.store, **keywords}
    return setting.load(given, environ=os.environ, cwd=Path.cwd(), strict=strict)


def rules(settings: Settings) -> tuple[Any, ...]:
    """Return the rules to judge by: ours, then the user's own; a name may stand for several.

    Raises:
        UsageError: a name stands for something that is no rule.
    """
    return (*RULES, *(rule for value in settings.rules for rule in _resolved(value)))


def _resolved(value: Any) -> tuple[Any, ...]:
    found = setting.resolve(value) if isinstance(value, str) else value
    several = tuple(found) if isinstance(found, tuple | list) and not hasattr(found, "check") else (found,)
    if several and all(callable(rule) or callable(getattr(rule, "check", None)) for rule in several):
        return several
    raise UsageError(f"rules {value}", "a function, a Rule, or a list of them", type(found).__name__, "the name of one")
