"""Every way through the repair, with a scripted model: what came out, and exactly how many requests went out."""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple

import pytest

from otel_gate.errors import UsageError
from otel_gate.toolcalls.model import Answer, Call, Tool
from otel_gate.toolcalls.repair import Repair, arepair, repair
from otel_gate.toolcalls.request import ChoiceRefused
from otel_gate.toolcalls.task import Policy, Task
from otel_gate.toolcalls.transitions import NEXT, is_end
from tests.toolcalls.scripted import (
    BAD,
    CLOCK,
    CUT,
    DEAL,
    DIALOGUE,
    GOOD,
    OTHER,
    TEXT,
    UNKNOWN,
    WEATHER,
    Scripted,
    as_coroutine,
)  # fmt: skip

TWO = (WEATHER, DEAL)
ONE = (WEATHER,)
REFUSED = ChoiceRefused("tool_choice")
NAMELESS = Answer((Call("", {"city": "Rome"}),))


class Way(NamedTuple):
    """A way through the table: the answers, the turn that each takes, and what the first was found to lack."""

    name: str
    answers: tuple[Answer, ...]
    turns: tuple[Any, ...]
    codes: tuple[str, ...] = ()
    tools: tuple[Tool, ...] = TWO
    due: bool = True


WAYS = (
    Way("a valid call", (GOOD,), ("valid",)),
    Way("a text, none due", (TEXT,), ("text",), due=False),
    Way("cut, then valid", (CUT, GOOD), ("truncated", "valid"), ("truncated", "malformed_json")),
    Way("cut, then text, none due", (CUT, TEXT), ("truncated", "text"), ("truncated", "malformed_json"), due=False),
    Way("cut twice", (CUT, CUT), ("truncated", "truncated"), ("truncated", "malformed_json")),
    Way("cut, none, chosen", (CUT, TEXT, GOOD), ("truncated", "no_tool", "valid"), ("truncated", "malformed_json")),
    Way(
        "cut, none, chosen, repaired", (CUT, TEXT, BAD, GOOD), ("truncated", "no_tool", "invalid", "valid"),
        ("truncated", "malformed_json"),
    ),
    Way(
        "cut, none, one visible", (CUT, TEXT, GOOD), ("truncated", "only_tool", "valid"),
        ("truncated", "malformed_json"), ONE,
    ),
    Way(
        "cut, none, none visible", (CUT, TEXT), ("truncated", "no_tools"),
        ("truncated", "unknown_tool", "malformed_json"), (),
    ),
    Way("cut, bad, repaired", (CUT, BAD, GOOD), ("truncated", "invalid", "valid"), ("truncated", "malformed_json")),
    Way("none, chosen", (TEXT, GOOD), ("no_tool", "valid"), ("no_call",)),
    Way("nameless, chosen", (NAMELESS, GOOD), ("no_tool", "valid"), ("missing_tool_name",)),
    Way("unknown, chosen", (UNKNOWN, GOOD), ("no_tool", "valid"), ("unknown_tool",)),
    Way("none, cut choice", (TEXT, CUT), ("no_tool", "truncated"), ("no_call",)),
    Way("none, no choice", (TEXT, TEXT), ("no_tool", "no_tool"), ("no_call",)),
    Way("none, invented", (TEXT, UNKNOWN), ("no_tool", "no_tool"), ("no_call",)),
    Way("none, chosen, repaired", (TEXT, BAD, GOOD), ("no_tool", "invalid", "valid"), ("no_call",)),
    Way("none, one visible", (TEXT, GOOD), ("only_tool", "valid"), ("no_call",), ONE),
    Way("unknown, one visible", (UNKNOWN, GOOD), ("only_tool", "valid"), ("unknown_tool",), ONE),
    Way("none, none visible", (TEXT,), ("no_tools",), ("no_call",), ()),
    Way("bad, repaired", (BAD, GOOD), ("invalid", "valid"), ("missing_field", "unknown_field")),
    Way("bad, still bad", (BAD, BAD), ("invalid", "invalid"), ("missing_field", "unknown_field")),
    Way("bad, cut", (BAD, CUT), ("invalid", "truncated"), ("missing_field", "unknown_field")),
    Way("bad, text", (BAD, TEXT), ("invalid", "no_tool"), ("missing_field", "unknown_field")),
    Way("bad, text, one visible", (BAD, TEXT), ("invalid", "no_tool"), ("missing_field", "unknown_field"), ONE),
    Way("bad, another tool", (BAD, OTHER), ("invalid", "wrong_tool"), ("missing_field", "unknown_field")),
    Way("bad, unknown tool", (BAD, UNKNOWN), ("invalid", "wrong_tool"), ("missing_field", "unknown_field"), ONE),
)  # fmt: skip


