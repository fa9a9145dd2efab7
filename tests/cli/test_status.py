"""``status``: both sums with both of their sides, of spans and of deliveries, and what journals still hold."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from otel_gate.store.accounts import Account, Accounts
from otel_gate.store.outbox import Answer
from tests.cli.conftest import document, without_hash
from tests.fakes import QuickFiles
from tests.gateway.resumed import gate
from tests.pipeline.driven import Agent, Driven

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Ran, Shelf

    Cli = Callable[..., Ran]


def agent(root: Path) -> Agent:
    """Make an agent whose run is recorded but for one span of another run, which is open still."""
    made = Agent(Driven(root, QuickFiles()), [])
    made.start(2, 20)
    made.start(2, 21, 20)
    made.end(2, 21, 20)
    made.end(1, 10)
    made.end(1, 10)
    made.pipeline.step()
    made.pipeline.flush(1)
    return made


def value(cli: Cli) -> dict[str, Any]:
    """Return the status as JSON."""
    found: dict[str, Any] = json.loads(cli("status", "--json").out)
    return found


def line(cli: Cli, word: str) -> str:
    """Return the only line that begins with a word."""
    [found] = [one for one in cli("status").lines if one.startswith(f"{word} ")]
    return found.removeprefix(word).strip()


def test_json_has_two_names(cli: Cli, shelf: Shelf) -> None:
    """``--json`` is ``--format json``."""
    shelf.put(document(), "otlp")
    assert cli("status", "--json") == cli("status", "--format", "json")


def test_the_accounts_have_every_term(cli: Cli, shelf: Shelf) -> None:
    """What was seen is said beside what became of it, in words and in JSON."""
    made = agent(shelf.root)
    assert line(cli, "accounts") == (
        "3 seen = 1 recorded + 1 exact duplicates + 0 capped + 0 unparsable + 1 open + 0 lost"
    )
    found = value(cli)["accounts"]
    assert (found["seen"], found["recorded"], found["duplicates"], found["open"]) == (3, 1, 1, 1)
    assert (found["traces"], found["balances"]) == (1, True)
    made.pipeline.shutdown(1)
    assert line(cli, "accounts").startswith("3 seen = 2 recorded + 1 exact duplicates")


def test_accounts_out_of_balance_are_said(cli: Cli, shelf: Shelf) -> None:
    """A sum that is wrong is not smoothed over."""
    shelf.store.accounts.write(Account("us", "sdk", Accounts(seen=5, recorded=4)))
    assert line(cli, "accounts").endswith(" + 0 lost: out of balance, otel-gate doctor")
    assert value(cli)["accounts"]["balances"] is False


def test_what_journals_hold_is_told(cli: Cli, shelf: Shelf) -> None:
    """Spans without a record are told apart by whether their process lives; those of an ended one are recovered."""
    made = agent(shelf.root)
    assert line(cli, "journals") == "1 of running processes: 1 span without a record, 1 not ended"
    made.pipeline.die()
    assert line(cli, "journals") == "1 of ended processes: 1 span without a record, 1 not ended (otel-gate recover)"
    assert value(cli)["journals"] == {
        "running": {"journals": 0, "spans": 0, "not_ended": 0}, "ended": {"journals": 1, "spans": 1, "not_ended": 1},
        "left": {"journals": 0, "spans": 0, "not_ended": 0},
    }  # fmt: skip
    assert cli("recover").code == 0
    found = value(cli)
    assert found["journals"]["ended"]["journals"] == 0
    assert (found["accounts"]["seen"], found["accounts"]["recorded"], found["accounts"]["open"]) == (3, 2, 0)


def test_what_a_gateway_left_open_is_gone_on_with(cli: Cli, shelf: Shelf) -> None:
    """Its journal is told apart from those that only a recovery reads: the next gateway goes on with it."""
    before = gate(shelf.root)
    before.arrive(1, 2, 1)
    before.pipeline.suspend(1)
    said = "1 of an ended gateway: 1 span without a record, 0 not ended (otel-gate serve goes on with it; "
    assert line(cli, "journals") == f"{said}otel-gate recover records it as it is)"
    found = value(cli)["journals"]
    assert (found["ended"]["journals"], found["left"]) == (0, {"journals": 1, "spans": 1, "not_ended": 0})


def test_what_is_no_message_is_not_counted(cli: Cli, shelf: Shelf) -> None:
    """An entry that is none of ours is passed over."""
    made = agent(shelf.root)
    made.pipeline.inbox.journal.append(b"none of ours")
    assert value(cli)["journals"]["running"]["spans"] == 1


@pytest.mark.parametrize("state", ["accepted", "rejected", "buried"])
def test_records_that_passed_are_in_one_state_each(cli: Cli, shelf: Shelf, state: str) -> None:
    """A record that may leave is in one state of a delivery, or was never owed; what is held back is told apart."""
    for number in range(1, 5):
        shelf.put(document(number), *["otlp"] * (number > 1))
    [claim] = shelf.store.outbox.claim("otlp", "us", 0, 1, 1)
    shelf.store.outbox.settle([(claim, Answer(state, claim.spans))], "us", 0)
    late = document(4)
    shelf.put(late | {"spans": [late["spans"][0] | {"span_id": "00000000000000ff", "parent_span_id": ""}]}, "otlp")
    first, second = sorted((state, "pending"))
    said = f"otlp: 3 = 1 {first} + 1 {second} + 1 not owed; 1 held, not well-formed any more"
    assert line(cli, "passed") == said
    assert value(cli)["passed"]["otlp"] == {
        "passed": 3, "states": {state: 1, "pending": 1}, "not_owed": 1, "held": 1, "gone": 0, "balances": True,
    }  # fmt: skip


def test_a_record_that_another_mode_holds_back_passed(cli: Cli, shelf: Shelf) -> None:
    """A delivery may be held by a process of another mode than the one that recorded it."""
    shelf.put(document(1), "otlp")
    shelf.store.database.execute("UPDATE outbox SET state = 'held'")
    assert line(cli, "passed") == "otlp: 1 = 1 held + 0 not owed"


def test_deliveries_out_of_balance_are_said(cli: Cli, shelf: Shelf) -> None:
    """A delivery of a record that may not leave is told."""
    shelf.put(document(1), "otlp")
    shelf.store.database.execute("UPDATE records SET forwardable = 0")
    assert line(cli, "passed") == "otlp: 0 = 1 pending + 0 not owed: out of balance, otel-gate doctor"
    assert value(cli)["passed"]["otlp"]["balances"] is False


def test_status_says_why_there_are_no_deliveries(cli: Cli, shelf: Shelf) -> None:
    """That no endpoint was set is said of records that would have been sent, and of no others."""
    shelf.root.mkdir()
    assert line(cli, "deliveries") == "none: there is no record"
    shelf.put(without_hash())
    assert line(cli, "deliveries") == "none: no record may leave"
    shelf.put(document(2))
    assert line(cli, "deliveries") == "none: no endpoint was set when these were recorded"
    assert (value(cli)["records"], value(cli)["forwardable"]) == (2, 1)


def test_copies_are_counted_once(cli: Cli, shelf: Shelf) -> None:
    """The number of exact duplicates is told by the accounts; the line of spans is of records."""
    agent(shelf.root)
    assert line(cli, "spans") == "1 in the store, 0 capped"
    assert cli("status").out.count("duplicate") == 1


def test_watching_where_there_is_no_store(cli: Cli) -> None:
    """Who wants to watch a gateway is told how to start one."""
    said = cli("status", "--watch")
    assert said.code == 66
    assert said.err.endswith("try --store PATH, or otel-gate serve\n")
