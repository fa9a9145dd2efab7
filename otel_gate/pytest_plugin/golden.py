"""Golden traces for tests: written when they are to be updated, compared with otherwise."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from otel_gate.cli import comparison, goldens, operand
from otel_gate.core import golden
from otel_gate.core.diff import View, run
from otel_gate.errors import InputError
from otel_gate.report import diff_text
from otel_gate.report.diff import whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from otel_gate.core.model import Trace

place = goldens.place
THIS_RUN = "this run"


def shown(path: Path) -> str:
    """Return the path of a golden from the working folder, when it lies in it."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def accepted(path: Path, name: str, traces: Sequence[Trace]) -> bool:
    """Write the golden of a run, whole or not at all, and tell whether it says something new.

    Several workers may write at the same time: each writes beside, and the last one's stays.
    """
    content = golden.golden_bytes(golden.make(name, run(traces)))
    if path.is_file() and path.read_bytes() == content:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f"{path.name}.{os.urandom(4).hex()}.tmp")
    beside.write_bytes(content)
    beside.replace(path)
    return True


def differences(path: Path, name: str, traces: Sequence[Trace], view: View | None, accept: str) -> list[str]:
    """Return what a run did otherwise than its golden, in lines; nothing when it did the same."""
    try:
        base = goldens.read(path, f"{goldens.PREFIX}{name}")
    except InputError as error:
        return [f"{shown(path)}: expected {error.expected}, got {error.got}; try {accept}"]
    new = operand.of_traces(THIS_RUN, traces, (), dict)
    asked = comparison.Asked(view or View(), every=False, store=path.parent)
    found = comparison.compare(name, base, new, asked, accept)
    return diff_text.lines(whole([found]), diff_text.Style(options=False)) if found.exit_code else []
