"""The pytest plugin in test runs of a user's own: what it collects, says, accepts and leaves alone."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

import pytest

from otel_gate.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable

    Run = Callable[..., pytest.RunResult]

PASSES = """
import agent

def test_refund(otel_gate):
    agent.run()
    otel_gate.assert_shape_ok()
"""
FAILS = """
import agent

def test_refund(otel_gate):
    agent.orphan()
    otel_gate.assert_shape_ok()
"""
GOLDEN = """
import agent

def test_refund(otel_gate):
    agent.run({arguments})
    otel_gate.assert_matches_golden("refund")
"""
MANY = """
import agent, pytest

@pytest.mark.parametrize("number", range(8))
def test_many(otel_gate, number):
    agent.run(str(number), tools=("search",) * (number + 1))
    otel_gate.assert_matches_golden(f"many-{number}")
    otel_gate.assert_shape_ok()
"""


def test_a_well_formed_run_passes(run_pytest: Run) -> None:
    """An agent that uses the global provider is collected, and its run id is the name of the test."""
    more = "    assert otel_gate.traces[0].roots[0].attributes['run.id'] == 'test_agent.py::test_refund'\n"
    run_pytest(PASSES + more).assert_outcomes(passed=1)


def test_a_bad_shape_fails_with_its_violations(run_pytest: Run) -> None:
    """The message names the rules, the span and what to try, and the traceback ends in the user's own line."""
    result = run_pytest(FAILS)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            ">       otel_gate.assert_shape_ok()",
            "E       AssertionError: not_ok trace_id=* G302 G303",
            "E         G302 tool-name span=* try: *",
            "E         G303 tool-input-hash span=* try: *",
        ]
    )
    result.stdout.no_fnmatch_line("*collected.py*")


def test_nothing_collected_fails(run_pytest: Run) -> None:
    """A test whose agent emits nothing does not pass."""
    result = run_pytest("def test_none(otel_gate): otel_gate.assert_shape_ok()")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*no span began during this test*otel_gate.watch(provider)*"])


def test_an_open_span_is_not_whole(run_pytest: Run) -> None:
    """A trace that is judged before its root has ended is not well-formed, and the open span is named."""
    result = run_pytest("""
        from opentelemetry import trace

        def test_open(otel_gate):
            with trace.get_tracer("x").start_as_current_span("agent.run"):
                otel_gate.assert_shape_ok()
    """)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*G401 whole*agent.run*"])


def test_each_test_has_its_own_spans(run_pytest: Run) -> None:
    """Spans of the test before, and those that began before the fixture, are not collected."""
    run_pytest("""
        import agent, pytest
        from opentelemetry import trace

        KEPT = []

        @pytest.fixture
        def outside():
            trace.set_tracer_provider(__import__("opentelemetry.sdk.trace").sdk.trace.TracerProvider())
            with trace.get_tracer("x").start_as_current_span("outside"):
                yield

        def test_first(outside, otel_gate):
            assert otel_gate.traces == ()

        @pytest.mark.parametrize("number", [1, 2])
        def test_next(otel_gate, number):
            agent.run()
            assert len(otel_gate.traces) == 1
            assert len(otel_gate.traces[0].spans) == 2
            KEPT.append(otel_gate)
            assert [len(one.traces) for one in KEPT] == [1] * number
    """).assert_outcomes(passed=3)


def test_providers_of_their_own(run_pytest: Run) -> None:
    """The test's own provider is collected, and so is one that the agent made; what is no provider is refused."""
    run_pytest("""
        import agent, pytest
        from opentelemetry import trace
        from opentelemetry.sdk.trace import TracerProvider
        from otel_gate.errors import UsageError

        def test_own(otel_gate):
            agent.run(tools=(), tracer=otel_gate.provider.get_tracer("x"))
            otel_gate.assert_shape_ok()

        def test_agents_own(otel_gate):
            provider = TracerProvider()
            otel_gate.watch(provider)
            otel_gate.watch(provider)
            agent.run(tools=(), tracer=provider.get_tracer("x"))
            assert [len(one.spans) for one in otel_gate.traces] == [1]

        def test_none(otel_gate):
            with pytest.raises(UsageError, match="takes span processors"):
                otel_gate.watch(trace.NoOpTracerProvider())
    """).assert_outcomes(passed=3)


