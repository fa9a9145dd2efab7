"""What both doors share: settings into a pipeline and a forwarder, and the catch-all around every hook."""

from __future__ import annotations

import atexit
import itertools
import logging
import os
import secrets
import time
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any

from otel_gate import settings as setting
from otel_gate.conventions import table
from otel_gate.conventions.own import of_user
from otel_gate.core.identity import AUTO, BY_CONVERSATION, POLICIES, RUN_ID
from otel_gate.errors import SettingsError
from otel_gate.forward import Forwarder, destinations, without_content
from otel_gate.otlp.text import scrubbed
from otel_gate.pipeline import Accounts, Pipeline, Policy, limits
from otel_gate.pipeline.withhold import Withholding
from otel_gate.rules import RULES
from otel_gate.sdk import metrics, sigterm
from otel_gate.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry.sdk.trace import ReadableSpan

    from otel_gate.conventions.recognise import Table
    from otel_gate.core.model import Door as DoorName
    from otel_gate.core.model import Note

logger = logging.getLogger("otel_gate")
SHUTDOWN_S, FAREWELL_S = 10.0, 2.0
DRAWING = (AUTO, BY_CONVERSATION)
PRIVATE = ("redact", "keep_arguments", "forward_arguments")
open_doors: weakref.WeakSet[Door] = weakref.WeakSet()  # the doors of this process that take spans


