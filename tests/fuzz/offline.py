"""Many random cases in one run, which tells how far it is, and its totals even when it is stopped before its end."""
from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from types import FrameType
from typing import NamedTuple

PROGRESS = 1000  #: cases between two lines about how far the run is
SHOWN = 3  #: differing cases of a kind that are printed


class Case(NamedTuple):
    """The outcome of one case."""

    kind: str  #: by which differing cases are counted: an operator, a way to run a program
    shown: str
    found: list[str]  #: in what the two libraries differ
    explained: Sequence[str] = ()  #: the reasons of differences that are meant to be


def run(cases: Iterable[Case], count: int, start: int, what: str) -> None:
    """Go through so many cases, the first of number ``start``, and print those that differ, and totals.

    The first SIGINT or SIGTERM ends the run after the case that is under way, the second at once.
    """
    differ: Counter[str] = Counter()
    explained: Counter[str] = Counter()
    stopped, done = False, 0

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal stopped
        stopped = True
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        for done, (kind, shown, found, reasons) in enumerate(cases, 1):
            explained.update(set(reasons))
            if found:
                differ[kind] += 1
                if differ[kind] <= SHOWN:
                    print(f"case {start + done - 1}: {' '.join(shown.split())[:300]}\n    {'; '.join(found)[:500]}")
            if done % PROGRESS == 0:
                print(f"{done} of {count}: {differ.total()} differ, {time.process_time():.0f} s of processor time",
                      flush=True)
            if stopped:
                break
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for reason, times in explained.most_common():
            print(f"    {times} explained: {reason}")
        print(f"{done} of {count} {what}: {differ.total()} differ{', stopped' * (done < count)}", flush=True)
        if differ:
            print("    " + ", ".join(f"{kind} {times}" for kind, times in differ.most_common()), flush=True)
