"""Conventions of the user's own: what they can be, what they may do, and what is said of one that crashes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace
from opentelemetry.sdk.trace import TracerProvider

from otel_gate import Arguments, Convention, Found, GateSpanProcessor, Meaning, Seen, argument_hash
from otel_gate.conventions import CONVENTIONS, TABLE, table
from otel_gate.conventions.normalise import normalise
from otel_gate.conventions.own import of_user
from otel_gate.conventions.unknown import CRASHED
from otel_gate.core.gate import judge
from otel_gate.core.model import Resource, Scope, Span, Trace
from otel_gate.core.record import decode, make, record_bytes
from otel_gate.errors import SettingsError
from otel_gate.rules import RULES
from tests.sdk.conftest import records

if TYPE_CHECKING:
    from otel_gate import Record

ROOT = Path(__file__).parents[2]
GIVEN = {"city": "Bern"}


def shop(span: Span, scope: Scope, resource: Resource) -> Meaning | None:
    """Read the spans of a framework that nobody else has."""
    if scope.name != "shop" or span.name != "do" or not isinstance(resource, Resource):
        return None
    name = Found(str(span.attributes["what"]), "attributes.what")
    return Meaning("tool", name, Arguments(span.attributes["with"], "attributes.with"), run_id=Found("r-1", "there"))


def crash(_span: Span, _scope: Scope, _resource: Resource) -> Meaning | None:
    """Crash on every span."""
    message = "no \x1b[31mred\ud800"
    raise KeyError(message)


def shop_as_seen(seen: Seen) -> Meaning | None:
    """Read the same spans as CONTRIBUTING writes it, from one argument."""
    return shop(seen.span, seen.scope, seen.resource)


def leave(_seen: Seen) -> Meaning | None:
    """Try to end the process."""
    sys.exit("with a text")


def interrupted(_seen: Seen) -> Meaning | None:
    """Do as if the user had pressed a key."""
    raise KeyboardInterrupt


class Unsayable(Exception):  # noqa: N818 - an error that can't even be said
    """An error whose text is an error."""

    def __str__(self) -> str:
        raise ValueError


def unsayable(*_: object) -> Meaning | None:
    """Crash so that not even the error can be said."""
    raise Unsayable


MINE: tuple[Any, ...] = (Convention("of a scope", lambda seen: shop(*seen), ("shop",), switch="turn it on"), crash)


def run() -> Trace:
    """Return a run with one call that no convention of ours knows."""
    root = Span("01" * 8, "", "agent", 1, 9, "unset", {}, (), scope=0, resource=0)
    call = Span("02" * 8, "01" * 8, "do", 2, 3, "unset", {"what": "find", "with": GIVEN}, (), scope=0, resource=0)
    return Trace("ab" * 16, (root, call), (Resource(),), (Scope("shop"),))


def test_nothing_set_is_our_own_table() -> None:
    """Without conventions of the user's own nothing is built."""
    assert table(()) is TABLE


def test_a_function_recognises_a_call_that_ours_do_not_know() -> None:
    """Its name, arguments and run id are used like any other, and the scope is unknown no more."""
    assert not normalise(run(), TABLE).trace.tools
    found = normalise(run(), table((shop,))).trace
    [call] = found.tools
    assert (call.attributes["tool.name"], call.attributes["input.sha256"]) == ("find", argument_hash(GIVEN))
    assert call.recognised is not None
    assert (call.recognised.convention, call.recognised.sources["tool.name"]) == ("shop", "attributes.what")
    assert found.roots[0].attributes["run.id"] == "r-1"
    assert found.source.notes == ()


def test_it_is_asked_before_ours() -> None:
    """A span that ours would read is what the user's own says that it is."""
    span = Span("01" * 8, "", "tool.x", 1, 2, "unset", {"openinference.span.kind": "TOOL"}, ())
    trace = Trace("ab" * 16, (span,))
    assert normalise(trace, TABLE).trace.tools
    told = normalise(trace, table([lambda *_: Meaning("other")])).told
    assert (told[0].operation, told[0].convention) == ("other", "<lambda>")


