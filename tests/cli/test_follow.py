"""``check --follow``: files that grow, are truncated and rotate, with a clock and a wait that are arguments."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from otel_gate.cli import follow
from otel_gate.cli.arguments import Parser
from otel_gate.cli.check import add
from otel_gate.cli.scrutiny import Scrutiny, parts_of
from otel_gate.cli.told import Extent, Policy
from otel_gate.conventions import TABLE
from otel_gate.otlp import read
from otel_gate.settings import Settings
from tests.cli.conftest import document, without_hash

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Ran

SECOND = 10**9


class Story:
    """Steps that are taken one after another while the command waits; each wait takes so many seconds of the clock."""

    def __init__(self, *steps: Callable[[], object], seconds: float = 10) -> None:
        self._steps = list(steps)
        self._seconds = seconds
        self.now_ns = 0
        self.heard: list[str] = []

    def clock(self) -> int:
        """Tell the time."""
        return self.now_ns

    def wait(self, _: float) -> bool:
        """Take the next step, and say when there is none."""
        self.now_ns += int(self._seconds * SECOND)
        if not self._steps:
            return True
        self._steps.pop(0)()
        return False


@pytest.fixture
def followed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Give a function that follows files through a story."""
    monkeypatch.chdir(tmp_path)

    def run(story: Story, *argv: object) -> tuple[int, list[str], str]:
        parser = Parser(prog="x", description="x")
        parser.set_defaults(store=None)
        add(parser)
        args = parser.parse_args([*map(str, argv), "--follow"])
        args.format = args.format or "text"
        code = follow.follow(args, Settings(), story.clock, story.wait)
        out, err = capsys.readouterr()
        return code, out.splitlines(), err

    return run


def append(path: Path, *parts: str) -> Callable[[], object]:
    """Make the step of appending to a file."""

    def step() -> None:
        with path.open("a", encoding="utf-8") as file:
            file.write("".join(parts))

    return step


def line(number: int = 1) -> str:
    """Make a line with a well-formed trace."""
    return json.dumps(document(number)) + "\n"


def heard(out: list[str]) -> list[str]:
    """Tell the first words of each line that is told of a trace."""
    return [" ".join(one.split()[:2])[:45] for one in out if "trace_id=" in one]


def told(number: int) -> str:
    """Tell how a good trace is told."""
    return f"shape_ok trace_id={number:032x}"[:45]


def test_traces_are_told_as_they_come(followed: Any, tmp_path: Path) -> None:
    """A file that is not there yet may come; each trace is told after its quiet time, and the sum at the end."""
    path = tmp_path / "a.jsonl"
    code, out, err = followed(Story(append(path, line(1)), append(path, line(2), line(3))), path)
    assert (code, err) == (0, "")
    assert heard(out) == [told(1), told(2), told(3)]
    assert out[-1] == "3 traces: 3 shape_ok, 0 not_ok"


def test_a_trace_waits_for_its_quiet_time(followed: Any, tmp_path: Path) -> None:
    """Parts that come before it is over belong to the trace; it is told once, when the root was there long enough."""
    path = tmp_path / "a.jsonl"
    root, tool = document(), document()
    root["spans"], tool["spans"] = root["spans"][:1], tool["spans"][1:]
    steps = [append(path, json.dumps(root) + "\n"), append(path, json.dumps(tool) + "\n"), lambda: None, lambda: None]
    code, out, _ = followed(Story(*steps, seconds=5), path)
    assert (code, heard(out)) == (0, [told(1)])
    code, out, err = followed(Story(seconds=5), path)
    assert (code, len(heard(out)), err) == (0, 1, "")


def test_a_trace_without_a_root_waits_longer(followed: Any, tmp_path: Path) -> None:
    """Its root may come after the quiet time, and at the latest the end tells it."""
    path = tmp_path / "a.jsonl"
    root, tool = document(), document()
    root["spans"], tool["spans"] = root["spans"][:1], tool["spans"][1:]
    steps = [append(path, json.dumps(tool) + "\n"), lambda: None, append(path, json.dumps(root) + "\n")]
    assert heard(followed(Story(*steps), path)[1]) == [told(1)]
    path.write_text(json.dumps(tool) + "\n", encoding="utf-8")
    code, out, _ = followed(Story(), path)
    assert (code, out[0].split()[0], out[-1]) == (2, "not_ok", "1 trace: 0 shape_ok, 1 not_ok")


