"""The formats in which any command can answer, beside its own text and JSON: one renderer a file, looked up here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.report import concise, github, gitlab, jsonl, junit, sarif

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_gate.report.findings import Findings

RENDERERS: dict[str, Callable[[Findings], str]] = {
    "concise": concise.text,
    "jsonl": jsonl.text,
    "github": github.text,
    "junit": junit.text,
    "sarif": sarif.text,
    "gitlab": gitlab.text,
}