def states(way: Way) -> tuple[list[str], str]:
    """Follow the table: the states of a way, and its end."""
    gone = ["first"]
    for turn in way.turns:
        step = NEXT[gone[-1], turn]  # type: ignore[index]
        if is_end(step):
            return gone, step
        gone.append(step)
    message = "the way has no end"
    raise AssertionError(message)


def task(tools: tuple[Tool, ...] = TWO, *, due: bool = True, max_tokens: int | None = 64, **policy: Any) -> Task:
    return Task(DIALOGUE, tools, due, max_tokens, Policy(**policy))


def done(kind: str, received: Any, of: Task, model: Scripted) -> Repair:
    if kind == "sync":
        return repair(received, of, model)
    return asyncio.run(arepair(received, of, as_coroutine(model) if kind == "async" else model))


@pytest.mark.parametrize("kind", ["sync", "async", "sync model awaited"])
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
def test_a_way_is_the_table_s(way: Way, kind: str) -> None:
    """States, end and issues are those of the table, and each state after the first is exactly one request."""
    model = Scripted(*way.answers[1:])
    [outcome] = done(kind, way.answers[0], task(way.tools, due=way.due), model).outcomes
    gone, end = states(way)
    assert (list(outcome.states), outcome.kind) == (gone, end)
    assert (outcome.requests, len(model.asked), model.left) == (len(gone) - 1, len(gone) - 1, 0)
    assert tuple(issue.code for issue in outcome.issues) == way.codes
    assert (outcome.call is not None) == (end in ("valid", "repaired"))
    assert bool(outcome.left) == (end == "unresolved")


LEFT = {"truncated": "truncated", "invalid": "missing_field", "wrong_tool": "wrong_tool", "no_tools": "no_call"}


@pytest.mark.parametrize("way", [way for way in WAYS if states(way)[1] == "unresolved"], ids=lambda way: way.name)
def test_what_is_left_says_which_turn_was_the_last(way: Way) -> None:
    """An unresolved call goes to a person with the issues of the last answer, not with those of the first."""
    [outcome] = repair(way.answers[0], task(way.tools, due=way.due), Scripted(*way.answers[1:])).outcomes
    nameless = {"no_call", "unknown_tool"} if way.turns[-1] == "no_tool" else {LEFT.get(way.turns[-1])}
    assert outcome.left[0].code in nameless


def test_every_cell_of_the_table_has_a_way() -> None:
    """No transition stands in the table that the tests do not go through."""
    gone = {(state, turn) for way in WAYS for state, turn in zip(states(way)[0], way.turns, strict=True)}
    assert gone == set(NEXT)


def test_a_valid_call_is_untouched() -> None:
    """It comes back as the same object, and no request goes out even without a model."""
    [outcome] = repair(GOOD, task(), None).outcomes
    assert outcome.call is GOOD.calls[0]
    assert (outcome.requests, outcome.tokens, outcome.latency_ms) == (0, 0, 0)


def test_without_a_model_a_call_is_only_judged() -> None:
    """What does not fit is unresolved at once, with its issues."""
    [outcome] = repair(BAD, task(), None).outcomes
    assert (outcome.kind, outcome.requests) == ("unresolved", 0)
    assert [issue.code for issue in outcome.left] == ["missing_field", "unknown_field"]


def test_the_dialogue_is_unchanged() -> None:
    """Every request holds the caller's own messages; what is added stands apart from them."""
    model = Scripted(TEXT, BAD, GOOD)
    repair(CUT, task(), model)
    assert [request.messages for request in model.asked] == [DIALOGUE] * 3
    assert [bool(request.prompt) for request in model.asked] == [False, True, True]


def test_a_selection_shows_the_visible_tools_by_name_and_description_only() -> None:
    """No field stands in the selection prompt, no other tool, and the call is due but not locked."""
    model = Scripted(GOOD)
    repair(TEXT, task(), model)
    [request] = model.asked
    assert "weather: Say what the weather is." in request.prompt
    assert "create_deal: Open a deal." in request.prompt
    assert "clock" not in request.prompt
    assert "city" not in request.prompt
    assert (request.call_required, request.tool, request.tools) == (True, "", TWO)


def test_a_repair_is_locked_to_the_selected_tool() -> None:
    """The one tool, its card, the call as it came and the numbered issues are sent, and no other tool."""
    model = Scripted(GOOD)
    repair(BAD, task(), model)
    [request] = model.asked
    assert (request.call_required, request.tool, request.tools) == (True, "weather", ONE)
    assert "Required: city (string)" in request.prompt
    assert '{\\"town\\": \\"Rome\\"}' in request.prompt
    assert "\n1. Field city is required and missing" in request.prompt
    assert "\n2. Field town does not exist" in request.prompt
    assert "Fill all required fields from the dialogue, even if the call was empty" in request.prompt
    assert "create_deal" not in request.prompt


