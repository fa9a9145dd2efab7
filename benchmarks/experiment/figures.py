"""Figures of the experiment: shares with bootstrap intervals, McNemar's test of pairs, recovery and patching."""

from __future__ import annotations

import math
import random
import statistics
from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from experiment.arms import Result

RESAMPLES = 2_000


def interval(values: Sequence[float], seed: int = 0) -> tuple[float, float]:
    """Return the bootstrap interval (95 %, percentile) of a mean."""
    chance = random.Random(seed)  # noqa: S311 - an experiment's seed
    means = sorted(statistics.fmean(chance.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return means[int(0.025 * RESAMPLES)], means[int(0.975 * RESAMPLES) - 1]


def mcnemar(one: Sequence[bool], other: Sequence[bool]) -> dict[str, Any]:
    """Compare two arms on the same examples: how often only one of them is right, and the exact two-sided p."""
    pairs = Counter(zip(one, other, strict=True))
    gained, lost = pairs[False, True], pairs[True, False]
    count, least = gained + lost, min(gained, lost)
    tail = sum(math.comb(count, hits) for hits in range(least + 1)) / 2**count
    return {"gained": gained, "lost": lost, "p": min(1.0, 2 * tail)}


def of_arm(results: Sequence[Result]) -> dict[str, Any]:
    """Return what one arm came to: score, trigger, validity, issues, and what an example cost."""
    rights = [float(one.right) for one in results]
    low, high = interval(rights)
    return {
        "examples": len(results),
        "score": statistics.fmean(rights),
        "interval": [low, high],
        "triggered": statistics.fmean(one.triggered for one in results),
        "valid": statistics.fmean(one.valid for one in results),
        "issues": dict(sorted(Counter(code for one in results for code in one.codes).items())),
        "requests": statistics.fmean(one.requests for one in results),
        "tokens": statistics.fmean(one.tokens for one in results),
        "latency_ms": statistics.fmean(one.latency_ms for one in results),
        "harms": sum(one.right_first and not one.right for one in results),
    }


def recovery(original: Sequence[Result], drifted: Sequence[Result], repaired: Sequence[Result]) -> dict[str, Any]:
    """Tell apart what the drift broke and the repair gave back from what was wrong before the drift already."""
    broken = patchable = recovered = patched = 0
    for before, after, last in zip(original, drifted, repaired, strict=True):
        if not after.right:
            broken, recovered = broken + before.right, recovered + (before.right and last.right)
            patchable, patched = patchable + (not before.right), patched + (not before.right and last.right)
    return {"broken": broken, "recovered": recovered, "wrong_before": patchable, "patched": patched}
