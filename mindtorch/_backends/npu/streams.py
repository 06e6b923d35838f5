"""Streams and events: ``torch.npu.Stream``, ``torch.npu.Event``, and which stream a thread works on."""
from __future__ import annotations

import threading
from contextlib import nullcontext
from types import TracebackType
from typing import Any

from ..._base import streams
from ..._base.interrupts import Undo, leaving, uninterrupted
from ..._device import device as Device, resolve_device
from . import activities, runtime
from .constants import ACL_EVENT_RECORDED_STATUS_COMPLETE, ACL_EVENT_SYNC, ACL_EVENT_TIME_LINE
from .errors import check
from .queues import Queue, end
from .runtime import current_queue, get_runtime, thread

#: A device, its name, or its index; None: the current one.
DeviceLike = Device | str | int | None


def device_index(device: DeviceLike = None) -> int:
    """Return the index of an int, a device or its name, None for the current one; ValueError if not an NPU."""
    if device is None:
        return thread.device
    if isinstance(device, int):
        return device
    found = resolve_device(device)
    if found.type != "npu":
        raise ValueError(f"Expected a npu device, but got: {found}")
    return found.index or 0


class Stream(streams.Stream):
    """A queue of work on a device, which runs in order; different streams run at the same time (``torch.cuda.Stream``).

    As a context manager it is the thread's current stream of the block. After its last reference has gone it is
    destroyed, once what is in it has run.
    """

    def __init__(self, device: DeviceLike = None, priority: int = 0, *, _queue: Queue | None = None):
        self.queue = _queue or get_runtime(device_index(device)).new_queue(priority)
        if _queue is None:  # not destroyed at its end: the collector may run in any thread, and must not wait
            self.queue.end = end(self, self.queue.runtime.abandoned.append, self.queue)
        self.priority = priority

    @property
    def device(self) -> Device:
        """The device that runs the stream (``torch.cuda.Stream.device``)."""
        return self.queue.runtime.device

    @property
    def device_index(self) -> int:
        """The index of the device that runs the stream (``torch.Stream.device_index``)."""
        return self.queue.runtime.device_id

    @property
    def stream_id(self) -> int:
        """The stream's number on its device, 0 for the default stream (``torch.cuda.Stream.stream_id``)."""
        return self.queue.number

    @property
    def npu_stream(self) -> int:
        """The handle of the stream in pyACL (``torch.cuda.Stream.cuda_stream``)."""
        return self.queue.handle

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and other.queue is self.queue

    def __hash__(self) -> int:
        return hash(self.queue)

    def __repr__(self) -> str:
        return f"<torch.npu.Stream device={self.device} stream_id={self.stream_id} npu_stream={self.npu_stream:#x}>"

    def query(self) -> bool:
        """Return whether all that was put into the stream has run, without waiting (``torch.cuda.Stream.query``)."""
        return self.queue.is_idle()

    def synchronize(self) -> None:
        """Wait until all has run (``torch.cuda.Stream.synchronize``); RuntimeError names what failed."""
        self.queue.synchronize()

    def record_event(self, event: Event | None = None) -> Event:
        """Record an event, by default a new one, after what is in the stream (``torch.cuda.Stream.record_event``)."""
        event = event or Event()
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Let what is put into the stream from now on wait for an event (``torch.cuda.Stream.wait_event``)."""
        event.wait(self)

    def wait_stream(self, stream: Stream) -> None:
        """Let what is put in from now on wait for what is in another stream now (``torch.cuda.Stream.wait_stream``)."""
        self.wait_event(stream.record_event())

    def _leaving(self) -> Undo:
        index, depth = self.device_index, len(_entered.before)
        before = thread.device, current_queue(index)

        def undo(gone: Any) -> None:
            thread.device, thread.queues[index] = before
            del _entered.before[depth:]

        return undo

    def __enter__(self) -> Stream:
        index = self.device_index
        _entered.before.append((thread.device, current_queue(index)))
        thread.queues[index] = self.queue
        thread.device = index
        return self

    @leaving(_leaving)
    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        thread.device, thread.queues[self.device_index] = _entered.before.pop()


class _Entered(threading.local):
    """A thread's device, and its stream of the block's device, before each block that it is in."""

    def __init__(self) -> None:
        self.before: list[tuple[int, Queue]] = []


_entered = _Entered()


def default_stream(device: DeviceLike = None) -> Stream:
    """Return the stream that a thread works on until it chooses another one (``torch.cuda.default_stream``)."""
    return Stream(_queue=get_runtime(device_index(device)).queue)


def current_stream(device: DeviceLike = None) -> Stream:
    """Return the stream that this thread works on (``torch.cuda.current_stream``)."""
    return Stream(_queue=current_queue(device_index(device)))


def set_stream(stream: Stream) -> None:
    """Make a stream the one that this thread works on, and its device the current one (``torch.cuda.set_stream``)."""
    thread.device = stream.device_index
    thread.queues[stream.device_index] = stream.queue


def stream(stream: Stream | None) -> Any:
    """Return a block in which this thread works on a stream; None changes nothing (``torch.cuda.stream``)."""
    return nullcontext() if stream is None else stream


class Event(streams.Event):
    """A mark in a stream that other streams and the host can wait for (``torch.cuda.Event``).

    Args:
        enable_timing: whether :meth:`elapsed_time` will be asked for.
        blocking: taken for PyTorch's sake; waiting never spins here.
    """

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False):
        if interprocess:
            raise RuntimeError("events of several processes are not supported on the NPU")
        self.enable_timing, self.blocking = enable_timing, blocking
        self._handle: int | None = None
        self._queue: Queue | None = None
        self._number = 0

    @property
    def npu_event(self) -> int | None:
        """The handle of the event in pyACL, None before the event is recorded (``torch.cuda.Event.cuda_event``)."""
        return self._handle

    @property
    def device(self) -> Device | None:
        """The device of the stream that the event was recorded in, None before (``torch.cuda.Event.device``)."""
        return None if self._queue is None else self._queue.runtime.device

    def _made_for(self, queue: Queue) -> int:
        if self._queue is not None and self._queue.runtime is not queue.runtime:
            raise RuntimeError(f"Event device {self._queue.runtime.name} does not match recording stream's device "
                               f"{queue.runtime.name}.")
        if self._handle is None:
            queue.runtime.destroy_events()
            flag = ACL_EVENT_TIME_LINE | ACL_EVENT_SYNC if self.enable_timing else ACL_EVENT_SYNC
            self._handle, code = runtime.acl.rt.create_event_ex_with_flag(flag)
            check(code, "aclrtCreateEventExWithFlag", queue.runtime.name)
            # Not destroyed at its end, which may come in the middle of a launch.
            queue.runtime.events.add(end(self, queue.runtime.dropped_events.append, self._handle))
        return self._handle

    def record(self, stream: Stream | None = None) -> None:
        """Mark what is in a stream now, by default in the current one (``torch.cuda.Event.record``)."""
        queue = current_queue(thread.device) if stream is None else stream.queue
        queue.runtime.activate()
        handle = self._made_for(queue)
        self._queue, self._number = queue, queue.enqueued
        check(runtime.acl.rt.record_event(handle, queue.handle), "aclrtRecordEvent", queue.runtime.name)

    def wait(self, stream: Stream | None = None) -> None:
        """Let what is put into a stream, by default the current one, wait for the event (``torch.cuda.Event.wait``)."""
        if self._queue is None:
            return  # as in PyTorch: never recorded, nothing to wait for
        queue = current_queue(thread.device) if stream is None else stream.queue
        queue.runtime.activate()
        with activities.timed("wait", f"stream {queue.number} waits for stream {self._queue.number}", queue,
                              (self._queue.number, self._number)):
            code = runtime.acl.rt.stream_wait_event(queue.handle, self._handle)
        check(code, "aclrtStreamWaitEvent", queue.runtime.name)
        if queue is not self._queue:
            queue.waits.append((self, self._queue, self._number, queue.enqueued))

    def is_recorded_at(self, number: int) -> bool:
        """Return whether the event still marks what was in its stream up to an operator, and was not recorded again."""
        return self._number == number and self._queue is not None and not self._queue.is_destroyed

    def query(self) -> bool:
        """Return whether the event has been passed, without waiting (``torch.cuda.Event.query``)."""
        if self._queue is None:
            return True
        self._queue.runtime.activate()
        status, code = runtime.acl.rt.query_event_status(self._handle)
        check(code, "aclrtQueryEventStatus", self._queue.runtime.name)
        return bool(status == ACL_EVENT_RECORDED_STATUS_COMPLETE)

    def synchronize(self) -> None:
        """Wait until the event is passed (``torch.cuda.Event.synchronize``); RuntimeError names what failed."""
        if self._queue is None:
            return
        queue = self._queue
        queue.runtime.activate()
        with uninterrupted():
            restarts = queue.restarts
            with activities.host("sync", "synchronize event", queue):
                code = runtime.acl.rt.synchronize_event(self._handle)
            queue.reached(self._number, restarts, code, "aclrtSynchronizeEvent")

    def elapsed_time(self, end_event: Event) -> float:
        """Return the time between this event and a later one in milliseconds (``torch.cuda.Event.elapsed_time``).
        Raises ValueError if one was not made with ``enable_timing``, or not recorded, and RuntimeError if one has not
        been passed yet.
        """
        if not self.enable_timing or not end_event.enable_timing:
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self._queue is None or end_event._queue is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        if not self.query() or not end_event.query():
            raise RuntimeError("Both events must be completed before calculating elapsed time.")
        milliseconds, code = runtime.acl.rt.event_elapsed_time(self._handle, end_event._handle)
        check(code, "aclrtEventElapsedTime", self._queue.runtime.name)
        return milliseconds

    def __repr__(self) -> str:
        return "<torch.npu.Event uninitialized>" if self._handle is None else f"<torch.npu.Event {self._handle:#x}>"