class Door:
    """One way into the gate: its settings, its pipeline and its forwarder."""

    def __init__(self, name: DoorName, keywords: dict[str, Any], notes: tuple[Note, ...] = ()) -> None:
        """Settle the settings and make the parts; nothing is opened or started yet.

        Raises:
            SettingsError: a keyword is unknown or has a value that it can't have.
        """
        loaded = setting.load(keywords, environ=os.environ, cwd=Path.cwd(), strict=False)
        for problem in loaded.problems:
            logger.warning("otel-gate: %s; the next source counts", problem)
        redact, more_rules, conventions, broken = _functions(loaded)
        private = [problem for problem in (*loaded.problems, *broken) if is_about_privacy(problem)]
        if private:
            logger.error("otel-gate: content is not kept, since what should protect it is not in force: %s", private[0])
        settings = self.settings = loaded.settings._replace(
            keep_arguments=loaded.settings.keep_arguments and not private,
            forward_arguments="hash" if private else loaded.settings.forward_arguments,
        )
        self.redact = redact
        self._run_id = settings.run_id if callable(settings.run_id) else None
        self._draws = settings.run_id in DRAWING
        self._named = settings.run_id if isinstance(settings.run_id, str) and settings.run_id not in POLICIES else ""
        conventions_of = table(conventions)
        to = destinations(settings.exporter, os.environ, settings.destinations)
        if settings.forward_arguments == "hash":
            to = without_content(to, conventions_of)
        policy = Policy(
            rules=(*RULES, *more_rules), conventions=conventions_of, door=name,
            run_id=AUTO if callable(settings.run_id) else settings.run_id,
            remote_parent=settings.remote_parent or "root", mode=settings.mode, notes=notes,
            keep_arguments=settings.keep_arguments, destinations=tuple(destination.name for destination in to),
        )  # fmt: skip
        self.forwarder = Forwarder(to, self._store, forwardable=policy.forwardable) if to else None
        self.name = name
        self.pipeline: Pipeline = Pipeline(
            policy, limits(settings), settings.store, self._store, forward=self.forwarder,
            sync=settings.sync == "always", withholding=self._withholding(conventions_of),
        )  # fmt: skip
        self.unsampled = 0
        self._faults = itertools.count()  # no lock: a signal handler may meet a fault inside another one
        open_doors.add(self)
        metrics.observe(self)
        if settings.handle_sigterm:
            sigterm.watch(self)
        if name == "sdk":  # behind an exporter what stands in front shuts down first, and then us
            at_exit = weakref.WeakMethod(self.shutdown)
            atexit.register(lambda: (method := at_exit()) and method())

    def draw(self) -> str:
        """Draw a fresh run id, when the setting ``run_id`` asks for one, or give the one that it is."""
        return secrets.token_hex(16) if self._draws else self._named

    def run_id_at_start(self, span: ReadableSpan) -> str:
        """Return the run id that a root starts with, else draw one: a process that is killed leaves no other."""
        given = (span.attributes or {}).get(RUN_ID)
        return scrubbed(given) if isinstance(given, str) and given.strip() else self.draw()

    def run_id_of(self, span: ReadableSpan) -> str:
        """Ask the user's function for the run id of a root."""
        run_id = self._run_id(span) if self._run_id is not None else ""
        return scrubbed(str(run_id)) if run_id else ""

    def fault(self, hook: str, error: BaseException) -> None:
        """Count a fault that a hook caught, and say the first one; its own words only when they may quote anything."""
        self.pipeline.hook_errors += 1
        if next(self._faults) > 0:
            return
        if self.pipeline.withholding is not None:
            logger.error("otel-gate: %s met %s; the agent goes on", hook, type(error).__name__)
            return
        logger.error("otel-gate: %s met %s: %s; the agent goes on", hook, type(error).__name__, error, exc_info=error)

    def flush(self, timeout_s: float) -> bool:
        """Record what is complete and deliver what is owed, to the deadline."""
        deadline = time.monotonic() + timeout_s
        recorded = self.pipeline.flush(timeout_s)
        return recorded and (self.forwarder is None or self.forwarder.flush(deadline - time.monotonic()))

    def shutdown(self, timeout_s: float | None = None) -> bool:
        """Record everything, try once to deliver what is owed, and stop; what is not delivered stays in the outbox.

        Without a time of the caller's, records have ``SHUTDOWN_S`` seconds and deliveries ``FAREWELL_S``.
        """
        deadline = time.monotonic() + (SHUTDOWN_S if timeout_s is None else timeout_s)
        open_doors.discard(self)
        recorded = self.pipeline.shutdown(deadline - time.monotonic())
        self.pipeline.recover(max(min(FAREWELL_S, deadline - time.monotonic()), 0.0))
        left = deadline - time.monotonic()
        farewell = left if timeout_s is not None else min(left, FAREWELL_S)
        return recorded and (self.forwarder is None or self.forwarder.shutdown(farewell))

    def status(self) -> Accounts:
        """Return the accounts of this door's spans."""
        return self.pipeline.status()

    def _store(self) -> Store:
        return Store(self.settings.store, layout=self.settings.layout)

    def _withholding(self, conventions: Table) -> Withholding | None:
        """Return what takes content out of spans, when a setting asks for that."""
        if self.settings.keep_arguments and self.redact is None:
            return None
        redact = self.redact if self.settings.keep_arguments else None
        return Withholding(conventions, redact, lambda error: self.fault("redact", error))


def _functions(loaded: setting.Loaded) -> tuple[Any, list[Any], list[Any], list[SettingsError]]:
    """Import what settings name. A name from the environment or a file that leads nowhere must not break the agent."""
    broken: list[SettingsError] = []

    def resolved(name: str, value: Any, resolve: Callable[[str], Any] = setting.resolve) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return resolve(value)
        except SettingsError as error:
            if loaded.origin[name] == setting.KEYWORD:
                raise
            logger.error("otel-gate: %s: %s; it is not in force", loaded.origin[name], error)  # noqa: TRY400
            broken.append(SettingsError(name, error.expected, error.got, error.try_))
            return None

    redact = resolved("redact", loaded.settings.redact)
    rules = [resolved("rules", rule) for rule in loaded.settings.rules]
    conventions = [
        resolved("conventions", value, lambda text: of_user((text,))) for value in loaded.settings.conventions
    ]
    return redact, _there(rules), _there(conventions), broken


def _there(found: list[Any]) -> list[Any]:
    return [one for one in found if one is not None]


def is_about_privacy(problem: SettingsError) -> bool:
    """Tell whether a setting that should protect content is not in force."""
    said = f"{problem.which} {problem.try_}".lower()
    return any(name in said for name in PRIVATE)
