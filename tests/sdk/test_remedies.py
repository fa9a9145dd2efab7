"""Whoever runs an agent is told what to switch on, once, when its emitter records no arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.sdk.conftest import Agent

CALL = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search"}
SWITCH = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY"


@pytest.mark.parametrize(
    ("attributes", "said"),
    [
        (CALL, [SWITCH]),
        ({**CALL, "gen_ai.tool.call.arguments": '{"q": "x"}'}, []),
        ({"gen_ai.operation.name": "chat"}, []),
    ],
)
def test_missing_arguments_are_said_once_with_the_remedy(
    agent: Callable[..., Agent], caplog: pytest.LogCaptureFixture, attributes: dict[str, Any], said: list[str]
) -> None:
    """However many calls and traces lack them; a call that has them says nothing."""
    made = agent()
    tracer = made.provider.get_tracer("some.emitter")
    for _ in range(3):
        with tracer.start_as_current_span("run"):
            for _ in range(2):
                tracer.start_span("execute_tool search", attributes=attributes).end()
    made.provider.force_flush()
    warned = [record.getMessage() for record in caplog.records if "G303" in record.getMessage()]
    assert [message.rpartition("try: ")[2] for message in warned] == said
