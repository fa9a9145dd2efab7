"""Several processes for one ``check``: each takes ranges of files, and the results come back in order."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from otel_gate.cli import configuration
from otel_gate.cli.scan import Scanner

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from otel_gate.cli.inputs import Source
    from otel_gate.cli.told import Policy, Scanned
    from otel_gate.settings import Settings

LEAST_BYTES = 1 << 22  # of a range: a process starts in about the time in which one reads this much


class Range(NamedTuple):
    """The blocks that begin in a range of bytes of a file; ``end`` None is its end."""

    source: Source
    start: int
    end: int | None


def scanner(policy: Policy, settings: Settings) -> Scanner:
    """Return what reads and judges as the settings say.

    Raises:
        UsageError: a name stands for something that is no rule.
        SettingsError: one stands for something that is no convention.
    """
    return Scanner(policy, configuration.rules(settings) if settings.rules else None, settings.conventions)


def scanned(
    sources: Sequence[Source], scanner: Scanner, settings: Settings, jobs: int
) -> Iterator[tuple[int, Scanned]]:
    """Scan files, and return what was found in each range with the number of its file, in order."""
    ranges = [one for source in sources for one in _ranges(source, jobs)]
    if jobs == 1 or len(ranges) == 1 or any(source.copy for source in sources):
        for source, start, end in ranges:
            yield source.number, scanner.scan(source, start, end)
    else:
        yield from _by_several(ranges, scanner, settings, jobs)


def _by_several(
    ranges: Sequence[Range], scanner: Scanner, settings: Settings, jobs: int
) -> Iterator[tuple[int, Scanned]]:
    from otel_gate.cli import forks  # noqa: PLC0415 - one process has none

    if settings.rules or not forks.are_safe():
        yield from _pooled(ranges, scanner, settings, jobs)
        return
    shares = _shares(ranges, min(jobs, len(ranges)))
    for found in forks.done(lambda share: [(one.source.number, scanner.scan(*one)) for one in share], shares):
        yield from found


def _pooled(ranges: Sequence[Range], scanner: Scanner, settings: Settings, jobs: int) -> Iterator[tuple[int, Scanned]]:
    """Scan in a pool of processes, each of which loads the rules that the settings name anew."""
    from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415 - dear to load, and seldom needed

    with ProcessPoolExecutor(min(jobs, len(ranges)), initializer=_begin, initargs=(scanner.policy, settings)) as pool:
        chunk = max(1, len(ranges) // (jobs * 8))
        yield from pool.map(_scan, ranges, chunksize=chunk)


def _shares(ranges: Sequence[Range], count: int) -> list[list[Range]]:
    """Divide ranges into about equal shares, in order; none is empty."""
    sizes = [(one.end or one.source.size) - one.start for one in ranges]
    whole, done = max(1, sum(sizes)), 0
    shares: list[list[Range]] = [[] for _ in range(count)]
    for one, size in zip(ranges, sizes, strict=True):
        shares[min(count - 1, (done + size // 2) * count // whole)].append(one)
        done += size
    return [share for share in shares if share]


def _ranges(source: Source, jobs: int) -> list[Range]:
    count = min(jobs, max(1, source.size // LEAST_BYTES)) if source.in_blocks else 1
    starts = [source.size * number // count for number in range(count)]
    ends = [*starts[1:], None]
    return [Range(source, start, end) for start, end in zip(starts, ends, strict=True)]


_scanners: list[Scanner] = []  # the one that a process of the pool works with


def _begin(policy: Policy, settings: Settings) -> None:
    _scanners.append(scanner(policy, settings))


def _scan(one: Range) -> tuple[int, Scanned]:
    return one.source.number, _scanners[0].scan(*one)
