"""``otel-gate call prompt``: what to ask a model next, when its tool call can't be executed; no model is involved.

It takes one step of the repair: a selection among the visible tools, one repair of the named tool, or the same request
with more tokens. Exit codes (DESIGN section 6): 0 there is something to ask, 1 there is nothing: the call fits.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from otel_gate.cli import issues, output
from otel_gate.cli.arguments import add_format, choice, count
from otel_gate.report import json
from otel_gate.report.quantities import counted
from otel_gate.toolcalls.prompts import load_prompts
from otel_gate.toolcalls.repair import repair, repairing
from otel_gate.toolcalls.task import Policy, Task

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence

    from otel_gate.toolcalls.model import Answer, Issue, Tool
    from otel_gate.toolcalls.request import Request

SCHEMA = "otel-gate/call-prompt/1"
NOTHING = 1
BUDGET = "the budget that the answer had; the next one is twice that, and 1024 at least"


def add(part: ArgumentParser) -> None:
    """Declare the arguments."""
    part.add_argument("--tool", default="", metavar="TOOL", help="whom arguments without a tool's name belong to")
    part.add_argument("--max-tokens", type=count, metavar="N", help=BUDGET)
    part.add_argument("--no-card", action="store_true", help="name the tool's schema instead of showing its card")
    part.add_argument(
        "--prompts", metavar="FILE", help="texts of one's own, in the shape of otel_gate/toolcalls/prompts"
    )
    kinds = "how the model writes a call: call (the provider's), json (in its text) (default: call)"
    part.add_argument("--output", type=choice("call", "json"), default="call", metavar="KIND", help=kinds)
    add_format(part, "text", "json")


def run(args: Namespace, answer: Answer, tools: Sequence[Tool]) -> int:
    """Print the request that an answer needs next."""
    texts = load_prompts(Path(args.prompts)) if args.prompts else None
    policy = Policy(args.strictness, args.language, texts, card=not args.no_card, output=args.output)
    task = Task((), tuple(tools), call_required=True, max_tokens=args.max_tokens, policy=policy)
    wrong = [one for one in repair(answer, task, None).outcomes if one.kind == "unresolved"]
    if not wrong:
        output.complain("otel-gate: the call fits; there is nothing to ask")
        return NOTHING
    request = next(repairing(answer, task, float), None)
    if request is None:
        output.complain("otel-gate: no tool is visible; there is nothing to ask")
        return NOTHING
    _say(request, wrong[0].issues, args.format)
    if more := len(wrong) - 1:
        output.complain(f"otel-gate: {counted(more, 'more call')} in it can't be executed; this asks for the first")
    return 0


def _say(request: Request, found: Sequence[Issue], form: str) -> None:
    if form == "json":
        output.say_json(json.text(_envelope(request, found)))
    elif request.prompt:
        issues.say(request.prompt.split("\n"))
    else:
        output.complain(
            f"otel-gate: the answer was cut off; send the request again with max_tokens={request.max_tokens}"
        )


def _envelope(request: Request, found: Sequence[Issue]) -> dict[str, Any]:
    kind = "repair" if request.tool else "select" if request.prompt else "again"
    tools = [tool.name for tool in request.tools]
    return {
        "schema": SCHEMA, "exit_code": 0, "kind": kind, "tool": request.tool, "prompt": request.prompt, "tools": tools,
        "max_tokens": request.max_tokens, "issues": issues.objects(found),
    }  # fmt: skip
