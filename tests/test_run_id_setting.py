"""The setting ``run_id``: a policy, or a text of one's own that can't be taken for a misspelt policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from otel_gate import settings
from otel_gate.core.identity import POLICIES
from otel_gate.errors import SettingsError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("text", "policy"),
    [("tracee", "trace"), ("conversaton", "conversation"), ("autoo", "auto"), ("Trace", "trace"), (" auto", "auto"),
     ("atuo", "auto"), ("required", "require"), ("trace_id", "trace"), ("conversation-id", "conversation")],
)  # fmt: skip
def test_a_text_that_is_nearly_a_policy_is_no_run_id(tmp_path: Path, text: str, policy: str) -> None:
    """A misspelt policy would be the run id of every trace: it is refused, and the policy is named."""
    with pytest.raises(SettingsError, match="not nearly one of these") as caught:
        settings.load({"run_id": text}, environ={}, cwd=tmp_path, strict=True)
    assert (caught.value.got, caught.value.try_) == (repr(text), policy)


@pytest.mark.parametrize("text", [*settings.RUN_IDS, "nightly", "run-1", "trace-1", "auto2", "conversation 7", "x"])
def test_a_text_of_ones_own_is_a_run_id(tmp_path: Path, text: str) -> None:
    """What resembles no policy, or has a number, is taken as it is."""
    assert settings.load({"run_id": text}, environ={}, cwd=tmp_path, strict=True).settings.run_id == text


def test_the_policies_are_those_of_the_core() -> None:
    """Both lists have the same names."""
    assert settings.RUN_IDS == POLICIES
