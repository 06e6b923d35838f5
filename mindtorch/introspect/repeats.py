"""Runs of a repeated pattern in a sequence: what lets a hundred equal layers be shown as one."""
from __future__ import annotations

import re
from collections.abc import Hashable, Sequence

PERIOD = 32  #: items at most that one repetition has


def repeats(keys: Sequence[Hashable], least: int = 3) -> list[tuple[int, int, int]]:
    """Cover a sequence, from its start on, with (start, period, times): ``times`` equal pieces of ``period`` items.

    A pattern counts as repeated if it comes at least ``least`` times in a row; what is not stands alone, as
    (start, 1, 1). Of several patterns the one that leaves the fewest items counts.
    """
    found, start = [], 0
    while start < len(keys):
        period, times = max(
            ((period, _times(keys, start, period)) for period in range(1, PERIOD + 1)),
            key=lambda pattern: (pattern[0] * (pattern[1] - 1) if pattern[1] >= least else 0, -pattern[0]))
        if times < least:
            period = times = 1
        found.append((start, period, times))
        start += period * times
    return found


def _times(keys: Sequence[Hashable], start: int, period: int) -> int:
    """Return how often the ``period`` items at ``start`` come in a row."""
    at = start
    while at + 2 * period <= len(keys) and keys[at : at + period] == keys[at + period : at + 2 * period]:
        at += period
    return (at - start) // period + 1


def pattern(name: str) -> str:
    """Replace the numbers in a name: equal for ``layers.3.weight`` and ``layers.4.weight``."""
    return re.sub(r"\d+", "#", name)


def span(names: Sequence[str]) -> str:
    """Return names of equal things as one: ``layers.0 … layers.5``; the name, if they all have the same."""
    return names[0] if names[0] == names[-1] else f"{names[0]} … {names[-1]}"
