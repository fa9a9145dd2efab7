"""What the index of the recorded traces says of each, and what each tool call in them was given."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from otel_gate import read
from otel_gate.core import merge

if TYPE_CHECKING:
    from pathlib import Path

    from otel_gate import Trace

FOLDER = "traces"
ROW = re.compile(r"\| (\S+\.otlp\.jsonl) \|")
PART = re.compile(r"(?:(\d+)x )?(ACCEPT|REJECT|SKIP)\b ?([\w-]*)(?: \((.*)\))?")
RAW_PART = re.compile(r"(?:(\d+)x )?(PASS|REJECT)(?: (\S+))?")
TRACES = 100

ORDER: dict[str, Any] = {"order_id": "A-1", "include_items": True}
SHORT: dict[str, Any] = {"order_id": "A-1"}
NOTED: dict[str, Any] = {**SHORT, "note": "x" * 60}
CARD: dict[str, Any] = {"card": "4111-XXXX", "amount": 12.5}
BY_POSITION: dict[str, Any] = {"args": ["A-1"], "kwargs": {"include_items": True}}
STRUCTURED: dict[str, Any] = {
    **ORDER, "lines": [{"sku": "mug", "qty": 2}], "note": None, "big": 2**53 + 1, "price": 12.5,
}  # fmt: skip
LOOKED_UP = (
    "agent-framework-native-content-ok", "anthropic-sdk-content-ok", "autogen-openinference-agent-ok",
    "claude-agent-sdk-openinference-ok", "crewai-openinference-evt-ok", "google-adk-legacy-ok",
    "google-adk-native-content-ok", "google-adk-openinference-ok", "haystack-native-content-agent-ok",
    "langchain-genai-agent-ok", "langchain-langsmith-agent-ok", "langchain-openinference-agent-ok",
    "langchain-traceloop-agent-ok", "llama-index-openinference-agent-ok", "llama-index-traceloop-agent-ok",
    "mlflow-genai-manual-ok", "mlflow-native-manual-ok", "openai-agents-genai-content-ok", "openai-agents-logfire-ok",
    "openai-agents-openinference-ok", "openai-agents-traceloop-ok", "openai-agents-v2-ok", "pydantic-ai-ok",
    "pydantic-ai-ok-v2", "strands-native-latest-ok", "strands-native-ok", "strands-openinference-ok",
    "vercel-ai-genai-ok", "vercel-ai-legacy-ok",
)  # fmt: skip
"""Files in which the same logical call was recorded as an object, by as many emitters."""
WITHHELD: dict[str, tuple[int, str, str]] = {
    "autogen-native-agent-ok": (1, "absent", "AutoGen never records arguments: wrap the tool in otel_gate.tool_span"),
    **dict.fromkeys(
        ("google-adk-native-fail", "google-adk-native-ok", "google-adk-native-stream-abandoned-next-run"),
        (1, "absent", "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY"),
    ),
    **dict.fromkeys(
        ("mcp-native-inmemory", "mcp-native-stdio-client-half"),
        (3, "absent", "the MCP SDK never records arguments: wrap the call in otel_gate.tool_span"),
    ),
    "openai-agents-genai-ok": (
        1, "absent",
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY, RunConfig(trace_include_sensitive_data=True)",
    ),
    "openai-agents-openinference-nocontent": (
        1, "absent", "RunConfig(trace_include_sensitive_data=True), OPENINFERENCE_HIDE_INPUTS=false",
    ),
    "pydantic-ai-attr-length-limit-48": (
        1, "cut", "raise OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT (or OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT)",
    ),
    "pydantic-ai-nocontent": (1, "absent", "InstrumentationSettings(include_content=True)"),
    "vercel-ai-genai-nocontent": (1, "absent", "recordInputs: true"),
}  # fmt: skip
"""Of each file without whole arguments: how many calls, why they have no hash, and what to do."""
GIVEN: dict[str, list[Any]] = {
    **{name: [ORDER] for name in LOOKED_UP},
    **{name: [None] * calls for name, (calls, _, _) in WITHHELD.items()},
    "crewai-openinference-evt-fail": [CARD] * 3,
    "google-adk-native-content-fail": [CARD],
    "langchain-openinference-agent-fail-handled": [CARD],
    "langchain-openinference-agent-fail": [CARD],
    "langchain-openinference-app-root": ["A-1"],
    "langchain-openinference-direct-tool": ["Z-9"],
    "langchain-openinference-parallel": ["Bergen", "Oslo"],
    "langchain-traceloop-agent-fail-handled": [CARD],
    "langchain-traceloop-agent-fail": [CARD],
    "langchain-traceloop-app-root": [SHORT],
    "langchain-traceloop-direct-tool": [{"order_id": "Z-9"}],
    "langchain-traceloop-interrupt-resume": [SHORT, SHORT],
    "langfuse-langgraph-ok": [SHORT],
    "langfuse-observe-ok": [BY_POSITION],
    "llama-index-openinference-agent-fail": [CARD],
    "llama-index-openinference-app-root-ends-first": [SHORT],
    "llama-index-openinference-parallel-tools": [{"city": "Bergen"}, {"city": "Oslo"}],
    "logfire-pydantic-ai-app-root-logs": [SHORT],
    "openai-agents-genai-content-agent-as-tool": [{"input": "check C-3"}, {"order_id": "C-3"}, {"order_id": "D-4"}],
    "openai-agents-genai-content-fail-raise": [CARD],
    "openai-agents-genai-content-fail": [CARD],
    "openai-agents-openinference-fail-raise": [CARD],
    "openai-agents-openinference-fail": [CARD],
    "openai-agents-openinference-handoff": [{"order_id": "B-2"}],
    "otel-genai-manual-structured-args-error-type-only": [STRUCTURED],
    "otel-genai-manual-structured-args": [STRUCTURED],
    "pydantic-ai-badargs": [{"INVALID_JSON": '{"city": 5, "bogus"'}],
    "pydantic-ai-concurrent-under-app-root": [NOTED] * 3,
    "pydantic-ai-duplicate-delivery": [NOTED],
    "pydantic-ai-fail": [CARD],
    "pydantic-ai-interleaved-two-traces": [NOTED, NOTED],
    "pydantic-ai-remote-parent": [NOTED],
    "pydantic-ai-retry": [{"x": -1}],
    "pydantic-ai-stream-detached-task": [{"order_id": "A-2"}],
    "smolagents-openinference-code-fail": [CARD, {"args": ["sorry"], "kwargs": {}}],
    "smolagents-openinference-code-ok": [{"args": ["Ana Example"], "kwargs": {}}, BY_POSITION],
    "smolagents-openinference-stream-abandoned-next-run": [{"answer": "second"}],
    "smolagents-openinference-toolcalling-fail": [CARD, {"answer": "sorry"}],
    "smolagents-openinference-toolcalling-ok": [ORDER, {"answer": "done"}],
    "traceloop-sdk-decorators-ok": [BY_POSITION],
    "vercel-ai-genai-fail": [CARD],
}
"""What the calls of a file were given, in no order; None when it isn't there any more. The other files have no call."""


