"""Runs of real agent frameworks compared: what a person reads, kept as text in ``fixtures/diffs``.

``python -m tests.test_real_diffs`` writes the texts anew (from the root of the repository); read them before they are
committed.
"""

from __future__ import annotations

import contextlib
import io
import os
from typing import TYPE_CHECKING

import pytest

from otel_gate.cli import main
from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = ROOT / "fixtures" / "diffs"
ENDING = ".otlp.jsonl"
OPTIONS = ("--run-id", "trace", "--remote-parent", "root")
PAIRS = {
    "crewai": ("crewai-openinference-ok", "crewai-openinference-fail"),
    "crewai-events": ("crewai-openinference-evt-ok", "crewai-openinference-evt-fail"),
    "google-adk": ("google-adk-native-content-ok", "google-adk-native-content-fail"),
    "langchain": ("langchain-openinference-agent-ok", "langchain-openinference-agent-fail"),
    "langchain-app-root": ("langchain-openinference-agent-ok", "langchain-openinference-app-root"),
    "langchain-handled": ("langchain-openinference-agent-ok", "langchain-openinference-agent-fail-handled"),
    "langchain-parallel": ("langchain-openinference-agent-ok", "langchain-openinference-parallel"),
    "langchain-traceloop": ("langchain-traceloop-agent-ok", "langchain-traceloop-agent-fail"),
    "llama-index": ("llama-index-openinference-agent-ok", "llama-index-openinference-agent-fail"),
    "llama-index-parallel": ("llama-index-openinference-agent-ok", "llama-index-openinference-parallel-tools"),
    "openai-agents": ("openai-agents-genai-content-ok", "openai-agents-genai-content-fail-raise"),
    "openai-agents-handoff": ("openai-agents-openinference-ok", "openai-agents-openinference-handoff"),
    "pydantic-ai": ("pydantic-ai-ok", "pydantic-ai-fail"),
    "pydantic-ai-retry": ("pydantic-ai-ok", "pydantic-ai-retry"),
    "smolagents": ("smolagents-openinference-code-ok", "smolagents-openinference-code-fail"),
    "smolagents-tools": ("smolagents-openinference-toolcalling-ok", "smolagents-openinference-toolcalling-fail"),
    "vercel-ai": ("vercel-ai-genai-ok", "vercel-ai-genai-fail"),
}
AGAIN = {"SAME": 0, "DIFFERENT": 1, "NOT": 2}  # by the first word of a text


def said(base: str, new: str) -> tuple[int, str]:
    """Compare two files of the working folder, and return the exit code and what was said on stdout."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        code = main(["diff", base + ENDING, new + ENDING, *OPTIONS])
    return code, out.getvalue()


@pytest.mark.parametrize("name", PAIRS)
def test_a_real_diff_reads_as_it_was_agreed_on(name: str, shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The text of a pair is the one that was read and kept, and its verdict is the exit code."""
    monkeypatch.chdir(shared / "traces")
    expected = (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    assert said(*PAIRS[name]) == (AGAIN[expected.split()[0]], expected)


@pytest.mark.parametrize("name", PAIRS)
def test_a_real_run_is_the_same_as_itself(name: str, shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No framework's run differs from itself."""
    monkeypatch.chdir(shared / "traces")
    assert said(PAIRS[name][0], PAIRS[name][0])[0] == 0


def test_every_text_is_of_a_pair() -> None:
    """No text is left behind by a pair that is gone."""
    assert {path.stem for path in FOLDER.glob("*.txt")} == set(PAIRS)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    os.chdir(ROOT.parent / "shared" / "traces")
    for pair, names in PAIRS.items():
        (FOLDER / f"{pair}.txt").write_text(said(*names)[1], encoding="utf-8", newline="\n")