def test_a_golden_is_accepted_then_compared(run_pytest: Run, pytester: pytest.Pytester) -> None:
    """Without its golden a test fails and says how to accept; with it the same run passes, and another one fails."""
    missing = run_pytest(GOLDEN.format(arguments=""))
    missing.assert_outcomes(failed=1)
    missing.stdout.fnmatch_lines(["*AssertionError: golden/refund.json*--otel-gate-update*test_agent.py::test_refund*"])
    accepted = run_pytest(GOLDEN.format(arguments=""), "--otel-gate-update")
    accepted.assert_outcomes(passed=1)
    accepted.stdout.fnmatch_lines(["otel-gate: accepted golden/refund.json"])
    assert json.loads((pytester.path / "golden" / "refund.json").read_bytes())["schema"] == "otel-gate/golden/1"
    run_pytest(GOLDEN.format(arguments="")).assert_outcomes(passed=1)
    other = run_pytest(GOLDEN.format(arguments='"letters", tools=("search", "escalate")'))
    other.assert_outcomes(failed=1)
    other.stdout.fnmatch_lines(["E *DIFFERENT*2 changes*", "E *search*argument changed*", "E *escalate*new tool call*"])
    other.stdout.no_fnmatch_line("*--all*")


def test_an_update_says_what_it_wrote_only(run_pytest: Run, pytester: pytest.Pytester) -> None:
    """An update that changes nothing writes nothing; a run that is not well-formed is never accepted."""
    run_pytest(GOLDEN.format(arguments=""), "--otel-gate-update").assert_outcomes(passed=1)
    again = run_pytest(GOLDEN.format(arguments=""), "--otel-gate-update")
    again.stdout.no_fnmatch_line("otel-gate: accepted*")
    before = (pytester.path / "golden" / "refund.json").read_bytes()
    bad = run_pytest(GOLDEN.format(arguments="").replace("agent.run", "agent.orphan"), "--otel-gate-update")
    bad.assert_outcomes(failed=1)
    assert (pytester.path / "golden" / "refund.json").read_bytes() == before


def test_what_does_not_count_is_named_in_the_test(run_pytest: Run) -> None:
    """A view lets a test say which differences do not count."""
    run_pytest(GOLDEN.format(arguments=""), "--otel-gate-update").assert_outcomes(passed=1)
    lenient = GOLDEN.format(arguments='tools=("search", "log")').replace(
        '"refund")', '"refund", __import__("otel_gate.core.diff").core.diff.View(allow_new=("*log*",)))'
    )
    run_pytest(lenient).assert_outcomes(passed=1)


def test_xdist_collects_and_updates(run_pytest: Run, pytester: pytest.Pytester) -> None:
    """Workers accept golden traces and compare with them as one process does, and the controller names them."""
    pytest.importorskip("xdist", reason="pytest-xdist is not installed")
    accepted = run_pytest(MANY, "-n", "2", "--otel-gate-update")
    accepted.assert_outcomes(passed=8)
    assert sorted(path.name for path in (pytester.path / "golden").iterdir()) == [f"many-{n}.json" for n in range(8)]
    accepted.stdout.fnmatch_lines(["otel-gate: accepted *many-*.json"] * 8)
    run_pytest(MANY, "-n", "2").assert_outcomes(passed=8)
    run_pytest(MANY.replace("number + 1", "number + 2"), "-n", "2").assert_outcomes(failed=8)


def test_asyncio_tests_are_collected(run_pytest: Run) -> None:
    """An async test whose tools run at the same time is judged like any other."""
    pytest.importorskip("pytest_asyncio", reason="pytest-asyncio is not installed")
    run_pytest(
        """
        import asyncio, pytest
        from opentelemetry import trace
        from otel_gate import tool_span

        async def call(name):
            with tool_span(name, {"n": 1}):
                await asyncio.sleep(0)

        @pytest.mark.asyncio
        async def test_async(otel_gate):
            with trace.get_tracer("x").start_as_current_span("agent.run"):
                await asyncio.gather(call("a"), call("b"))
            otel_gate.assert_shape_ok()
            assert len(otel_gate.traces[0].spans) == 3
        """,
        "-o", "asyncio_default_fixture_loop_scope=function",
    ).assert_outcomes(passed=1)  # fmt: skip


