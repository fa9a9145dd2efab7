"""``deliveries``, and what ``show`` and ``why`` say of them: states, attempts, times and answers."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from otel_gate.store.outbox import STATES, Answer
from tests.cli.conftest import document, without_hash

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Ran, Shelf

    Cli = Callable[..., Ran]

FIRST, SECOND, THIRD = (f"{number:032x}" for number in (0xA0 << 120, 0xB0 << 120, 0xC0 << 120))
NOON = 1_700_000_000 * 10**9
HEAD = ["state", "trace", "to", "sent", "attempts", "owed since", "last attempt", "next attempt", "last answer"]
SAID = {
    "accepted": Answer("accepted", 2, 0, "OK"),
    "partial": Answer("partial", 2, 0, "HTTP 200", "1 spans rejected: old", 3),
    "rejected": Answer("rejected", 0, 0, "HTTP 400", "no"),
    "pending": Answer("pending", 0, NOON + 90 * 10**9, "HTTP 503", "busy"),
    "buried": Answer("buried", 0, 0, "unreadable", "gone", 0),
}


def settle(shelf: Shelf, state: str, to: str = "otlp") -> None:
    """Answer the longest waiting delivery to a destination."""
    outbox = shelf.store.outbox
    [claim] = outbox.claim(to, "us", NOON, 10**9, 1)
    outbox.settle([(claim, SAID[state])], "us", NOON)


def cells(ran: Ran) -> list[list[str]]:
    """Return the cells of each line but the head."""
    head, *lines = [re.split(" {2,}", line) for line in ran.lines]
    assert head == HEAD
    return lines


@pytest.fixture
def filled(shelf: Shelf) -> Shelf:
    """Give a store with a delivery that was refused, one that waits, and one trace owed to two destinations."""
    shelf.store.now_ns = lambda: NOON
    for number, names in ((0xA0 << 120, ["otlp"]), (0xB0 << 120, ["otlp"]), (0xC0 << 120, ["otlp", "team"])):
        shelf.put(document(number), *names)
    settle(shelf, "rejected")
    settle(shelf, "pending")
    return shelf


def test_every_delivery_is_a_line(cli: Cli, filled: Shelf) -> None:
    """State, trace, destination, spans, attempts, times and the last answer are told, the newest first."""
    ran = cli("deliveries")
    assert ran.code == 0
    noon, later = "2023-11-14 22:13:20Z", "2023-11-14 22:14:50Z"
    assert cells(ran) == [
        ["pending", THIRD, "team", "0/2", "0", noon, "-", "now", "-"],
        ["pending", THIRD, "otlp", "0/2", "0", noon, "-", "now", "-"],
        ["pending", SECOND, "otlp", "0/2", "1", noon, noon, later, "HTTP 503 busy"],
        ["rejected", FIRST, "otlp", "0/2", "1", noon, noon, "-", "HTTP 400 no"],
    ]
    assert filled.root.exists()


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ("c0", [THIRD, THIRD]), ("--to team", [THIRD]), ("--state rejected", [FIRST]),
        ("--state pending --to otlp", [THIRD, SECOND]), ("c --to otlp", [THIRD]), ("--state buried", []),
        ("--to nobody", []),
    ],
)  # fmt: skip
def test_only_what_is_asked_for(options: str, found: list[str], cli: Cli, filled: Shelf) -> None:
    """By the beginning of a trace id, destination and state; JSON holds the same; none is said on stderr."""
    ran = cli("deliveries", *options.split())
    assert [line[1] for line in cells(ran)] == found if found else ran.out == ""
    assert (f"no such deliveries in {filled.root}" in ran.err) is (not found)
    value = json.loads(cli("deliveries", *options.split(), "--format", "json").out)
    assert value["schema"] == "otel-gate/deliveries/1"
    assert [one["trace_id"] for one in value["deliveries"]] == found


def test_json_has_everything_that_is_known(cli: Cli, filled: Shelf) -> None:
    """Times are nanoseconds, and nothing is shortened."""
    [one] = json.loads(cli("deliveries", FIRST, "--format", "json").out)["deliveries"]
    place = filled.store.index.place_of([FIRST])[FIRST]
    assert one == {
        "destination": "otlp", "state": "rejected", "spans": 2, "sent": 0, "attempts": 1, "code": "HTTP 400",
        "message": "no", "next_ns": 0, "updated_ns": NOON, "owed_ns": NOON, "tried_ns": NOON, "traces": 1,
        "trace_id": FIRST, "place": place,
    }  # fmt: skip


def test_what_the_limit_keeps_back_is_said(cli: Cli, filled: Shelf) -> None:
    """There are more lines than asked for."""
    ran = cli("deliveries", "--limit", "3")
    assert (len(cells(ran)), ran.err) == (3, "otel-gate: there are more; --limit 30 shows them\n")
    assert filled.root.exists()


def test_a_store_that_owes_nothing(cli: Cli, shelf: Shelf) -> None:
    """A trace that is not well-formed has no delivery."""
    shelf.put(without_hash(1), "otlp")
    assert cli("deliveries")[:] == (0, "", f"otel-gate: no deliveries in {shelf.root}\n")


def test_an_unknown_state_names_all(cli: Cli, filled: Shelf) -> None:
    """A state that there is not is a usage error."""
    ran = cli("deliveries", "--state", "gone")
    assert ran.code == 64
    assert all(state in ran.err for state in STATES)
    assert filled.root.exists()


def test_show_tells_attempts_and_times(cli: Cli, filled: Shelf) -> None:
    """Below each delivery stands since when it is owed, when it was tried last, and when it is tried next."""
    lines = cli("show", SECOND).lines
    at = lines.index("deliveries")
    assert lines[at + 1].startswith("  otlp: still owed, 0 of 2 spans sent, 1 attempt, last answer: HTTP 503 busy")
    times = "owed since 2023-11-14 22:13:20Z, last attempt 2023-11-14 22:13:20Z"
    assert lines[at + 2] == f"    {times}, next attempt 2023-11-14 22:14:50Z"
    assert f"    {times}" in cli("show", FIRST).lines
    assert "    owed since 2023-11-14 22:13:20Z, last attempt -, next attempt now" in cli("show", THIRD).lines
    assert filled.root.exists()


def test_a_partial_success_of_a_batch_says_so(cli: Cli, shelf: Shelf) -> None:
    """Which of the traces is meant is not known, and that is told wherever the answer is."""
    shelf.put(document(0xA0 << 120), "otlp")
    settle(shelf, "partial")
    said = "HTTP 200 1 spans rejected: old (of a batch of 3 traces)"
    assert cells(cli("deliveries"))[0][-1] == said
    for command in ("show", "why"):
        assert any(line.strip().endswith(f"last answer: {said}") for line in cli(command, FIRST).lines)


@pytest.mark.parametrize("state", ["rejected", "buried"])
def test_why_says_how_it_is_sent_again(state: str, cli: Cli, shelf: Shelf) -> None:
    """What was refused or given up names the command that owes it again."""
    shelf.put(document(0xA0 << 120), "otlp")
    settle(shelf, state)
    assert cli("why", FIRST).lines[-1].endswith("otel-gate forward --retry-buried")