class Expected(NamedTuple):
    """What the index says of one trace: as received, and after the conventions."""

    raw: frozenset[str]
    verdict: str
    reason: str
    tools: int
    run_id: str


def traces(data: bytes) -> dict[str, Trace]:
    """Read a file and join the pieces of each trace."""
    pieces: dict[str, list[Trace]] = {}
    for piece in read(data):
        pieces.setdefault(piece.trace.trace_id, []).append(piece.trace)
    return {trace_id: merge.join(found).trace for trace_id, found in pieces.items()}


def expected(shared: Path) -> dict[str, list[Expected]]:
    """Return what the index says of each file, one entry a trace, in the order of their first spans."""
    found = {}
    for line in (shared / FOLDER / "INDEX.md").read_text(encoding="utf-8").splitlines():
        if row := ROW.match(line):
            raw, after = line.split("|")[5:7]
            found[row[1]] = [_expected(*both) for both in zip(_raw(raw), _parts(after), strict=True)]
    return found


def _raw(cell: str) -> list[frozenset[str]]:
    """Return the reasons for which each trace is rejected as it was received."""
    parts: list[frozenset[str]] = []
    for part in cell.split(";"):
        times, verdict, reasons = RAW_PART.fullmatch(part.strip()).groups()  # type: ignore[union-attr]
        parts += [frozenset((reasons or "").split("+")) if verdict == "REJECT" else frozenset()] * int(times or 1)
    return parts


def _parts(cell: str) -> list[tuple[str, ...]]:
    parts: list[tuple[str, ...]] = []
    for part in cell.split(" ; "):
        times, *rest = PART.fullmatch(part.strip()).groups()  # type: ignore[union-attr]
        parts += [tuple(rest)] * int(times or 1)
    return parts


def _expected(raw: frozenset[str], after: tuple[str, ...]) -> Expected:
    verdict, reason, remarks = after
    said = remarks or ""
    tools, run_id = re.search(r"tools=(\d+)", said), re.search(r"run\.id<-([\w.]+)", said)
    return Expected(raw, verdict, reason, int(tools[1]) if tools else 0, run_id[1] if run_id else "trace_id")
