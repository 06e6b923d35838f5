"""Lesson 23: where does the time go?"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from ..._base.interrupts import contextmanager
from ..tasks import Lab, lesson

Event = tuple[str, int, float, float]  #: a name, the number of a thread, start and end
CASES: tuple[tuple[Event, ...], ...] = (
    (("add", 0, 2, 5),),
    (("add", 0, 0, 5), ("mul", 0, 6, 10)),
    (("mm", 0, 2, 9), ("linear", 0, 0, 10)),
    (("add", 0, 1, 3), ("mul", 0, 4, 8), ("block", 0, 0, 10)),
    (("mm", 0, 2, 7), ("linear", 0, 1, 9), ("block", 0, 0, 12)),
    (("add", 0, 0, 3), ("mul", 0, 3, 6), ("sub", 0, 6, 8), ("block", 0, 0, 8)),
    (("first", 0, 0, 4), ("block", 0, 0, 9), ("next", 0, 9, 11)),
    (("last", 0, 5, 9), ("block", 0, 0, 9), ("inside", 0, 9, 10), ("next", 0, 9, 12)),
    (("inner", 0, 2, 3), ("middle", 0, 2, 5), ("outer", 0, 2, 9)),
    (("apply", 0, 3, 4), ("apply", 0, 2, 6), ("apply", 0, 0, 7)),
    (("load", 1, 1, 6), ("train", 0, 0, 10)),
    (("load", 1, 0, 7), ("train", 0, 3, 10)),
    (("load", 1, 1, 3), ("mm", 0, 2, 4), ("read", 1, 4, 5), ("epoch", 1, 0, 6), ("train", 0, 1, 8)),
    (("block", 0, 0, 10), ("add", 0, 1, 3), ("mul", 0, 4, 8), ("copy", 0, 5, 6)),
    (("mul", 0, 14, 15), ("add", 0, 2, 3), ("block", 0, 1, 6), ("next", 0, 12, 19)),
    (),
)


def _run(function, *events):
    """Return the own times that a part returns, by event."""
    found = function(list(events))
    if not isinstance(found, list | tuple) or len(found) != len(events):
        count = len(found) if isinstance(found, list | tuple | dict) else "no"
        return {"what own_times returns": f"a {type(found).__name__} with {count} entries"}
    return {f"{place + 1}. {event[0]}": own for place, (event, own) in enumerate(zip(events, found, strict=True))}


@contextmanager
def replace_own_times(own_times: Callable[[Sequence[Event]], Sequence[float]]) -> Iterator[None]:
    """Have profiles that are read in a block take the operators' own times from ``own_times(events)``."""
    from ...autograd import profiler

    seam: Any = profiler
    own = seam._subtract_children

    def mine(events: Any) -> None:
        ended = sorted(events, key=lambda event: event.start + event.cpu_time_total)
        given = [(event.key, event.thread, event.start, event.start + event.cpu_time_total) for event in ended]
        for event, time in zip(ended, own_times(given), strict=True):
            event.self_cpu_time_total = time

    seam._subtract_children = mine
    try:
        yield
    finally:
        seam._subtract_children = own


def profiled(function: Callable[[], Any], rows: int = 6) -> dict[str, tuple[int, float, float]]:
    """Call a function, print a table of its longest operators and blocks, and return for each name the number of calls,
    its own time and its whole time, in milliseconds.
    """
    from ...profiler import profile

    function()  # what is done once is done
    with profile() as record:
        function()
    found = {row.key.removeprefix("aten::"): (row.count, row.self_cpu_time_total / 1000, row.cpu_time_total / 1000)
             for row in record.key_averages()}
    print(f"{'':24}{'calls':>7}{'own ms':>9}{'whole ms':>10}")
    for name, (count, own, whole) in sorted(found.items(), key=lambda item: -item[1][1])[:rows]:
        print(f"{name:24}{count:>7}{own:>9.2f}{whole:>10.2f}")
    return found


LESSON = lesson("profiles", own_times=partial(
    Lab, cases=CASES, run=_run, describe=lambda *events: f"own_times({[*events]})",
    refuses=("autograd.profiler._subtract_children",)))