@pytest.mark.parametrize(
    ("value", "names"),
    [
        (shop, ["shop"]),
        (shop_as_seen, ["shop_as_seen"]),
        (MINE[0], ["of a scope"]),
        (MINE, ["of a scope", "crash"]),
        ([shop, crash], ["shop", "crash"]),
        (f"{__name__}:shop", ["shop"]),
        (f"{__name__}:MINE", ["of a scope", "crash"]),
    ],
)
def test_a_value_stands_for_one_or_several(value: Any, names: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A function, a Convention, several of them, or the name of any of these."""
    monkeypatch.setitem(sys.modules, __name__, sys.modules[__name__])
    found = table((value,)).conventions
    assert [one.name for one in found[: -len(CONVENTIONS)]] == names


def test_a_convention_of_a_scope_is_asked_there_alone() -> None:
    """Its scopes and its switch count as those of ours do."""
    lacking = Convention("mine", lambda _seen: Meaning("tool", arguments=Arguments(unhashed="absent")), ("sh*",), "on")
    call = normalise(run(), table((lacking,))).trace.spans[1]
    assert call.recognised
    assert (call.recognised.unhashed, call.recognised.switch) == ("absent", "on")
    assert not normalise(run(), table((lacking._replace(scopes=("other",)),))).trace.tools


def test_a_function_of_one_argument_is_shown_what_is_seen() -> None:
    """It says what the one of three arguments says."""
    assert normalise(run(), table((shop_as_seen,))).trace.tools[0].attributes["tool.name"] == "find"


@pytest.mark.parametrize("function", [lambda: None, lambda _a, _b: None, lambda _a, _b, _c, _d: None, lambda *, a: a])
def test_a_function_that_takes_neither_is_refused_before_the_first_span(function: Any) -> None:
    """The error says what it takes."""
    with pytest.raises(SettingsError, match=r"expected a function \(span, scope, resource\) or \(seen\).*<lambda>\("):
        table((function,))
    with pytest.raises(SettingsError, match="expected a function"):
        table((Convention("x", function),))


NO_FUNCTION: Any = 7
NO_CONVENTIONS: tuple[Any, ...] = (
    7,
    Meaning,
    {},
    (shop, 7),
    Convention("x", NO_FUNCTION),
    Convention("x", MINE[0].recognise, NO_FUNCTION),
)


@pytest.mark.parametrize("value", NO_CONVENTIONS)
def test_anything_else_is_said_to_be_none(value: Any) -> None:
    """What is no convention is refused before the first span."""
    with pytest.raises(SettingsError, match="expected a function"):
        table((value,))


WRONG = {
    "crash: KeyError (span": crash,
    "leave: SystemExit (span": leave,
    "Unsayable": unsayable,
    "expected a Meaning or None, got str": lambda *_: "tool",
    "expected a Meaning or None, got tuple": lambda *_: ("tool",),
    "got another str": lambda *_: Meaning("call"),  # type: ignore[arg-type]
    "expected name as a Found, got str": lambda *_: Meaning("tool", "find"),  # type: ignore[arg-type]
    "expected run_id as a text, got int": lambda *_: Meaning(run_id=Found(7)),  # type: ignore[arg-type]
    "expected arguments as Arguments, got dict": lambda *_: Meaning("tool", arguments={}),  # type: ignore[arg-type]
    "expected unhashed as one of": lambda *_: Meaning(arguments=Arguments(unhashed="gone")),  # type: ignore[arg-type]
    "expected calls as a tuple, got list": lambda *_: Meaning(calls=[]),  # type: ignore[arg-type]
    "expected calls that are Requested, got str": lambda *_: Meaning(calls=("x",)),  # type: ignore[arg-type]
    "UnicodeEncodeError": lambda *_: Meaning("tool", Found("\ud800", "x")),
    "<lambda>: TypeError (span": lambda seen: 1 + seen,
}


@pytest.mark.parametrize("said", WRONG)
def test_one_that_crashes_is_a_note_and_the_others_are_asked_on(said: str) -> None:
    """One note says which, what and where first; the call is recognised by the next, and the record can be written."""
    found = normalise(run(), table((WRONG[said], shop))).trace
    assert len(found.tools) == 1
    [note] = [note for note in found.source.notes if note.code == CRASHED]
    assert note.count == 2
    assert said in note.first
    assert note.first.startswith(f"{WRONG[said].__name__}: ")
    assert note.first.endswith(f"(span {'01' * 8})")
    made = make(found, judge(found, RULES))
    assert decode(record_bytes(made)).source.notes == found.source.notes
    again = normalise(found, table((shop,))).trace
    assert CRASHED not in {note.code for note in again.source.notes}


def test_a_key_that_the_user_presses_ends_the_run() -> None:
    """It is no error of the convention."""
    with pytest.raises(KeyboardInterrupt):
        normalise(run(), table((interrupted,)))


def test_a_meaning_of_odd_arguments_is_hashed_all_the_same() -> None:
    """What is no JSON value is hashed as a native call with it would be."""
    odd = normalise(
        run(), table([lambda span, *_: Meaning("tool", arguments=Arguments({1, 2}, "x")) if span else None])
    )
    assert odd.trace.spans[1].attributes["input.sha256"] == argument_hash({1, 2})


def traced(folder: Path, **settings: Any) -> Record:
    """Run an agent of that framework through a processor, and return its record."""
    processor = GateSpanProcessor(store=folder, **settings)
    provider = TracerProvider()
    provider.add_span_processor(processor)
    with provider.get_tracer("shop").start_as_current_span("agent") as root:
        root.add_event("x")
        with provider.get_tracer("shop").start_as_current_span("do", attributes={"what": "find", "with": "{}"}):
            pass
    provider.shutdown()
    [made] = records(folder)
    return made


def test_the_processor_takes_them(tmp_path: Path) -> None:
    """In the agent's process they are a setting like rules."""
    made = traced(tmp_path, conventions=[shop])
    assert (made.verdict.shape_ok, made.verdict.tools, made.run_id) == (True, 1, "r-1")


def test_the_processor_refuses_what_is_none(tmp_path: Path) -> None:
    """A keyword is code: what is wrong with it is raised at once."""
    for value in (7, [7], [int]):
        with pytest.raises(SettingsError, match=r"expected a (list of )?function"):
            GateSpanProcessor(store=tmp_path, conventions=value)


def test_a_name_in_the_environment_that_leads_nowhere_breaks_no_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It is said in the log, and ours are in force."""
    monkeypatch.setenv("OTEL_GATE_CONVENTIONS", "nothing.there:X,os:sep")
    made = traced(tmp_path)
    assert made.verdict.tools == 0
    assert [note.code for note in made.source.notes] == ["unknown_scope"]
    assert [line.count("it is not in force") for line in caplog.messages] == [1, 1]


def test_the_example_of_the_documentation_finds_a_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is saved as it stands, named, and asked."""
    _, _, section = (
        (ROOT / "docs" / "frameworks.md").read_text(encoding="utf-8").partition("## A convention of your own")
    )
    code = section.partition("```python\n")[2].partition("```")[0]
    (tmp_path / "shop_spans.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    attributes = {"shop.kind": "tool", "shop.tool": "find", "shop.input": '{"city":"Bern"}', "shop.call_id": "c-1"}
    received = replace(run(), spans=(run().spans[0], replace(run().spans[1], attributes=attributes)))
    [call] = normalise(received, table(("shop_spans:recognise",))).trace.tools
    assert (call.attributes["tool.name"], call.attributes["input.sha256"]) == ("find", argument_hash(GIVEN))


def test_a_trouble_is_told_through_two_guards() -> None:
    """What was guarded once may be guarded again."""
    [twice] = of_user(of_user((crash,)))
    meaning = twice.recognise(Seen(run().spans[0]))
    assert meaning is not None
    assert "KeyError" in meaning.trouble
