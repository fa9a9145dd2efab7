"""The experiment on interface drift: what a model's calls are worth before it, after it, and after one repair.

Three arms (original, drifted, repaired) on examples of BFCL's whose gold tool is changed, one kind of drift at a time;
controls that ask once more too, without the issues (plain retry; "wrong, here are the tools"; a forced choice; the card
alone), the repair without its card, the same validator without any drift, and first calls of 256, 512 and 1,024 tokens.
What the drift broke and the repair gave back is counted apart from what was wrong before. A repair can't harm a call
that is valid, since those are never touched: harms are zero by construction, and the run fails when one is counted.

    python benchmarks/drift.py                                       the scripted model, with each figure's prediction
    python benchmarks/drift.py --endpoint http://127.0.0.1:8000/v1 --model NAME [--key-from ENV]
    python benchmarks/drift.py --replay calls.jsonl                  recorded calls, without any model

Exit codes (DESIGN section 6): 0, 1 a harm was counted, 64 usage, 66 no calls, data or script, or no answer of the
endpoint: one that fails ends the run, since its failure would count as the model's.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiment import figures, scripted
from experiment.arms import ARMS, Runs
from experiment.endpoint import endpoint
from experiment.examples import load
from experiment.replay import replay

from otel_gate.cli import output
from otel_gate.cli.arguments import Parser, count
from otel_gate.errors import GateError, InputError
from otel_gate.toolcalls.drifts import KINDS, applies

if TYPE_CHECKING:
    import argparse

    from experiment.arms import Models, Result
    from experiment.examples import Example

DATA = Path(__file__).resolve().parents[2] / "shared" / "bfcl"
PAPER = ("stale_examples", "renamed_parameters", "look_alikes")
PAIRS = (("drifted", "repaired"), ("retry", "repaired"), ("told_wrong", "repaired"), ("forced", "repaired"),
         ("card_only", "repaired"), ("no_card", "repaired"), ("original", "no_drift"))  # fmt: skip


def main() -> int:
    """Run the experiment, or replay recorded calls, and return the exit code."""
    try:
        return run(arguments())
    except GateError as error:
        output.complain(f"drift.py: {str(error).removeprefix('drift.py: ')}")
        return error.exit_code


def run(args: argparse.Namespace) -> int:
    """Do what was asked for.

    Raises:
        GateError: what was given can't be used.
    """
    if args.replay:
        print(json.dumps(replay(args.replay), indent=1))
        return 0
    usable = [one for one in load(args.data, len(KINDS) * 10_000, args.seed) if _usable(one)]
    reports = []
    for kind in args.drifts:
        examples = [one for one in usable if applies(kind, _gold_tool(one))][: args.examples]
        if not examples:
            raise InputError(str(args.data), f"examples that {kind} can change", "none", "the folder of BFCL's files")
        models, script = _models(args, examples)
        report = experiment(kind, examples, args.seed, models, script)
        reports.append(report)
        if args.format == "text":
            print(text(report))
    if args.format == "json":
        print(json.dumps(reports, indent=1))
    return int(any(report["harms"] for report in reports))


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = Parser(prog="drift.py", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--examples", type=count, default=200, metavar="N", help="of each drift (default: 200)")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument(
        "--drifts", nargs="+", choices=list(KINDS), default=list(PAPER), metavar="KIND", help=", ".join(KINDS)
    )
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of BFCL's files")
    parser.add_argument("--script", metavar="FILE", help="other rates of the scripted model, as JSON")
    parser.add_argument(
        "--endpoint", metavar="URL", help="an OpenAI-compatible endpoint in place of the scripted model"
    )
    parser.add_argument("--model", default="", help="the model's name at the endpoint")
    parser.add_argument("--key-from", default="OPENAI_API_KEY", metavar="ENV", help="the variable that holds the key")
    parser.add_argument(
        "--replay", metavar="FILE", help="recorded calls, one JSON object a line (experiment/replay.py)"
    )
    parser.add_argument("--format", choices=("text", "json"), default="text")
    return parser.parse_args()


def _gold_tool(example: Example) -> Any:
    return next(tool for tool in example.tools if tool.name == example.gold.tool)


def _usable(example: Example) -> bool:
    """Say whether each kind of error can be made in an example."""
    return bool(scripted.plain_field(_gold_tool(example), example.gold.arguments))


def _models(args: argparse.Namespace, examples: list[Example]) -> tuple[Models, scripted.Scripted | None]:
    if not args.endpoint:
        made = scripted.Scripted(scripted.load(args.script), examples, args.seed)
        return made, made
    model = endpoint(args.endpoint, args.model, os.environ.get(args.key_from, "none"))
    return (lambda *_: model), None


def experiment(
    kind: str, examples: list[Example], seed: int, models: Models, script: scripted.Scripted | None
) -> dict[str, Any]:
    """Run every arm of one kind of drift, and return the figures."""
    runs = Runs(examples, kind, seed, models)
    results = {arm.name: runs.run(arm) for arm in ARMS}
    made: dict[str, Any] = {"drift": kind, "arms": {name: figures.of_arm(found) for name, found in results.items()}}
    if script:
        added = kind == "look_alikes"
        for arm in ARMS:
            likely = [script.predicted(one, arm, len(one.tools) + (added and arm.drifted)) for one in examples]
            made["arms"][arm.name]["predicted"] = statistics.fmean(likely)
    made["pairs"] = {
        f"{one} -> {two}": figures.mcnemar(_rights(results[one]), _rights(results[two])) for one, two in PAIRS
    }
    made["recovery"] = figures.recovery(results["original"], results["drifted"], results["repaired"])
    repaired = [arm.name for arm in ARMS if arm.remedy]
    made["harms"] = sum(made["arms"][name]["harms"] for name in repaired)
    return made


def _rights(results: list[Result]) -> list[bool]:
    return [one.right for one in results]


def text(report: dict[str, Any]) -> str:
    """Return the figures of one kind of drift as a page."""
    lines = [f"{report['drift']}: {report['arms']['original']['examples']} examples"]
    lines.append(
        f"  {'arm':<14} {'score':>6} {'95 %':>15} {'predicted':>9}"
        f" {'trigger':>7} {'requests':>8} {'tokens':>7} {'ms':>7}"
    )
    for name, arm in report["arms"].items():
        low, high = arm["interval"]
        likely = f"{arm['predicted']:.3f}" if "predicted" in arm else "-"
        lines.append(
            f"  {name:<14} {arm['score']:>6.3f} {low:>7.3f}-{high:.3f} {likely:>10} {arm['triggered']:>7.3f}"
            f" {arm['requests']:>8.2f} {arm['tokens']:>7.0f} {arm['latency_ms']:>7.1f}"
        )
    for pair, found in report["pairs"].items():
        lines.append(f"  {pair}: +{found['gained']} -{found['lost']}, McNemar's exact p = {found['p']:.2g}")
    found = report["recovery"]
    lines.append(f"  broken by the drift: {found['broken']}, of these recovered: {found['recovered']}")
    lines.append(f"  wrong before it already: {found['wrong_before']}, of these patched: {found['patched']}")
    lines.append(f"  valid calls harmed: {report['harms']} (zero by construction: a valid call is never touched)")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
