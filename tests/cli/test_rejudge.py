"""``rejudge``: records under other rules, and what is owed then."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.conftest import document, without_hash

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Ran, Shelf

    Cli = Callable[..., Ran]

GOOD, BAD = f"{0xA0 << 120:032x}", f"{0xB0 << 120:032x}"
STRICT = ("--rules", "tests.cli.own_rules:no_search")


@pytest.fixture
def filled(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> Shelf:
    """Give a store with a well-formed trace that is owed and one that G303 refuses, and an endpoint."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    shelf.put(document(0xA0 << 120), "otlp")
    shelf.put(without_hash(0xB0 << 120), "otlp")
    return shelf


def test_what_changes_is_a_line(cli: Cli, filled: Shelf) -> None:
    """What was violated and what is now, and a sum; the record, the index and the outbox say so too."""
    ran = cli("rejudge", *STRICT)
    assert (ran.code, ran.err) == (0, "")
    assert ran.lines == [
        f"{GOOD}  shape_ok -> no_search",
        f"{BAD}  G303 -> G303 no_search",
        "2 records judged again: 0 now shape_ok, 1 no longer, 1 with something else violated, 0 as before",
    ]
    assert filled.store.outbox.counts() == {"otlp": {"held": 1}}
    assert cli("why", GOOD).lines[1] == "not exported: 1 violation"
    assert cli("show", GOOD).lines[-2:][0].startswith("  revision 1: 2 spans, shape_ok")
    assert cli("rejudge").lines[-1] == (
        "2 records judged again: 1 now shape_ok, 0 no longer, 1 with something else violated, 0 as before"
    )
    assert filled.store.outbox.counts() == {"otlp": {"pending": 1}}


def test_conventions_may_be_named_too(cli: Cli, filled: Shelf) -> None:
    """A record whose call had no hash is understood by a convention of the user's own, and owed."""
    ran = cli("rejudge", "--conventions", "tests.cli.own_conventions:search")
    assert ran.lines[0] == f"{BAD}  G303 -> shape_ok"
    assert filled.store.outbox.counts() == {"otlp": {"pending": 2}}


def test_only_the_traces_that_are_named(cli: Cli, filled: Shelf) -> None:
    """The beginning of an id is enough, and a trace that is named twice is judged once."""
    ran = cli("rejudge", "a0", GOOD, *STRICT)
    assert ran.lines[-1].startswith("1 record judged again")
    assert filled.store.load(filled.store.index.place_of([BAD])[BAD]).revision == 1


def test_a_dry_run_says_so(cli: Cli, filled: Shelf) -> None:
    """Nothing is written, and the last line says it; JSON holds the same."""
    ran = cli("rejudge", "--dry-run", *STRICT)
    assert ran.lines[-1].endswith("; nothing was written")
    assert filled.store.outbox.counts() == {"otlp": {"pending": 1}}
    value: dict[str, Any] = json.loads(cli("rejudge", "--dry-run", "--format", "json", *STRICT).out)
    assert (value["schema"], value["dry_run"], value["judged"]) == ("otel-gate/rejudge/1", True, 2)
    assert [(one["before"], one["after"]) for one in value["changed"]] == [
        ([], ["no_search"]),
        (["G303"], ["G303", "no_search"]),
    ]


@pytest.mark.parametrize("more", [(), ("--dry-run",), ("--rules", "tests.cli.own_rules:nothing")])
def test_a_rule_that_judges_nothing_is_refused(more: tuple[str, ...], cli: Cli, filled: Shelf) -> None:
    """A rule that crashes on every trace is said once, with 64, before any record is written."""
    before = [filled.store.load(place) for place in filled.store.index.places()]
    ran = cli("rejudge", "--rules", "tests.cli.own_rules:broken", *more)
    assert (ran.code, ran.out) == (64, "")
    (line,) = ran.err.splitlines()
    assert line.startswith(
        "otel-gate: rule broken: expected a rule that judges a trace, got RuntimeError:   ::error::x"
    )
    assert line.endswith(" from each of 2 traces; try to mend the function; nothing was written")
    assert [filled.store.load(place) for place in filled.store.index.places()] == before
    assert filled.store.outbox.counts() == {"otlp": {"pending": 1}}


def test_a_rule_with_a_code_keeps_it(cli: Cli, filled: Shelf) -> None:
    """A rule of the user's own that has a code and a name of its own is violated under both."""
    assert cli("rejudge", "--rules", "tests.cli.own_rules:KNOWN").lines[0] == f"{GOOD}  shape_ok -> X1"
    (found,) = filled.store.load(filled.store.index.place_of([GOOD])[GOOD]).verdict.violations
    assert (found.rule, found.name) == ("X1", "no-search")


def test_a_rule_that_judges_some_is_told_of(cli: Cli, filled: Shelf) -> None:
    """A rule that crashes on some traces holds those back as G000, and that is said once."""
    ran = cli("rejudge", "--rules", "tests.cli.own_rules:broken_at_times")
    assert ran.code == 0
    said = "otel-gate: rule broken_at_times crashed on 1 of 2 traces, which G000 holds back: KeyError: 'input.sha256'"
    assert ran.err == f"{said}\n"
    assert ran.lines[0] == f"{BAD}  G303 -> G303 G000"
    assert filled.store.load(filled.store.index.place_of([BAD])[BAD]).revision == 2
    assert filled.store.outbox.counts() == {"otlp": {"pending": 1}}


def test_the_setting_rules_counts_too(cli: Cli, filled: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an option, the rules of the settings are those that the agent judges by."""
    monkeypatch.setenv("OTEL_GATE_RULES", "tests.cli.own_rules:no_search")
    assert "1 no longer" in cli("rejudge").lines[-1]
    assert "1 now shape_ok" in cli("rejudge", "--rules", "tests.cli.own_rules:nothing").lines[-1]
    assert filled.root.exists()


def test_without_a_destination_nothing_is_owed(cli: Cli, filled: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    """Records are judged all the same, and what was owed before follows their verdict."""
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_ENDPOINT")
    assert cli("rejudge", *STRICT).code == 0
    assert filled.store.outbox.counts() == {"otlp": {"held": 1}}


def test_a_record_that_can_not_be_read_is_66(cli: Cli, filled: Shelf) -> None:
    """It is named on stderr, and the others are judged."""
    place = filled.store.index.place_of([BAD])[BAD]
    (filled.store.records / place).unlink()
    ran = cli("rejudge", *STRICT)
    assert ran.code == 66
    assert place in ran.err
    assert ran.lines[0] == f"{GOOD}  shape_ok -> no_search"
