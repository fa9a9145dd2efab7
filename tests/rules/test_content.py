"""What is said about times, attributes, evidence and capture (G201-G401): which, expected, got, and what to try."""

from __future__ import annotations

import pytest

from otel_gate.core.gate import judge
from otel_gate.core.model import Completion, Trace
from otel_gate.rules import RULES
from tests.findings import (
    REMOTE_ROOT,
    TOOL,
    closed,
    failed,
    lacking,
    only,
    root,
    said,
    tool,
    trace,
)


@pytest.mark.parametrize(
    ("start_ns", "end_ns", "words"),
    [
        (0, 5, ["has no start", "nanoseconds since the epoch"]),
        (5, 4, ["ends 1 ns before it starts", "end_ns >= 5", "end_ns 4", "one clock"]),
        (1764547200 * 10**9, 1764547200, ["write end_ns in nanoseconds; it looks like seconds"]),
        (1764547200 * 10**9, 1764547200 * 10**3, ["it looks like milliseconds"]),
        (1764547200 * 10**9, 1764547200 * 10**6, ["it looks like microseconds"]),
        (1764547200 * 10**6, 5, ["write start_ns in nanoseconds; it looks like microseconds"]),
    ],
)
def test_end_not_before_start(start_ns: int, end_ns: int, words: list[str]) -> None:
    """The finding about times says by how much, and which unit was probably meant."""
    text = said("G201", tool(start_ns=start_ns, end_ns=end_ns))
    for word in words:
        assert word in text


def test_ended() -> None:
    """A span without an end is told as such, and not as one that ends before it starts."""
    assert only("G202", tool(end_ns=0)).message == 'span "tool.search" has no end'


@pytest.mark.parametrize(
    ("value", "got"),
    [
        ("", "an empty string"),
        (" \t", "only white space"),
        (None, "null"),
        (17, "int 17"),
        (True, "bool true"),
        (0.5, "float 0.5"),
        pytest.param(10**5_000, "int", id="more digits than Python prints"),
        ([1], "array"),
        ({}, "object"),
        (b"", "bytes"),
    ],
)
def test_root_run_id(value: object, got: str) -> None:
    """What stands in place of a run id is named by its JSON type."""
    assert only("G301", root(value)).got == got


def test_conflicting_values_violate_the_rule_that_reads_them() -> None:
    """An attribute that was given twice with different values counts as missing, also where an event would do."""
    for code, attribute in (("G302", "tool.name"), ("G303", "input.sha256")):
        assert "two different values" in said(code, tool(conflicts=(attribute,)))
    assert "two different values" in said("G301", root("run-1", conflicts=("run.id",)))
    assert "an exception event and two different values" in said("G304", failed("exception", conflicts=("error.type",)))
    assert judge(tool(conflicts=("error.type", "run.id", "x")), RULES).shape_ok


@pytest.mark.parametrize("text", [" ", "\t\n", "\u00a0"])
def test_white_space_says_nothing(text: str) -> None:
    """It is no tool's name, no hash and no evidence of an error."""
    for code, attribute in (("G302", "tool.name"), ("G303", "input.sha256")):
        given = {"tool.name": "search", "input.sha256": "ab" * 32, attribute: text}
        assert only(code, tool(attributes=given)).got == "only white space"
    assert "only white space for error.type" in said("G304", failed(attributes={**TOOL.attributes, "error.type": text}))


@pytest.mark.parametrize("attribute", ["tool.name", "input.sha256"])
def test_dropped_attributes_are_evidence(attribute: str) -> None:
    """When the SDK's limits took attributes, the finding says how many and how to keep the required one."""
    code = {"tool.name": "G302", "input.sha256": "G303"}[attribute]
    text = said(code, lacking(attribute, dropped_attributes_count=3))
    assert "and 3 attributes were dropped by the SDK's limits" in text
    assert f"set {attribute} last or raise OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT" in text
    assert "and 1 attribute was dropped" in said(code, lacking(attribute, dropped_attributes_count=1))


def test_dropped_attributes_are_no_violation() -> None:
    """What was dropped is told beside what is missing, and is nothing to be refused by itself."""
    assert judge(tool(dropped_attributes_count=3, dropped_events_count=2, dropped_links_count=1), RULES).shape_ok


@pytest.mark.parametrize(
    ("judged", "words"),
    [
        (failed(), ["no exception event and no value for error.type", "record the exception"]),
        (failed("Exception", "error"), ["no exception event"]),
        (failed(attributes={**TOOL.attributes, "error.type": 504}), ["int 504 for error.type"]),
        (failed(dropped_events_count=2), ["2 events dropped by limits", "OTEL_SPAN_EVENT_COUNT_LIMIT"]),
        (failed(dropped_attributes_count=2), ["2 attributes were dropped", "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT"]),
    ],
)
def test_error_evidence(judged: Trace, words: list[str]) -> None:
    """The finding about an error says which evidence was looked for, and what the limits took."""
    text = said("G304", judged)
    for word in words:
        assert word in text


@pytest.mark.parametrize("events", [("exception",), ("x", "exception")])
def test_an_exception_event_is_evidence(events: tuple[str, ...]) -> None:
    """An event named ``exception`` is enough, whatever ``error.type`` is."""
    assert judge(failed(*events), RULES).shape_ok


@pytest.mark.parametrize(
    ("judged", "words"),
    [
        (closed("capped"), ["spans were kept out by a cap", "max_trace_spans"]),
        (closed("capped", capped=1), ["1 span was kept out"]),
        (closed("root_ended", capped=12), ["12 spans were kept out"]),
        (closed("interrupted"), ["its process stopped", "its end unknown"]),
        (closed("interrupted", "tool.a"), ['1 span open: "tool.a"']),
        (closed("timed_out", "a", "b"), ['2 spans open: "a", "b"', "trace_timeout_ms"]),
        (closed("shut_down", *"abcdefg"), ['7 spans open: "a", "b", "c", "d", "e" and 2 more', "shutdown()"]),
        (closed("shut_down", *"abcdef"), ['"e" and 1 more']),
        (closed("shut_down", *"abcde"), ['"d", "e" |']),
        (closed("shut_down", "werkzeug.für.\N{SNOWMAN}"), ['"werkzeug.für.\N{SNOWMAN}"']),
        (closed("shut_down", ""), ['1 span open: "0000000000000001"']),
    ],
)
def test_whole(judged: Trace, words: list[str]) -> None:
    """The finding about a cut capture says what was lost: a count, or the first five of the open spans."""
    text = said("G401", judged)
    for word in words:
        assert word in text


def test_timed_out_without_a_root() -> None:
    """A trace that timed out without a local root is neither rooted nor whole."""
    judged = trace(REMOTE_ROOT, TOOL, completion=Completion("timed_out"))
    first, second = judge(judged, RULES).violations
    assert (first.rule, second.rule) == ("G102", "G401")
    assert "with no root" in second.message


@pytest.mark.parametrize("reason", ["root_ended", "timed_out", "shut_down"])
def test_a_trace_with_nothing_open_is_whole(reason: str) -> None:
    """Waiting for quiet or shutting down takes nothing from a trace with a root and nothing open."""
    assert judge(closed(reason), RULES).shape_ok
