"""One timeline of several processes: what each rank computes, sends and waits for, on one time axis."""
from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from time import perf_counter_ns
from typing import Any

from .._autograd.grad_mode import no_grad
from .._base.durations import time_text
from .._creation import tensor as make_tensor, zeros
from .._dtype import int64
from ..distributed._collectives.groups import ProcessGroup, resolve
from ..distributed._collectives.objects import _device, all_gather_object
from ..distributed._collectives.operations import broadcast, recv, send
from .spans import NETWORK, Span, Timeline

ROUNDS = 8  #: messages to and fro by which a clock is read
RANK = re.compile(r"(rank \d+) ?(.*)")
WORKS = ("run", "copy", "enqueue")  #: kinds of spans in which the program of a rank gets on


@dataclass(frozen=True)
class RankShare:
    """What became of a rank's time, in nanoseconds: its program ``computes``, or it ``waits`` until data is there. The
    network ``exchanges`` data after it was ``late``, while other ranks had not made the same call. What is exchanged
    while the program computes is ``hidden``: it costs nothing.
    """

    rank: str
    computes: int
    waits: int
    late: int
    exchanges: int
    hidden: int


@dataclass(frozen=True)
class RankOutput:
    """What a rank has said while it ran a cell: its streams, what it displayed (by MIME type), an ``error`` with its
    ``trace`` ('' if there is none), and whether it is ``done``.
    """

    rank: int
    stdout: str = ""
    stderr: str = ""
    shown: tuple[dict[str, Any], ...] = ()
    error: str = ""
    trace: str = ""
    done: bool = True


def timeline_of_ranks(found: Timeline, group: Any = None) -> Timeline:
    """Put the timelines of all ranks of a group together; all of them make this call, and have the same result.

    A rank has two lanes: ``rank 0``, with the lines of its program, of which each takes from its first operator to its
    last, and the waits for data; and ``rank 0 network``. Streams and other threads have lanes of their own.

    The clocks are aligned as follows. Rank 0 asks every other rank for its time, several times, and takes the answer
    that came soonest as that of the middle between question and answer. An offset that is smaller than half of the time
    in between could be none at all, and counts as none: processes of one machine share a clock.

    Args:
        found: what ``timeline`` noted in this rank.
        group: the group; the world unless given.
    """
    group = resolve(group)
    offset, error = clock_offset(group)
    parts: list[Any] = [None] * group.size()
    all_gather_object(parts, ([_of_rank(span, offset) for span in found.spans], found.lanes, offset, error), group)
    spans, lanes = [], []
    for rank, (own, names, _, _) in zip(group.ranks, parts, strict=True):
        host = [span for span in own if span.lane == "host"]
        own = [*_lines(host), *(span for span in own if span.lane != "host" or span.kind == "sync")]
        spans += [replace(span, lane=lane_of(rank, span.lane)) for span in own]
        lanes += [lane_of(rank, name) for name in sorted(names, key=lambda name: (name != "host", name != NETWORK))]
    apart, unknown = max(abs(part[2]) for part in parts), max(part[3] for part in parts)
    clocks = (f"clocks of ranks were up to {time_text(apart)} apart" if apart else "the ranks have one clock"
              ) + f", as far as can be measured: to {time_text(unknown)}"
    return Timeline(tuple(sorted(spans, key=lambda span: (span.start, -span.end))), tuple(lanes), clocks=clocks)


def lane_of(rank: int, name: str) -> str:
    """Return a lane's name among those of several ranks."""
    return f"rank {rank}" + ("" if name == "host" else f" {name}")


def rank_and_lane(lane: str) -> tuple[str, str]:
    """Split a lane's name into its rank (``rank 3``, or '') and its name there."""
    match = RANK.fullmatch(lane)
    return ("", lane) if match is None else (match[1], match[2] or "host")


def _of_rank(span: Span, offset: int) -> Span:
    return replace(span, start=span.start - offset, end=span.end - offset)


def _lines(spans: Iterable[Span]) -> Iterator[Span]:
    """Yield operators that one line of the program calls after each other, as one span."""
    called = (span for span in spans if span.kind != "sync")
    for line, group in groupby(called, key=lambda span: span.line or span.name):
        some = list(group)
        kind = "enqueue" if all(span.kind == "enqueue" for span in some) else "run"
        place = some[0].detail.rpartition("called at ")[2]
        yield Span("host", line, kind, some[0].start, max(span.end for span in some),
                   f"{len(some)} operator{'s' * (len(some) > 1)}, called at {place}", line)


def clock_offset(group: ProcessGroup, clock: Callable[[], int] = perf_counter_ns) -> tuple[int, int]:
    """Return by how many ns this clock is ahead of rank 0's, and the error; all ranks make this call."""
    here, device = group.rank(), _device(group)
    table = zeros(group.size(), 2, dtype=int64, device=device)
    with no_grad():
        for other in range(1, group.size()):
            if here == 0:
                table[other] = make_tensor(_measured(group, other, clock))
            elif here == other:
                question = zeros(1, dtype=int64, device=device)
                for _ in range(ROUNDS):
                    recv(question, group=group, group_src=0)
                    send(make_tensor([clock()], device=device), group=group, group_dst=0)
        broadcast(table, group=group, group_src=0)
    offset, error = table[here].tolist()
    return (0 if abs(offset) <= error else offset), error


def _measured(group: ProcessGroup, other: int, clock: Callable[[], int]) -> tuple[int, int]:
    answer, best = zeros(1, dtype=int64, device=_device(group)), (0, 2**62)
    for _ in range(ROUNDS):
        asked = clock()
        send(answer, group=group, group_dst=other)
        recv(answer, group=group, group_src=other)
        answered = clock()
        found = int(answer) - (asked + answered) // 2, (answered - asked) // 2 + 1
        best = min(best, found, key=lambda pair: pair[1])
    return best


def rank_shares(timeline: Timeline) -> tuple[RankShare, ...]:
    """Compute how each rank of a timeline spent its time."""
    found: dict[str, dict[tuple[str, str], list[tuple[int, int]]]] = {}
    for span in timeline.spans:
        rank, lane = rank_and_lane(span.lane)
        if rank:
            what = "works" if lane != NETWORK and span.kind in WORKS else span.kind
            key = (NETWORK if lane == NETWORK else "host", what)
            found.setdefault(rank, {}).setdefault(key, []).append((span.start, span.end))
    ranks = dict.fromkeys(rank_and_lane(lane)[0] for lane in timeline.lanes)
    return tuple(_share(rank, found.get(rank, {})) for rank in ranks if rank)


def _share(rank: str, times: dict[tuple[str, str], list[tuple[int, int]]]) -> RankShare:
    waits, late, exchanges = (_union(times.get(key, ())) for key in
                              (("host", "sync"), (NETWORK, "wait"), (NETWORK, "exchange")))
    computes = _without(_union(times.get(("host", "works"), ())), waits)
    return RankShare(rank, _length(computes), _length(waits), _length(late), _length(exchanges),
                     _length(exchanges) - _length(_without(exchanges, computes)))


def _union(times: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Merge times into order without overlaps."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(times):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((start, end))
    return found


def _without(times: Iterable[tuple[int, int]], others: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Subtract times from others; both are in order without overlaps."""
    others, found = list(others), []
    for start, end in times:
        for begin, until in others:
            if begin < end and until > start:
                if begin > start:
                    found.append((start, begin))
                start = max(start, until)
        if start < end:
            found.append((start, end))
    return found


def _length(times: Iterable[tuple[int, int]]) -> int:
    return sum(end - start for start, end in times)
