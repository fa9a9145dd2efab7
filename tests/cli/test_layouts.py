"""Every command says the same of a store, whether its records are files, lines of segments, or both."""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from otel_gate.core.canonical import argument_hash, canonical_bytes
from otel_gate.store import Store, listing
from otel_gate.store.outbox import Answer
from tests.cli.conftest import Shelf, document, without_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.cli.conftest import Ran

    Cli = Callable[..., Ran]

LAYOUTS = ("segments", "both")
ARGUMENTS = {"q": "parcels"}
TOOLS = "def search(q): return [q]\nTOOLS = [search]\n"
CALL = {"tool.name": "search", "input.sha256": argument_hash(ARGUMENTS)}
PLACE = re.compile(r"(?:[0-9-]{10}|segments|unidentified)/0*([0-9a-f]+)(?:\.json)?")
NOW = re.compile(
    r"replay-[0-9a-f]+|trace [0-9a-f]{32}|[0-9a-f]{32}(?= replay)|\d+ m?s ago|\d\d:\d\d:\d\d|(?<=_ns.: )\d+"
)
SIZES = re.compile(r'\(\d[^()]*(?:bytes|kB|KiB)[^()]*\)|\d[\d.]* (?:bytes|kB|KiB)|"bytes":\s*\d+|"crc":\s*\d+')
LINES = re.compile(r'"(?:line|span_index)": ?\d+,?|(?<=jsonl):\d+|(?<=N):\d+')


def fill(root: Path, layout: str) -> Shelf:
    """Put the same traces into a store: well-formed ones, a refused one, one that healed, and a run of two."""
    shelf = Shelf(root, "files" if layout == "both" else layout)
    for number in range(1, 7):
        if number == 4 and layout == "both":
            shelf.store.close()
            shelf.store = Store(root, layout="segments")
        made = without_hash(number) if number == 2 else document(number, attributes=CALL, status="ok")
        if number == 3:
            late = made["spans"].pop(0)
            shelf.put(made, "otlp")
            made["spans"] = [late]
        shelf.put(made, "otlp")
    shelf.store.blobs.put(CALL["input.sha256"], canonical_bytes(ARGUMENTS))
    (claim,) = shelf.store.outbox.claim("otlp", "me", 0, 10, 1)
    shelf.store.outbox.settle([(claim, Answer("accepted", claim.spans))], "me", 0)
    shelf.store.close()
    return shelf


def normal(text: str, root: Path) -> str:
    """Take out of a text what a layout decides: places, paths, lines and sizes; and what time decides."""
    text = text.replace(str(root), "STORE")
    text = re.sub(r"STORE/records/[^\s:\",]+", "RECORD", text)
    for pattern, instead in ((PLACE, r"PLACE-\1"), (SIZES, "SIZE"), (LINES, ""), (NOW, "NOW")):
        text = pattern.sub(instead, text)
    return re.sub(r" \(RECORD(?::\d+)?\)$", "", re.sub(r"RECORD:\d+", "RECORD", text), flags=re.MULTILINE)


ID = "{:032x}".format
COMMANDS: dict[str, tuple[str, ...]] = {
    "list": ("list",),
    "list json": ("list", "--format", "json", "--limit", "3"),
    "list refused": ("list", "--refused"),
    "show": ("show", ID(2)),
    "show healed": ("show", ID(3)),
    "show json": ("show", ID(5), "--format", "json"),
    "why": ("why", ID(2)),
    "verify": ("verify", "--all"),
    "verify json": ("verify", "--format", "json"),
    "verify github": ("verify", "--format", "github"),
    "validate": ("validate", "--tools", "TOOLS.json"),
    "diff": ("diff", ID(1), ID(6)),
    "diff json": ("diff", ID(1), ID(3), "--format", "json"),
    "diff refused": ("diff", ID(2), ID(5)),
    "diff revision": ("diff", f"{ID(3)}@2", ID(4)),
    "diff run": ("diff", "run:run-1", ID(4)),
    "golden": ("golden", "check", ID(4), "--as", "one"),
    "calls": ("calls", ID(5)),
    "replay": ("replay", ID(5), "--tools", "own_functions:TOOLS", "--dry-run"),
    "history": ("history", "--name", "agent.run"),
    "status": ("status", "--format", "json"),
    "deliveries": ("deliveries",),
    "doctor": ("doctor",),
    "doctor index": ("doctor", "--rebuild-index"),
    "rejudge": ("rejudge", "--dry-run"),
    "prune": ("prune", "--older-than", "0s", "--dry-run", "--keep-blobs"),
    "merge": ("merge", "STORE", "--into", "MERGED"),
}