def test_a_line_that_is_not_complete_is_read_again(followed: Any, tmp_path: Path) -> None:
    """The writer is in the middle of it; at the end it is a note, and what was there is judged."""
    path = tmp_path / "a.jsonl"
    whole = line(2)
    code, out, err = followed(Story(append(path, line(1), whole[:50]), append(path, whole[50:])), path)
    assert (code, heard(out), err) == (0, [told(1), told(2)], "")
    code, out, err = followed(Story(append(path, line(3)[:50])), path)
    assert (code, heard(out)) == (0, [told(1), told(2)])
    assert "truncated_tail at line 3, byte " in err


def test_a_rotation_is_followed(followed: Any, tmp_path: Path) -> None:
    """The old file is read to its end, then the new one of the same name."""
    path = tmp_path / "a.jsonl"
    path.write_text(line(1), encoding="utf-8")

    def rotate() -> None:
        append(path, line(2))()
        path.rename(tmp_path / "a.jsonl.1")
        path.write_text(line(3), encoding="utf-8")

    code, out, err = followed(Story(rotate, append(path, line(4))), path)
    assert (code, heard(out), err) == (0, [told(1), told(2), told(3), told(4)], "")


def test_a_line_that_a_rotation_cut_is_put_together(followed: Any, tmp_path: Path) -> None:
    """Half of it is in the old file, half in the new one."""
    path = tmp_path / "a.jsonl"
    path.write_text(line(1) + line(2)[:60], encoding="utf-8")

    def rotate() -> None:
        path.rename(tmp_path / "a.jsonl.1")
        path.write_text(line(2)[60:] + line(3), encoding="utf-8")

    code, out, err = followed(Story(rotate), path)
    assert (code, heard(out)) == (0, [told(1), told(2), told(3)])
    assert "rejoined_line" in err


def test_a_file_that_is_truncated_is_read_anew(followed: Any, tmp_path: Path) -> None:
    """Copying and truncating keeps the file, and its writer."""
    path = tmp_path / "a.jsonl"
    path.write_text(line(1) + line(2), encoding="utf-8")
    code, out, _ = followed(Story(lambda: path.write_text(line(3), encoding="utf-8")), path)
    assert (code, heard(out)) == (0, [told(1), told(2), told(3)])


def test_a_file_that_is_truncated_and_grows_again_is_read_anew(followed: Any, tmp_path: Path) -> None:
    """Also when it is as long as before, or longer, by the time that it is looked at."""
    path = tmp_path / "a.jsonl"
    path.write_text(line(1) + line(2), encoding="utf-8")
    new = "".join(map(line, range(3, 8)))
    code, out, _ = followed(Story(lambda: path.write_text(new, encoding="utf-8"), append(path, line(8))), path)
    assert (code, heard(out)) == (0, [told(number) for number in range(1, 9)])


def test_a_bad_line_costs_that_line(followed: Any, tmp_path: Path) -> None:
    """It is told at once as one G000, and the rest goes on; the exit code is that of the worst trace."""
    path = tmp_path / "a.jsonl"
    code, out, _ = followed(Story(append(path, line(1), "nonsense\n", line(2))), path)
    assert code == 2
    assert [one.split()[0] for one in out if "trace_id=" in one] == ["shape_ok", "not_ok", "shape_ok"]
    code, out, _ = followed(Story(append(path, json.dumps(without_hash(9)) + "\n")), path, "--exit-zero")
    assert code == 0
    assert any(one.startswith("  G303 ") and f"({path}:4)" in one for one in out)


def test_a_late_span_is_a_note(followed: Any, tmp_path: Path) -> None:
    """A span of a trace that was told is no trace of its own."""
    path = tmp_path / "a.jsonl"
    late = document()
    late["spans"] = late["spans"][1:]
    story = Story(append(path, line(1)), lambda: None, append(path, json.dumps(late) + "\n"))
    code, out, err = followed(story, path)
    assert (code, heard(out)) == (0, [told(1)])
    assert "late_span at line 2" in err


