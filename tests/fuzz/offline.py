"""Many random cases in one run, which tells how far it is, and its totals even when it is stopped before its end."""
from __future__ import annotations

import json
import os
import re
import select
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from types import FrameType
from typing import Any, NamedTuple

PROGRESS = 1000  #: cases between two lines about how far the run is
SHOWN = 3  #: differing cases of a kind that are printed
PATIENCE = 300  #: seconds after which a process that says nothing hangs
FORK = 5000  #: cases that one process runs


class Case(NamedTuple):
    """The outcome of one case."""

    kind: str  #: by which differing cases are counted: an operator, a way to run a program
    shown: str
    found: list[str]  #: in what the two libraries differ
    explained: Sequence[str] = ()  #: the reasons of differences that are meant to be


class Explained(NamedTuple):
    """A difference that is meant to be: patterns of texts that describe it, the reason, and what proves that a case has
    this reason.
    """

    patterns: Sequence[str]
    reason: str
    proof: Callable[..., bool] | None = None


def explained(*rows: Sequence[Any]) -> list[Explained]:
    """Return a table of rows that each are patterns, a reason, and perhaps a proof."""
    return [Explained(row[:-2], *row[-2:]) if callable(row[-1]) else Explained(row[:-1], row[-1]) for row in rows]


def explanation(rows: Iterable[Explained], *texts: str, proven: Callable[[Explained], bool] = lambda row: True
                ) -> str | None:
    """Return the reason of the first row whose first pattern is the whole first text, whose others are a part of the
    others, and which is proven.
    """
    return next((row.reason for row in rows if re.fullmatch(row.patterns[0], texts[0])
                 and all(map(re.search, row.patterns[1:], texts[1:])) and proven(row)), None)


def in_forks(made: Callable[[int, Callable[[str], None]], Case], start: int, stop: int) -> Iterator[Case]:
    """Yield the cases of a range, which forks of this process make. ``made`` is given what notes whose turn it is,
    "ours" or "theirs"; where a fork dies or hangs, a case says so, which is PyTorch's if the turn was.
    """
    while start < stop:
        for case in in_fork(made, start, min(start + FORK, stop)):
            start += 1
            yield case


def in_fork(made: Callable[[int, Callable[[str], None]], Case], start: int, stop: int) -> Iterator[Case]:
    """Yield the cases of a range from one fork, as far as it gets; then, if it died or hangs, a case that says so."""
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(reader)
        with suppress(BrokenPipeError), os.fdopen(writer, "w", buffering=1) as out:  # whose end may find it broken
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            for number in range(start, stop):
                case = made(number, lambda text: print(json.dumps(text), file=out))
                print(json.dumps(case), file=out)
        os._exit(0)
    os.close(writer)
    last, done, hangs = "ours", start, False
    with os.fdopen(reader) as lines:
        while True:
            hangs = not select.select([lines], [], [], PATIENCE)[0]
            line = "" if hangs else lines.readline()
            if not line.endswith("\n"):
                break
            message = json.loads(line)
            if isinstance(message, str):
                last = message
            else:
                done += 1
                yield Case(*message)
        if hangs:
            os.kill(pid, signal.SIGKILL)
    status = os.waitpid(pid, 0)[1]
    if done < stop:
        said = "it hangs" if hangs else f"it ended with status {status}"
        ours = last == "ours"
        yield Case(f"{last} died", said, [said] if ours else [], [] if ours else ["PyTorch crashes."])


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
