"""What is content in a span: what a user or model said, and what a tool was given or gave.

That is what ``redact`` sees, what ``keep_arguments = false`` leaves out, and what ``forward_arguments = hash`` keeps on
the machine. Emitters write it in many places, and often the same thing in several: so it is found by name, in every
scope, and what is in doubt is content. A key is content when it is in the tables below, when its last word is one of
``WORDS`` (``haystack.agent.step.tool.input``, ``crewai.task.description``, ``spanInputs``) or any is one of
``ANYWHERE``, or when a convention of its scope names it. Ids, names of tools, roles, counts and types are none.

It goes by names alone: an attribute of somebody's own (``order_id``), the name of a span, a resource are none.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_gate.conventions.recognise import Table
    from otel_gate.core.model import Event, Span

Sort = Literal["", "arguments", "result", "message", "exception"]
STATUS_MESSAGE = "status_message"
KEYS_AT_HAND = 8_192

WORDS: dict[str, Sort] = {
    **dict.fromkeys((
        "args", "argument", "arguments", "input", "inputs", "kwargs", "parameters", "params", "payload",
    ), "arguments"),
    **dict.fromkeys((
        "output", "outputs", "response", "result", "results", "stderr", "stdout", "value",
    ), "result"),
    **dict.fromkeys((
        "answer", "backstory", "body", "completion", "completions", "content", "contents", "data", "definitions",
        "description", "document", "documents", "goal", "history", "instruction", "instructions", "message", "messages",
        "prompt", "prompts", "query", "question", "reasoning", "request", "snapshot", "text", "texts", "thinking",
        "thought", "transcript", "utterance",
    ), "message"),
    **dict.fromkeys(("error", "errors", "exception", "reason", "stack", "stacktrace", "traceback"), "exception"),
}  # fmt: skip
"""Last words of keys; under them a text, an array or an object is content, and a number is none."""

ANYWHERE = ("arguments", "kwargs", "messages", "instructions", "transcript", "stacktrace")
"""Words under which everything is content, in whatever place of a key (``agent.messages.ui``)."""

KEYS: dict[str, Sort] = {
    "input.value": "arguments", "output.value": "result", "tool.parameters": "arguments", "tool.arguments": "arguments",
    "gen_ai.tool.call.arguments": "arguments", "gen_ai.tool.call.result": "result",
    "gen_ai.system_instructions": "message", "agent.messages": "message", "llm.messages": "message",
    "ai.response.toolCalls": "message", "ai.response.object": "message", "ai.toolCall.args": "arguments",
    "crew_agents": "message", "crew_tasks": "message", "crewai.crew.agents": "message", "crewai.crew.tasks": "message",
    "haystack.agent.tools": "message", "crewai.agent.tools": "message", "crewai.task.tools": "message",
    "tool.task_name": "message", "request_data": "arguments", "input_str": "arguments",
    "events": "message", "all_messages_events": "message", "logfire.msg": "message", "error": "exception",
    "lk.chat_ctx": "message", "genkit:state": "message", "smolagents.task": "message",
    "gen_ai.evaluation.explanation": "message", "db.statement": "arguments", "mcp.resource.uri": "arguments",
    "langfuse.observation.status_message": "exception", "exception.message": "exception",
}  # fmt: skip
PREFIXES: dict[str, Sort] = {
    "llm.input_messages.": "message", "llm.output_messages.": "message", "llm.prompts.": "message",
    "llm.completions.": "message", "llm.tools.": "message", "llm.prompt_template.": "message",
    "llm.function_call": "message", "gen_ai.prompt.": "message", "gen_ai.completion.": "message",
    "gen_ai.input.messages": "message", "gen_ai.output.messages": "message", "ai.prompt.": "message",
    "mlflow.chat.": "message", "retrieval.documents.": "message", "embedding.embeddings.": "message",
    "db.query.parameter.": "arguments", "mcp.request.argument.": "arguments",
    "reranker.": "message", "message.": "message", "tool_call.": "message", "exception.": "exception",
}  # fmt: skip
"""Beginnings of keys under which everything is content, whatever it is."""

NEVER = frozenset({
    "exception.type", "exception.escaped", "reranker.model_name", "reranker.top_k", "message.type", "message.id",
    "message.compressed_size", "message.uncompressed_size", "gen_ai.output.type",
})  # fmt: skip
OF_GENAI_EVENTS = frozenset({"id", "role", "index", "name", "finish_reason", "gen_ai.system", "gen_ai.provider.name"})
"""What in an event named ``gen_ai.*`` is no content; everything else in it is, unless its key says another thing."""
_REASON = re.compile(r"(?:finish|stop)_?reason$", re.IGNORECASE)  # a word of the model's API
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_GENAI = "gen_ai."


class Content:
    """What the conventions of a table mark as content."""

    def __init__(self, table: Table) -> None:
        """Take the table whose conventions name content of their own."""
        self._table = table
        self._sorts = lru_cache(KEYS_AT_HAND)(self._looked_up)

    def sort(self, key: str, value: Any, scope: str) -> Sort:
        """Return what an attribute holds, ``""`` when that is no content or there is nothing in it."""
        sort, surely = self._sorts(key, scope)
        if not sort or _is_empty(value) or (not surely and isinstance(value, int | float)):
            return ""
        return sort

    def of_event(self, event: Event, key: str, value: Any, scope: str) -> Sort:
        """Return what an attribute of an event holds, as ``sort`` does."""
        sort = self.sort(key, value, scope)
        if sort or not event.name.startswith(_GENAI) or _is_empty(value):
            return sort
        is_fact = key in OF_GENAI_EVENTS or key.startswith(_GENAI) or isinstance(value, int | float)
        return "" if is_fact else "message"

    def is_in(self, span: Span, scope: str) -> bool:
        """Tell whether there is content in a span."""
        return next(self.places(span, scope), None) is not None

    def places(self, span: Span, scope: str) -> Iterator[tuple[str, Sort]]:
        """Iterate over where content is in a span: keys of attributes, ``events[0].KEY``, ``status_message``."""
        for key, value in span.attributes.items():
            if sort := self.sort(key, value, scope):
                yield key, sort
        for number, event in enumerate(span.events):
            for key, value in event.attributes.items():
                if sort := self.of_event(event, key, value, scope):
                    yield place_in(number, key), sort
        if span.status_message:
            yield STATUS_MESSAGE, "exception"

    def _looked_up(self, key: str, scope: str) -> tuple[Sort, bool]:
        """Return what stands under a key, and whether that is so of numbers too."""
        named = [name for one in self._table.of_scope(scope) for name in one.content]
        if any(key.startswith(name[:-1]) if name.endswith("*") else key == name for name in named):
            return "message", True
        if key in NEVER or _REASON.search(key):
            return "", False
        if key in KEYS:
            return KEYS[key], True
        for prefix, sort in PREFIXES.items():
            if key.startswith(prefix):
                return sort, True
        words = [word.lower() for word in _WORD.findall(key) if not word.isdecimal()]
        said = [*words[-1:], *(word for word in ANYWHERE if word in words)]
        return next((WORDS[word] for word in said if word in WORDS), ""), False


def place_in(number: int, key: str) -> str:
    """Name the place of an attribute of the event of this number."""
    return f"events[{number}].{key}"


def _is_empty(value: Any) -> bool:
    return value is None or isinstance(value, bool) or (not isinstance(value, int | float) and not value)