def test_without_a_card_the_schema_is_named() -> None:
    """The prompt then points at the list of tools."""
    model = Scripted(GOOD)
    repair(BAD, task(card=False), model)
    assert "Required:" not in model.asked[0].prompt
    assert "the schema of weather in the list of tools" in model.asked[0].prompt


def test_a_repair_of_a_nameless_call_names_all_that_its_fields_lack() -> None:
    """With one visible tool the arguments are judged as that tool's, so that one request is enough."""
    model = Scripted(GOOD)
    repair(Answer((Call("wether", {"town": "Rome"}),)), task(ONE), model)
    assert [line[:2] for line in model.asked[0].prompt.splitlines() if line[1:3] == ". "] == ["1.", "2.", "3."]


def test_a_text_that_names_a_tool_is_a_choice() -> None:
    """A selection that is answered by a bare name has its call written by the repair, whose issues are never none."""
    model = Scripted(Answer(text="`clock`."), Answer((Call("clock", {}),)))
    [outcome] = repair(TEXT, task((*TWO, CLOCK)), model).outcomes
    assert (outcome.kind, outcome.requests, outcome.call) == ("repaired", 2, Call("clock", {}))
    assert "1. A tool call is due" in model.asked[1].prompt


def test_a_call_written_as_text_is_taken_where_one_is_due() -> None:
    """A repair may be answered by JSON in words, as the prompt for models without tool calls asks."""
    model = Scripted(Answer(text='Here you are: {"city": "Rome"}'))
    [outcome] = repair(BAD, task(output="json"), model).outcomes
    assert outcome.call == Call("weather", {"city": "Rome"})
    assert 'Answer with one JSON object: {"name"' in model.asked[0].prompt


def test_a_text_with_a_call_in_it_is_a_call_only_where_one_is_due() -> None:
    """An answer may speak about JSON; where a call is due it is the call, and no request goes out."""
    spoken = Answer(text='I call {"name": "weather", "arguments": {"city": "Rome"}} now.')
    assert repair(spoken, task(), None).outcomes[0].kind == "valid"
    assert repair(spoken, task(due=False), None).outcomes[0].kind == "answered"


@pytest.mark.parametrize(
    ("given", "first", "used", "expected"),
    [
        (None, 256, 0, 1_024),
        (None, 2_000, 0, 4_000),
        (None, None, 900, 1_800),
        (100, 256, 0, 512),
        (600, 2_000, 0, 600),
    ],
)
def test_the_budget_of_a_request(given: int | None, first: int | None, used: int, expected: int) -> None:
    """By default it is twice the first one's and at least 1,024; one's own is at least 512."""
    model = Scripted(GOOD)
    repair(Answer(BAD.calls, output_tokens=used), task(max_tokens=first, budget=given), model)
    assert model.asked[0].max_tokens == expected


def test_an_answer_that_used_up_its_budget_is_cut_off() -> None:
    """The token cap is looked at beside the finish reason, of the first answer and of later ones."""
    first = Answer(GOOD.calls, finish_reason="stop", output_tokens=64)
    model = Scripted(Answer(GOOD.calls, finish_reason="stop", output_tokens=1_024))
    [outcome] = repair(first, task(), model).outcomes
    assert (outcome.kind, outcome.states) == ("unresolved", ("first", "again"))


def test_each_answer_is_held_to_its_own_budget() -> None:
    """More tokens than the first budget had are no sign of a cut in an answer that had a larger one."""
    longer = Answer(GOOD.calls, finish_reason="stop", output_tokens=100)
    assert repair(CUT, task(), Scripted(longer)).calls == GOOD.calls
    whole = Answer(GOOD.calls, finish_reason="stop", output_tokens=1_024)
    [outcome] = repair(BAD, task(), Scripted(whole)).outcomes
    assert [issue.code for issue in outcome.left] == ["truncated"]


def test_of_several_calls_only_the_ones_that_do_not_fit_are_repaired() -> None:
    """Each is judged, in order; each repair is one request, and the others stay as they came."""
    two = Answer((GOOD.calls[0], BAD.calls[0], OTHER.calls[0], Call("weather", {}, "4")))
    model = Scripted(GOOD, BAD)
    made = repair(two, task(), model)
    assert [one.kind for one in made.outcomes] == ["valid", "repaired", "valid", "unresolved"]
    assert [one.requests for one in made.outcomes] == [0, 1, 0, 1]
    assert (len(made.calls), len(made.unresolved), made.requests) == (3, 1, 2)


