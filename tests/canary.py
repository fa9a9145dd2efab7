"""A secret planted in everything that is content of recorded traces, and a search for it in everything that is written.

What is content is told here by what is none (``FACTS``, ``OF_USERS``), so that the tables of the package are not their
own measure: a text under any other key is planted, as it is, escaped inside JSON texts, and as base64.
"""

from __future__ import annotations

import base64
import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CANARY = "canary-4111-KEEP-1881"
ESCAPED = "".join(f"\\u{ord(letter):04x}" for letter in CANARY)
BASE64 = base64.b64encode(CANARY.encode()).decode()
NEEDLES = [CANARY.encode(), ESCAPED.encode(), BASE64.encode(), CANARY.encode("utf-16-le")]
FACTS = re.compile(
    r"(?:^|[._:])(?:id|ids|key|kind|type|name|role|status|mode|model|llm|provider|system|version|method|mime_type|cause|"
    r"failure_stage|nodes|edges|beta|tools|tools_names|class|process|cache|verbose|memory|planning|share_crew|max_iter|"
    r"allow_delegation|async_execution|agent|agent_role|finish_reasons?|stop_reason|escaped|exit_conditions|tags|"
    r"state_schema|state|subtype|available_functions|label|stage|operation|json_schema|msg_template|scrubbed|handoffs|tracing|level|token_usage|usage|usage_metrics|path|"
    r"timestamp|start_time|end_time|metrics|model_config|[a-z]+_(?:id|name|type|key))$|(?:Id|Type|Name|Reason|LogLevel|provider)$",
)
"""Keys of ids, names, types, counts and settings."""
OF_USERS = re.compile(
    r"^(?:metadata|email|order_id|url\.|http\.|code\.|server\.|ai\.request\.headers|langsmith\.|run\.id$)|"
    r"\.(?:metadata|association\.properties)\."
)
"""Keys of metadata and of other instrumentations: known leaks."""
CONTENT_AFTER_ALL = (
    "tool.task_name", "haystack.agent.tools", "crewai.agent.tools", "crewai.task.tools", "ai.prompt.tools",
)  # fmt: skip
NAME = "tool_name"  # LlamaIndex under OpenLLMetry names the tool nowhere else
OF_EVENTS = frozenset({"exception.type", "exception.escaped", "id", "role", "finish_reason"})


def is_planted(key: str) -> bool:
    """Tell whether a text under this key of a span gets the secret."""
    return key in CONTENT_AFTER_ALL or not (FACTS.search(key) or OF_USERS.search(key))


def planted(line: str) -> tuple[str, int]:
    """Return a line of OTLP/JSON with the secret in all that is content, and in how many places."""
    document, count = json.loads(line), 0
    for span in _spans(document):
        for one in span.get("attributes", ()):
            if is_planted(one["key"]):
                count += _plant(one["value"])
        for event in span.get("events", ()):
            for one in event.get("attributes", ()):
                if one["key"] not in OF_EVENTS:
                    count += _plant(one["value"])
        if span.get("status", {}).get("message"):
            span["status"]["message"] += f" {CANARY}"
            count += 1
    return json.dumps(document), count


def found(folder: Path) -> set[str]:
    """Return the files below a folder that hold the secret in any form; a name of a file counts too."""
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if holds(str(path).encode()) or (path.is_file() and holds(path.read_bytes()))
    }


def holds(content: bytes) -> bool:
    """Tell whether bytes hold the secret in any form."""
    return any(needle in content for needle in NEEDLES)


def removed(_key: str, value: Any) -> Any:
    """Redact: take the secret out of a text."""
    return value.replace(CANARY, "***").replace(BASE64, "***") if isinstance(value, str) else value


def _spans(document: Any) -> Iterator[Any]:
    for resource in document["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            yield from scope["spans"]


def _plant(value: dict[str, Any]) -> int:
    """Plant the secret in an AnyValue."""
    if "stringValue" in value:
        text = value["stringValue"]
        value["stringValue"] = _in_text(text)
        return int(bool(text))
    inside = [*value.get("arrayValue", {}).get("values", ())]
    inside += [one["value"] for one in value.get("kvlistValue", {}).get("values", ())]
    return sum(map(_plant, inside))


def _in_text(text: str) -> str:
    """Plant it in a text, or in every text of a JSON text, some of them escaped."""
    if not text:
        return text
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if isinstance(value, dict | list) and (left := _inside(value)) != value:
        return json.dumps(left).replace(f"{CANARY}!", ESCAPED)
    if isinstance(value, str):
        return json.dumps(_in_text(value))
    return f"{text} {CANARY} {BASE64}"


def _inside(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: one if key == NAME else _inside(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_inside(one) for one in value]
    if not isinstance(value, str):
        return value
    nested = _in_text(value) if value[:1] in "{[" else ""
    return nested or f"{value} {CANARY} {CANARY}! {BASE64}"