def test_memory_of_traces_that_were_told_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only so many ids are remembered, and nothing else."""
    monkeypatch.setattr(follow, "MOST_TOLD", 3)
    follower = follow.Follower(Scrutiny(Policy("auto", "require", None, None), (), TABLE), 0, 0)
    for number in range(10):
        pieces = list(read(line(number + 1).encode()))
        follower.take(parts_of(pieces, "a", Extent(0, 0, 1, 0)), 0)
        assert len(list(follower.due(0))) == 1
    assert (len(follower._told), len(follower._waiting)) == (3, 0)


def test_several_files_are_followed_together(followed: Any, tmp_path: Path) -> None:
    """Parts of one trace in two files are one trace."""
    one, two = tmp_path / "1.jsonl", tmp_path / "2.jsonl"
    root, tool = document(), document()
    root["spans"], tool["spans"] = root["spans"][:1], tool["spans"][1:]
    two.write_text(json.dumps(tool) + "\n" + line(2), encoding="utf-8")
    code, out, _ = followed(Story(append(one, json.dumps(root) + "\n")), one, two)
    assert (code, sorted(heard(out))) == (0, [told(1), told(2)])


def test_json_is_an_envelope_a_line(followed: Any, tmp_path: Path) -> None:
    """The last has no trace, but the lines, the notes and the exit code."""
    path = tmp_path / "a.jsonl"
    code, out, _ = followed(
        Story(append(path, line(1), "nonsense\n", '{"resourceLogs":[]}\n')), path, "--format", "json"
    )
    *traces, last = map(json.loads, out)
    assert (code, [one["exit_code"] for one in traces]) == (2, [0, 2])
    assert traces[0]["files"][0]["traces"][0]["trace_id"] == f"{1:032x}"
    (file,) = last["files"]
    assert (last["exit_code"], file["traces"]) == (2, [])
    assert file["lines"] == {"total": 3, "read": 1, "skipped": 1, "quarantined": 1}


def test_a_file_without_a_trace_is_66(followed: Any, tmp_path: Path) -> None:
    """It never came, or nothing that is a trace did."""
    code, out, err = followed(Story(), tmp_path / "gone.jsonl")
    assert (code, out) == (66, ["0 traces: 0 shape_ok, 0 not_ok"])
    assert "expected at least one trace" in err


@pytest.mark.parametrize("data", [b"\x1f\x8b\x08\0\0", b"\x01\x02", b"\xff\xfe{\0"])
def test_other_files_than_text_are_refused(data: bytes, followed: Any, tmp_path: Path) -> None:
    """Packed files and protobuf don't grow by lines."""
    path = tmp_path / "a"
    path.write_bytes(data)
    code, _, err = followed(Story(), path)
    assert code == 66
    assert "expected a file of JSON, one document a line, to follow" in err


@pytest.mark.parametrize(
    "argv", [("-",), ("a", "--format", "junit"), ("a", "--report", "sarif:x"), ("a", "--jobs", "2")]
)
def test_what_can_not_be_followed(argv: tuple[str, ...], cli: Callable[..., Ran]) -> None:
    """Standard input, formats of the whole and several processes are usage errors."""
    ran = cli("check", *argv, "--follow")
    assert (ran.code, ran.out) == (64, "")
    assert "otel-gate check --follow" in ran.err or "check --follow" in ran.err


def test_a_printed_span_is_told_without_another_one_behind_it(followed: Any, tmp_path: Path) -> None:
    """A document over many lines is read once its end is there."""
    path = tmp_path / "a.json"
    text = json.dumps(document(), indent=1)
    code, out, _ = followed(Story(append(path, text[:99]), append(path, text[99:], "\n"), lambda: None), path)
    assert (code, heard(out)) == (0, [told(1)])


@pytest.mark.skipif(os.name == "nt", reason="signals are POSIX's here")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_with_the_sum(number: int, tmp_path: Path) -> None:
    """Ctrl-C and SIGTERM are the usual end: the sum is told, and the exit code is that of the traces."""
    path = tmp_path / "a.jsonl"
    path.write_text(line(1) + json.dumps(without_hash(2)) + "\n", encoding="utf-8")
    command = [sys.executable, "-m", "otel_gate", "check", str(path), "--follow"]
    environ = os.environ | {"OTEL_GATE_QUIET_MS": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environ) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        process.send_signal(number)
        deadline = time.monotonic() + 20
        rest, _ = process.communicate(timeout=deadline - time.monotonic())
    assert first.startswith("shape_ok trace_id=")
    assert (process.returncode, rest.splitlines()[-1]) == (2, "2 traces: 1 shape_ok, 1 not_ok")