def test_of_several_calls_in_a_repair_the_first_of_the_tool_counts() -> None:
    """One was asked for, so no other is executed."""
    model = Scripted(Answer((OTHER.calls[0], *GOOD.calls, Call("weather", {"city": "Oslo"}))))
    made = repair(BAD, task(), model)
    assert made.calls == GOOD.calls


def test_a_larger_budget_counts_for_each_call() -> None:
    """After it, two requests are left for each call of the new answer."""
    model = Scripted(Answer((UNKNOWN.calls[0], UNKNOWN.calls[0])), BAD, GOOD, REFUSED, BAD)
    made = repair(CUT, task(), model)
    assert [one.kind for one in made.outcomes] == ["repaired", "unresolved"]
    assert [one.requests for one in made.outcomes] == [3, 2]


def test_a_refused_choice_is_sent_again_without_force() -> None:
    """It counts as a request, and later requests are not forced either."""
    model = Scripted(REFUSED, BAD, GOOD)
    [outcome] = repair(TEXT, task(), model).outcomes
    assert (outcome.kind, outcome.requests) == ("repaired", 3)
    assert [request.force for request in model.asked] == [True, False, False]


def test_no_fourth_request_goes_out() -> None:
    """Where refusals have used up the requests, the call is unresolved."""
    model = Scripted(TEXT, REFUSED, BAD, GOOD)
    [outcome] = repair(CUT, task(due=True), model).outcomes
    assert (outcome.kind, outcome.requests, model.left) == ("unresolved", 3, 1)


def test_a_failing_model_leaves_the_other_calls_alone() -> None:
    """The exception is kept in the outcome of the call that it concerns."""
    model = Scripted(TimeoutError("too slow"))
    made = repair(Answer((BAD.calls[0], GOOD.calls[0])), task(), model)
    assert [one.kind for one in made.outcomes] == ["unresolved", "valid"]
    assert isinstance(made.outcomes[0].error, TimeoutError)


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_an_answer_that_can_not_be_read_is_a_failing_model(kind: str) -> None:
    """What an answer raises while it is read is kept in the outcome, as what the model itself raises."""

    class Odd:
        def model_dump(self, **_: Any) -> Any:
            raise RuntimeError

    [outcome] = done(kind, BAD, task(), Scripted(Odd())).outcomes  # type: ignore[arg-type]
    assert (outcome.kind, type(outcome.error)) == ("unresolved", RuntimeError)


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_the_first_answer_can_be_asked_for_too(kind: str) -> None:
    """It is the agent's own request: not counted, without a prompt, with the agent's budget."""
    model = Scripted(BAD, GOOD)
    [outcome] = done(kind, None, task(), model).outcomes
    assert (outcome.kind, outcome.requests, len(model.asked)) == ("repaired", 1, 2)
    assert (model.asked[0].prompt, model.asked[0].max_tokens, model.asked[0].tools) == ("", 64, TWO)


def test_a_refused_choice_of_the_first_request_is_sent_again() -> None:
    """The same holds where the guard asks first."""
    model = Scripted(REFUSED, GOOD)
    assert repair(None, task(), model).calls == GOOD.calls


def test_a_failing_first_request_is_the_caller_s() -> None:
    """There is no call yet that could be unresolved."""
    with pytest.raises(TimeoutError):
        repair(None, task(), Scripted(TimeoutError()))


def test_what_it_cost_is_told() -> None:
    """Tokens in and out and the time of the model's answers, by the clock that was given."""
    ticks = iter([1.0, 1.5])
    [outcome] = repair(BAD, task(), Scripted(GOOD), clock=lambda: next(ticks)).outcomes
    assert (outcome.tokens, outcome.latency_ms) == (27, 500)


def test_an_asynchronous_model_needs_the_asynchronous_call() -> None:
    """The error says so instead of a coroutine being judged."""
    with pytest.raises(UsageError, match="asynchronous"):
        repair(BAD, task(), as_coroutine(Scripted(GOOD)))


@pytest.mark.parametrize("language", ["en", "ru", "fa"])
def test_prompts_and_issues_are_in_one_language(language: str) -> None:
    """The language of the policy is that of the prompt and of the issues in it."""
    model = Scripted(GOOD)
    repair(BAD, task(language=language), model)
    latin = sum(one.isascii() and one.isalpha() for one in model.asked[0].prompt)
    other = sum(one.isalpha() and not one.isascii() for one in model.asked[0].prompt)
    assert (other > latin) == (language != "en")
