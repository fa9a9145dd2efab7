"""What the step of action.yml runs: its inputs, which come as ``GATE_*`` variables, as a command line of otel-gate."""

from __future__ import annotations

import glob  # noqa: PTH207 - patterns with two stars
import os
import subprocess
import sys
from pathlib import Path

MODES = ("check", "golden")
FAIL_ON = ("violation", "never")
NO_LONGER_FAILS = {"check": (2,), "golden": (1, 2)}
USAGE, NO_INPUT = 64, 66


def main() -> int:
    """Run otel-gate, and return the exit code of the step."""
    mode, fail_on = os.environ["GATE_MODE"], os.environ["GATE_FAIL_ON"]
    for name, value, known in (("mode", mode, MODES), ("fail-on", fail_on, FAIL_ON)):
        if value not in known:
            return complain(f"input {name}: expected {' or '.join(known)}, got {value!r}", USAGE)
    files = [path for pattern in lines("GATE_FILES") for path in matching(pattern)]
    if not files:
        return complain(f"input files: expected files of traces, got none like {os.environ['GATE_FILES']!r}", NO_INPUT)
    codes = [run(command) for command in commands(mode, files)]
    code = next((code for code in (70, 74, 64, 66, 2, 1) if code in codes), max(codes))
    with Path(os.environ["GITHUB_OUTPUT"]).open("a", encoding="utf-8") as file:
        file.write(f"exit_code={code}\n")
    return 0 if fail_on == "never" and code in NO_LONGER_FAILS[mode] else code


def commands(mode: str, files: list[str]) -> list[list[str]]:
    """Return the command lines: one for all files, or one for each run that is compared with its golden trace."""
    more = lines("GATE_ARGUMENTS")
    if mode == "check":
        return [["check", *reports(1), *more, *files]]
    folder = f"--dir={os.environ['GATE_BASELINE']}"
    return [["golden", "check", folder, *reports(number), *more, one] for number, one in enumerate(files, 1)]


def reports(number: int) -> list[str]:
    """Return the options for the reports of a command; from the second on its number stands before the ending."""
    found = (Path(one) for one in lines("GATE_REPORTS"))
    return [f"--report={one if number == 1 else one.with_stem(f'{one.stem}-{number}')}" for one in found]


def run(command: list[str]) -> int:
    """Run otel-gate with this Python."""
    sys.stdout.flush()
    return subprocess.run([sys.executable, "-m", "otel_gate", *command], check=False).returncode  # noqa: S603


def lines(name: str) -> list[str]:
    """Return the lines of an input that say something."""
    return [line.strip() for line in os.environ[name].splitlines() if line.strip()]


def matching(pattern: str) -> list[str]:
    """Return the files that a pattern matches, in order; a name without pattern stays. None can pass for an option."""
    pattern = f"./{pattern}" if pattern.startswith("-") else pattern
    if not glob.has_magic(pattern):
        return [pattern]
    return sorted(path for path in glob.glob(pattern, recursive=True) if Path(path).is_file())


def complain(message: str, code: int) -> int:
    """Say what is wrong with an input."""
    shown = "".join(one if one.isprintable() else "?" for one in message).replace("%", "%25")
    print(f"::error title=otel-gate::{shown}")  # noqa: T201
    return code


if __name__ == "__main__":
    sys.exit(main())
