"""The activities of streams for observers: runs and copies with the device's times, waits, synchronisations, frees.

A device knows when an operator ran only by events around it. With an observer they are recorded, and read when
the stream is synchronised; without an observer, nothing of this is paid.
"""
from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from ..._dispatch import observers
from ..._dispatch.observers import ActivityEvent
from . import provider
from .constants import ACL_STREAM_STATUS_COMPLETE

if TYPE_CHECKING:
    from .queues import Queue
    from .runtime import _Runtime


_UNTIMED = nullcontext()


class Mark(NamedTuple):
    """The events before and after an operator or a copy."""

    kind: str
    name: str
    number: int
    begin: int
    end: int
    thread: int
    queued: int
    after: tuple[int, int] | None
    phases: tuple[int, int]  #: how long the calls took that put it there
    cores: str


def publish(kind: str, name: str, queue: Queue, start: int, duration: int, thread: int, number: int = 0,
            queued: int = 0, after: tuple[int, int] | None = None, phases: tuple[int, int] = (0, 0),
            cores: str = "") -> None:
    if observers.activity_observers:
        event = ActivityEvent(kind, name, queue.runtime.name, queue.number, start, duration, thread, number, queued,
                              after, "", phases, cores)
        for observer in observers.activity_observers:
            observer(event)


def note(kind: str, name: str, queue: Queue) -> None:
    """Note an activity that takes no time."""
    publish(kind, name, queue, perf_counter_ns(), 0, threading.get_ident())


@contextmanager
def host(kind: str, name: str, queue: Queue) -> Iterator[None]:
    """Time something that the host does for a stream, such as waiting for it."""
    start = perf_counter_ns()
    try:
        yield
    finally:
        publish(kind, name, queue, start, perf_counter_ns() - start, threading.get_ident())


def event_in(queue: Queue) -> int:
    """Record a new event in a stream and return its handle."""
    runtime = queue.runtime
    event, code = runtime.rt.create_event()
    runtime.check(code, "aclrtCreateEvent")
    try:
        runtime.check(runtime.rt.record_event(event, queue.handle), "aclrtRecordEvent")
    except BaseException:
        runtime.rt.destroy_event(event)
        raise
    return event


def now() -> int:
    """Return the host's time in nanoseconds if there is an observer, else 0."""
    return perf_counter_ns() if observers.activity_observers else 0


def timed(kind: str, name: str, queue: Queue, after: tuple[int, int] | None = None, planned: int = 0,
          operands: Any = ()) -> AbstractContextManager[None]:
    """Return a block that launches work whose first phase took ``planned`` ns, between two events if observed."""
    return _between_events(kind, name, queue, after, planned, operands) if observers.activity_observers else _UNTIMED


@contextmanager
def _between_events(kind: str, name: str, queue: Queue, after: tuple[int, int] | None, planned: int,
                    operands: Any) -> Iterator[None]:
    queued, begin = perf_counter_ns(), event_in(queue)
    called = perf_counter_ns()
    try:
        yield
    finally:
        phases = planned, perf_counter_ns() - called
        cores = provider.load().cores(name, operands) if kind == "run" else ""
        queue.marks.append(Mark(kind, name, queue.enqueued + 1, begin, event_in(queue), threading.get_ident(),
                                queued, after, phases, cores))


def resolve(queue: Queue) -> None:
    """Read the times of what has run by a synchronisation, and give its events back; the rest stays pending."""
    rt = queue.runtime.rt
    status, code = rt.stream_query(queue.handle)
    if not code and status != ACL_STREAM_STATUS_COMPLETE:
        return
    offset = _device_clock(queue)
    for _ in range(len(queue.marks)):
        mark = queue.marks.popleft()
        begin, failed = rt.event_get_timestamp(mark.begin)
        end, also_failed = rt.event_get_timestamp(mark.end)
        rt.destroy_event(mark.begin)
        rt.destroy_event(mark.end)
        if not failed and not also_failed:
            publish(mark.kind, mark.name, queue, begin * 1000 + offset, (end - begin) * 1000, mark.thread, mark.number,
                    mark.queued, mark.after, mark.phases, mark.cores)


_clocks: WeakKeyDictionary[_Runtime, tuple[object, int]] = WeakKeyDictionary()
CLOCK_SAMPLES = 5


def _device_clock(queue: Queue) -> int:
    """Return the host's clock minus the device's in ns, the same for all streams while the observers stay."""
    observing, offset = _clocks.get(queue.runtime, (None, 0))
    if observing is not observers.activity_observers:
        offset = min(_clock_sample(queue) for _ in range(CLOCK_SAMPLES))  # the others took longer to come back
        _clocks[queue.runtime] = observers.activity_observers, offset
    return offset


def _clock_sample(queue: Queue) -> int:
    event = event_in(queue)
    rt = queue.runtime.rt
    rt.synchronize_event(event)
    now = perf_counter_ns()
    stamp, failed = rt.event_get_timestamp(event)
    rt.destroy_event(event)
    return 0 if failed else now - stamp * 1000
