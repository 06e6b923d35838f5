"""Races: what the simulator's sanitizer reports while a block runs, on the lanes of a timeline."""
from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from time import perf_counter_ns
from typing import Any

from .._backends.npu.queues import Queue
from .._backends.npu.runtime import runtimes
from .._dispatch.observers import ActivityEvent
from .libraries import libraries
from .names import named_tensors, storage_number

SIMULATOR = "mindtorch._backends.npu.simulator"  #: its module, there once a program uses it


@dataclass(frozen=True)
class Access:
    """An operator or copy that uses memory: on which lane, from ``start`` to ``end``, called at ``place``.

    What ran before the timeline began is on the lane '' at the time of its call. ``stream`` is what the program calls
    the stream, '' if the host itself does it.
    """

    name: str
    writes: bool
    place: str
    stream: str
    lane: str
    start: int
    end: int


@dataclass(frozen=True)
class Race:
    """Two uses of the same ``bytes`` bytes, in the order of their calls, of which one writes at least, and nothing
    makes one wait for the other. ``names`` are the tensors that see the memory, ``storage`` is its number, None if no
    name leads to it; ``cure`` is a line of program that, above the second call, orders them.
    """

    first: Access
    second: Access
    bytes: int
    names: tuple[str, ...]
    storage: int | None
    cure: str


class RaceWatch:
    """Finds the races that are reported from now on. ``namespace`` has the names of tensors and streams."""

    def __init__(self, namespace: Mapping[str, Any] | None):
        self.namespace = namespace or {}
        self._until = perf_counter_ns()
        self._found: list[tuple[tuple[Any, Any], int, tuple[str, ...], int | None]] = []

    def look(self) -> None:
        """See which memory the newest reports are about, as long as it is there."""
        for first, second, address, nbytes in _merged(report.race for report in self._new()):
            self._until = max(self._until, second.time)
            queue = _queue(first.stream) or _queue(second.stream)
            seen_by = {} if queue is None else _at(queue.runtime.name, address, self.namespace)
            number = storage_number(next(iter(seen_by.values()))) if seen_by else None
            self._found.append(((first, second), nbytes, tuple(sorted(seen_by)), number))

    def _new(self) -> list[Any]:
        reports = [] if (simulator := sys.modules.get(SIMULATOR)) is None else simulator.reports()
        return [report for report in reports if report.race is not None and report.race.second.time > self._until]

    def races(self, activities: Iterable[ActivityEvent], lane_of: Callable[[ActivityEvent], str]) -> Iterator[Race]:
        """Yield the races on lanes; ``activities`` give the times at which streams ran the calls."""
        ran = [event for event in activities if event.kind in ("run", "copy")]
        streams = _streams(self.namespace)
        for accesses, nbytes, names, storage in self._found:
            first, second = (_placed(access, ran, lane_of, streams) for access in accesses)
            waits = f"{second.stream}.wait_stream({first.stream})" if second.stream else f"{first.stream}.synchronize()"
            yield Race(first, second, nbytes, names, storage, waits)


def _merged(races: Iterable[Any]) -> Iterator[tuple[Any, Any, int, int]]:
    """Yield races (first, second, address, bytes), of which an operator that reads and writes its memory makes
    several.
    """
    by_calls = attrgetter("first.time", "second.time", "address")
    for _, group in groupby(sorted(races, key=by_calls), by_calls):
        same = list(group)
        first, second = (same[0][i]._replace(writes=any(race[i].writes for race in same)) for i in (0, 1))
        yield first, second, same[0].address, max(race.bytes for race in same)


def is_watched() -> bool | None:
    """Return True if the sanitizer looks for races; None where there is no simulator."""
    simulator = sys.modules.get(SIMULATOR)
    return None if simulator is None else simulator.sanitizer()


def _queue(handle: int | None) -> Queue | None:
    return next((queue for device in runtimes() for queue in device.queues if queue.handle == handle), None)


def _at(device: str, address: int, namespace: Mapping[str, Any]) -> dict[str, Any]:
    """Return the named tensors over the memory at an address; a search for others would delay the program."""
    named = dict(named_tensors(namespace))
    storages = [storage for library in libraries() for storage in library.storages(named.values())]
    seen_by = [id(tensor) for storage in storages for tensor in storage.tensors
               if storage.device == device and 0 <= address - storage.address < storage.bytes]
    return {name: tensor for name, tensor in named.items() if id(tensor) in seen_by}


def _streams(namespace: Mapping[str, Any]) -> dict[int, str]:
    """Return names of streams by their handles: the program's, or the default stream's."""
    found = {}
    for device in runtimes():
        for queue in device.queues:
            other = repr(device.name) if device.device_id else ""
            default = f"torch.npu.default_stream({other})"
            found[queue.handle] = default if queue is device.queue else f"stream_{queue.number}"
    named = [(name, value) for name, value in namespace.items()
             if type(value).__name__ == "Stream" and not name.startswith("_")]
    return found | {value.npu_stream: name for name, value in reversed(named) if hasattr(value, "npu_stream")}


def _placed(access: Any, ran: Iterable[ActivityEvent], lane_of: Callable[[ActivityEvent], str],
            streams: Mapping[int, str]) -> Access:
    """Place an access on its lane: the stream ran the last task enqueued before the call."""
    said = access.operator, access.writes, access.site, streams.get(access.stream, "")
    queue = _queue(access.stream)
    if queue is None:  # the host does it where it is called
        own = [event for event in ran
               if not event.number and event.start <= access.time <= event.start + event.duration]
    else:
        own = [event for event in ran if (event.device, event.stream) == (queue.runtime.name, queue.number)
               and event.name == access.operator and 0 < event.queued <= access.time]
    if not own:
        return Access(*said, "", access.time, access.time)
    event = max(own, key=lambda event: event.queued)
    return Access(*said, lane_of(event), event.start, event.start + event.duration)