@pytest.fixture
def at(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Give a function that fills a store of a layout, and makes it the store of the settings."""
    (tmp_path / "own_functions.py").write_text(TOOLS, encoding="utf-8")
    (tmp_path / "TOOLS.json").write_text(json.dumps([{"name": "search", "input_schema": {"type": "object"}}]), "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    made = tmp_path / "one.json"
    made.write_text(json.dumps(document(1, attributes=CALL, status="ok")), encoding="utf-8")
    assert cli("golden", "accept", made, "--as", "one").code == 0

    def filled(layout: str) -> Path:
        root = tmp_path / layout
        fill(root, layout)
        monkeypatch.setenv("OTEL_GATE_STORE", str(root))
        monkeypatch.setenv("OTEL_GATE_LAYOUT", "files" if layout == "files" else "segments")
        return root

    return filled


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_a_command_says_the_same(cli: Cli, at: Callable[[str], Path], command: tuple[str, ...], layout: str) -> None:
    """What a command says of a store of files, it says of lines, and of both: but for where records stand."""
    said = []
    for one in ("files", layout):
        root = at(one)
        arguments = [{"STORE": str(root), "MERGED": f"{root}-merged"}.get(word, word) for word in command]
        ran = cli(*arguments)
        out = [line for line in normal(ran.out, root).splitlines() if line.strip()]
        said.append((ran.code, sorted(out), normal(ran.err, root).splitlines()))
    assert said[0] == said[1]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_store_has_its_layout(at: Callable[[str], Path], layout: str) -> None:
    """The stores that are compared have lines, and both kinds of records."""
    lines = [one.line > 0 for one in listing.records(at(layout))]
    assert (len(lines), sum(lines)) == ((6, 6) if layout == "segments" else (6, 3))


@pytest.fixture
def merged(cli: Cli, at: Callable[[str], Path], request: pytest.FixtureRequest) -> Iterator[tuple[Store, Path]]:
    """Give a store that was merged from lines, and the source."""
    source = at(str(request.param))
    into = source.with_name("merged")
    assert cli("merge", source, "--into", into).code == 2
    store = Store(into)
    yield store, source
    store.close()


@pytest.mark.parametrize("merged", ["files", *LAYOUTS], indirect=True)
def test_merged_records_are_the_same_values(merged: tuple[Store, Path]) -> None:
    """Whatever layout the source has and the target, each record has the values that it had; merged again, nothing."""
    store, source = merged
    there, here = (
        {name.rpartition("/")[2].removesuffix(".json"): opened.load(name) for name in opened.index.places()}
        for opened in (store, Store(source))
    )
    assert there == here


def test_show_says_the_line(cli: Cli, at: Callable[[str], Path]) -> None:
    """``show`` names segment and line, in its JSON too; ``--raw`` prints the line."""
    root = at("segments")
    (path,) = root.glob("records/*/*.jsonl")
    assert f"  record    {path}:5 (" in cli("show", ID(4)).out
    value: dict[str, Any] = json.loads(cli("show", ID(4), "--format", "json").out)
    assert (value["path"], value["line"]) == (str(path), 5)
    assert json.loads(cli("show", ID(4), "--raw").out) == json.loads(path.read_bytes().splitlines()[4])


def test_what_is_compared_has_its_line(cli: Cli, at: Callable[[str], Path]) -> None:
    """Violations and changes of records that are lines have the record's line, violations the index of the span."""
    root = at("segments")
    (path,) = root.glob("records/*/*.jsonl")
    (found,) = json.loads(cli("diff", ID(2), ID(1), "--format", "json").out)["pairs"][0]["base"]["violations"]
    assert (found["path"], found["line"], found["span_index"]) == (str(path), 2, 1)


def test_verify_tells_lines_that_are_no_record(cli: Cli, at: Callable[[str], Path]) -> None:
    """A line that can't be read is told with its place, and the others are verified."""
    root = at("segments")
    (path,) = root.glob("records/*/*.jsonl")
    path.write_bytes(path.read_bytes() + b"{}\n")
    ran = cli("verify")
    assert (ran.code, f"{path}:8: expected a record on the line" in ran.err) == (2, True)
    assert f"{path}:8: it is not a record; it is left out" in cli("merge", root, "--into", f"{root}-merged").err


def test_a_store_that_can_not_be_written_is_read(cli: Cli, at: Callable[[str], Path], monkeypatch: Any) -> None:
    """Lines that are not in the index yet are listed from a copy of it, without a lock."""
    root = at("segments")
    for path in root.glob("index.sqlite3*"):
        path.unlink()
    monkeypatch.setattr("os.access", lambda *_: False)
    (root / "amend.lock").unlink()
    assert len(cli("list").lines) == 7
    assert not (root / "amend.lock").exists()
    assert hashlib.sha256(b"").hexdigest() not in cli("list").out


def test_a_replay_is_a_line_where_the_setting_says_so(cli: Cli, at: Callable[[str], Path]) -> None:
    """What commands record has the layout of the settings."""
    root = at("segments")
    assert cli("replay", ID(5), "--tools", "own_functions:TOOLS", "--yes").code in (0, 1)
    assert len([*listing.records(root)]) == 7
    assert [*root.glob("records/*/*.json")] == []


def test_rejudged_lines_are_amended(cli: Cli, at: Callable[[str], Path]) -> None:
    """Another verdict is another line, which counts then, and what is owed follows."""
    root = at("segments")
    assert cli("rejudge", ID(4), "--rules", "tests.cli.own_rules:no_search").code == 0
    place = f"segments/{ID(4)}"
    assert {one.name: one.line for one in listing.records(root)}[place] == 8
    store = Store(root)
    assert (store.load(place).revision, store.load(place).verdict.shape_ok) == (2, False)
    assert [row["state"] for row in store.outbox.of(place)] == ["held"]
    store.close()
