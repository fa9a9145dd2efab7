"""A command of the user's as a child: what it sees of OpenTelemetry's variables, the signals that it gets, its end.

The endpoint that it is given speaks gRPC and HTTP on one port, so the protocol stays whatever it was, and an SDK's own
default works too. Metrics and logs go where they went before, or nowhere when that was nowhere: only a variable for
everything would have brought them here.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

from otel_gate.errors import NoSuchCommand, NotExecutable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from otel_gate.errors import UsageError

OTLP, OTHERS = "OTEL_EXPORTER_OTLP_", ("METRICS", "LOGS")
ENDPOINT, PROTOCOL = f"{OTLP}ENDPOINT", f"{OTLP}PROTOCOL"
STRONGER = ("ENDPOINT", "HEADERS", "CERTIFICATE", "CLIENT_CERTIFICATE", "CLIENT_KEY")  # for traces alone
GRPC, GRPC_PORT = "grpc", ":4317"
PROXIES = ("http_proxy", "HTTP_PROXY", "grpc_proxy", "all_proxy", "ALL_PROXY")
NO_PROXY = ("no_proxy", "NO_PROXY")
LOOPBACK = "127.0.0.1"
SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")
           if hasattr(signal, name)]  # fmt: skip
OF_TERMINAL = frozenset({"SIGINT", "SIGQUIT", "SIGHUP"})  # a terminal sends them to the command too
BY_SIGNAL = 128


def environment(environ: Mapping[str, str], url: str) -> dict[str, str]:
    """Return the variables of a command whose traces go to an endpoint that takes gRPC and HTTP."""
    stronger = {f"{OTLP}TRACES_{name}" for name in STRONGER}
    child = {name: value for name, value in environ.items() if name not in stronger}
    child |= {"OTEL_TRACES_EXPORTER": "otlp", ENDPOINT: url, f"{OTLP}TRACES_INSECURE": "true", **_of_others(environ)}
    if any(environ.get(name) for name in PROXIES):
        child |= {name: ",".join(filter(None, (environ.get(name), LOOPBACK))) for name in NO_PROXY}
    return child


@contextlib.contextmanager
def started(command: Sequence[str], environ: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """Start a command that gets our signals until the block ends.

    Raises:
        NoSuchCommand: there is none of that name.
        NotExecutable: it is there, and can't be started.
    """
    waiting: list[int] = []
    process: list[subprocess.Popen[bytes]] = []

    def forward(number: int, _frame: object) -> None:
        if process and not _has_got(number):
            process[0].send_signal(number)
        elif not process:
            waiting.append(number)

    before = {number: signal.getsignal(number) for number in SIGNALS}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, forward)
    try:
        try:
            process.append(subprocess.Popen(command, env=environ))  # noqa: S603 - it is the user's
        except (OSError, ValueError) as error:
            raise _unstarted(command[0], error) from error
        for number in waiting:
            process[0].send_signal(number)
        yield process[0]
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def exit_code(code: int) -> int:
    """Return the exit code of a command as a shell has it: 128 + N when signal N ended it."""
    return BY_SIGNAL - code if code < 0 else code


def _unstarted(command: str, error: OSError | ValueError) -> UsageError:
    got = getattr(error, "strerror", None) or str(error)
    if isinstance(error, FileNotFoundError):
        return NoSuchCommand("otel-gate run", f"to start {command!r}", got, "a command on PATH, or its path")
    try_ = "a program, or a script with a first line #! and the right to be executed"
    return NotExecutable("otel-gate run", f"to start {command!r}", got, try_)


def _of_others(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that keep metrics and logs out of here, where none does it already."""
    endpoint = environ.get(ENDPOINT, "").rstrip("/")
    found = {}
    for kind in OTHERS:
        exporter, own = f"OTEL_{kind}_EXPORTER", f"{OTLP}{kind}_ENDPOINT"
        protocol = environ.get(f"{OTLP}{kind}_PROTOCOL") or environ.get(PROTOCOL)
        if environ.get(own):
            continue
        if endpoint:
            is_grpc = protocol == GRPC if protocol else endpoint.endswith(GRPC_PORT)
            found[own] = endpoint if is_grpc else f"{endpoint}/v1/{kind.lower()}"
        elif not environ.get(exporter):
            found[exporter] = "none"
    return found


def _has_got(number: int) -> bool:
    """Tell whether the command has got a signal too: it came from the terminal, to everything in the foreground."""
    if sys.platform == "win32":
        return number == signal.SIGINT
    if signal.Signals(number).name not in OF_TERMINAL:
        return False
    with contextlib.suppress(OSError), open(os.ctermid(), "rb", buffering=0) as terminal:  # noqa: PTH123
        return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    return False