def test_pytests_own_report_has_the_hash(run_pytest: Run, pytester: pytest.Pytester) -> None:
    """JUnit XML of pytest's own carries the id_hash and the verdict of each trace, in a failed test too."""
    for test, verdict in ((PASSES, "true"), (FAILS, "false")):
        run_pytest(test, "--junitxml=out.xml")
        properties = ET.parse(pytester.path / "out.xml").iter("property")  # noqa: S314 - of our own making
        given = {one.attrib["name"]: one.attrib["value"] for one in properties}
        assert len(given["id_hash"]) == 64
        assert given["shape_ok"] == verdict


def test_a_store_keeps_the_records(run_pytest: Run, pytester: pytest.Pytester) -> None:
    """With otel_gate_store set, each collected trace has a record, the refused ones too."""
    for test in (PASSES, FAILS):
        run_pytest(test, "-o", "otel_gate_store=kept")
    files = sorted((pytester.path / "kept" / "records").rglob("*.json"))
    verdicts = [json.loads(path.read_bytes())["verdict"]["shape_ok"] for path in files]
    assert sorted(verdicts) == [False, True]
    Store(pytester.path / "kept").close()


@pytest.mark.parametrize(
    ("setting", "left"),
    [("KEEP_ARGUMENTS=false", None), ("KEEP_ARGUMENTS=flase", None), ("REDACT=agent:redact", "***")],
)
def test_a_store_keeps_no_content_that_is_to_be_withheld(
    run_pytest: Run, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, setting: str, left: str | None
) -> None:
    """The settings that protect content hold for the records of tests too; the verdict is the same."""
    name, _, value = setting.partition("=")
    monkeypatch.setenv(f"OTEL_GATE_{name}", value)
    test = """
        from opentelemetry import trace

        def test_agent(otel_gate):
            with trace.get_tracer("agent").start_as_current_span("agent.run", attributes={"input.value": "hunter2"}):
                pass
            otel_gate.assert_shape_ok()
    """
    pytester.makepyfile(agent="def redact(key, value): return '***'")
    run_pytest(test, "-o", "otel_gate_store=kept").assert_outcomes(passed=1)
    [path] = (pytester.path / "kept" / "records").rglob("*.json")
    [span] = json.loads(path.read_bytes())["spans"]
    assert span["attributes"].get("input.value") == left
    assert span["redacted"] == ["input.value"]


def test_nothing_heavy_is_loaded_before_the_fixture(run_pytest: Run) -> None:
    """A test run that does not use the fixture loads no OpenTelemetry, gRPC or msgspec for it, and nothing of ours."""
    run_pytest("""
        import sys

        def test_modules():
            heavy = ("opentelemetry", "grpc", "google.protobuf", "msgspec", "sqlite3")
            assert [name for name in heavy if name in sys.modules] == []
            ours = sorted(name for name in sys.modules if name.startswith("otel_gate"))
            assert ours == ["otel_gate", "otel_gate.pytest_plugin"]
    """, "-p", "no:hypothesispytest", "-p", "no:xdist", "-p", "no:cov", "-p", "no:langsmith_plugin", "-p", "no:logfire",
    ).assert_outcomes(passed=1)  # fmt: skip


def test_hostile_names_can_not_act(run_pytest: Run) -> None:
    """What a span is called reaches the terminal as text."""
    result = run_pytest(r"""
        from opentelemetry import trace

        def test_hostile(otel_gate):
            with trace.get_tracer("x").start_as_current_span("tool.\x1b[31m\n::error::x"):
                pass
            otel_gate.assert_shape_ok()
    """)
    result.assert_outcomes(failed=1)
    shown = [line for line in result.outlines if "G302" in line]
    assert shown
    assert not any("\x1b" in line for line in shown)
    assert not any(line.lstrip("E ").startswith("::") for line in result.outlines)
