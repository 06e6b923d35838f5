"""Streams, their workers, and events: tasks run one after the other on a stream, and beside each other on several."""
from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import count
from math import inf
from queue import SimpleQueue
from time import monotonic, perf_counter_ns, sleep
from typing import TYPE_CHECKING, Any

import numpy as np

from ...._base.interrupts import give_way, in_main_thread
from ..constants import (
    ACL_ERROR_RT_AICORE_EXCEPTION, ACL_ERROR_RT_INVALID_HANDLE, ACL_ERROR_RT_LOST_HEARTBEAT,
    ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, ACL_ERROR_RT_STREAM_TASK_FULL,
)
from . import faults
from .costs import costs
from .errors import Fault

if TYPE_CHECKING:
    from .devices import Context


PATIENCE = 0.05  #: seconds after which a wait of the main thread looks for interrupts
DEPTH = 2048  #: tasks that a stream of an Ascend 910B can hold; a thread that queues another one waits


class Latch:
    """Closed until it is opened, once; then all who wait go on. Waiting releases the GIL."""

    __slots__ = ("_lock", "is_open")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lock.acquire()
        self.is_open = False

    def open(self) -> None:
        if not self.is_open:
            self.is_open = True
            self._lock.release()

    def wait(self, seconds: float = -1) -> bool:
        """Return whether it was opened within this time; -1: however long it takes. An interrupt may end it."""
        end = inf if seconds < 0 else monotonic() + seconds
        while not self.is_open and (left := end - monotonic()) > 0:
            left = min(left, PATIENCE) if in_main_thread() else left
            if self._lock.acquire(timeout=-1 if left == inf else left):
                self._lock.release()
            give_way()
        return self.is_open


class Task:
    """The next piece of a stream's work. A stopped stream skips it unless other streams wait for it."""

    __slots__ = ()
    always = False
    latch: Latch | None = None  #: opened when the task is done

    def run(self, stream: Stream) -> None:
        raise NotImplementedError


class Call(Task):
    """A copy, fill or callback: a function and its name; ``keep`` lives until it ran, ``nbytes`` are copied."""

    __slots__ = ("function", "inside", "keep", "name", "nbytes")

    def __init__(self, name: str, function: Callable[[], Any], keep: Any = None, nbytes: int = 0,
                 inside: bool = False):
        self.name, self.function, self.keep, self.nbytes, self.inside = name, function, keep, nbytes, inside

    def run(self, stream: Stream) -> None:
        model = costs.copy(self.nbytes, self.inside) * costs.scale if costs.scale and self.nbytes else 0.0
        stream.pause(self.name, model)
        self.function()

    def __repr__(self) -> str:
        return self.name


class Record(Task):
    """A point in a stream, where an event was recorded. ``fault`` is how the stream had failed until there."""

    __slots__ = ("clock", "fault", "latch", "nanoseconds", "stream")
    always = True

    def __init__(self, stream: Stream) -> None:
        self.stream, self.latch = stream, Latch()
        self.nanoseconds = 0
        self.fault: Fault | None = None
        self.clock: dict[int, int] = {}

    def run(self, stream: Stream) -> None:
        self.fault = stream.fault
        self.nanoseconds = perf_counter_ns()


class Wait(Task):
    """Wait for what was recorded in another stream."""

    __slots__ = ("event", "record")
    always = True

    def __init__(self, event: Event, record: Record):
        self.event, self.record = event, record

    def run(self, stream: Stream) -> None:
        assert self.record.latch is not None
        try:
            self.record.latch.wait()
        finally:
            with self.event.lock:
                self.event.waiting -= 1


class Reset(Task):
    """Make an event as if it had not been recorded."""

    __slots__ = ("event", "record")

    def __init__(self, event: Event, record: Record | None):
        self.event, self.record = event, record

    def run(self, stream: Stream) -> None:
        with self.event.lock:
            if self.event.record is self.record:
                self.event.record = None


class Mark(Task):
    """A place where a host thread waits and takes the stream's failure, so that the stream works again."""

    __slots__ = ("fault", "is_left", "latch")
    always = True

    def __init__(self) -> None:
        self.latch: Latch = Latch()
        self.fault: Fault | None = None
        self.is_left = False

    def run(self, stream: Stream) -> None:
        with stream.lock:
            if not self.is_left:
                self.fault, stream.fault = stream.fault, None


class Event:
    """An event: the last point where it was recorded, and how many streams have yet to pass a wait for it."""

    label = "aclrtEvent"

    def __init__(self, flag: int, ex: bool = False):
        self.flag, self.ex = flag, ex  #: ``ex``: made by aclrtCreateEventExWithFlag
        self.record: Record | None = None
        self.waiting = 0
        self.lock = threading.Lock()


class Stream:
    """A queue of tasks and the thread that works on it, started at the first task.

    ``number`` is the lowest that no other stream of the device has, None for the default stream of a context; ``key``
    is its own for ever. ``submitted`` and ``completed`` count tasks other than marks. ``fault`` is the first thing that
    went wrong since the last report. What is queued behind that runs nevertheless, on whatever lies there, unless a
    stream of the context was told to stop on failure: then no stream of the context runs anything further, or takes it.
    """

    label = "aclrtStream"
    next_key = count().__next__

    def __init__(self, context: Context, number: int | None):
        self.context, self.device, self.number, self.key = context, context.device, number, Stream.next_key()
        self.failure_mode: int | None = None
        self.submitted = self.completed = 0
        self.fault: Fault | None = None
        self.is_stopped = False
        self._skip_until = 0
        self._queue: SimpleQueue[Task | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._closed = False
        self.lock = threading.Lock()
        self._gate: Latch | None = None
        self._paused_by = 0  #: the thread that goes on only after a block of its own, in which nothing starts
        self._hurry = Latch()

    def __repr__(self) -> str:
        name = "the default stream" if self.number is None else f"stream {self.number}"
        return f"{name} of device {self.device.number}"

    # -- the caller's side -------------------------------------------------------------------------------------------

    def submit(self, task: Task) -> None:
        """Queue a task once there is room; Fault if the stream is destroyed, stopped, or held for ever."""
        if self.submitted - self.completed >= DEPTH:
            self._wait_for_room()
        if (stopped := self.context.failure) is not None:
            raise Fault(stopped.code, f"{self} takes nothing more, since all streams of the context stopped: "
                                      f"{stopped.message}")
        with self.lock:
            if self._closed:
                raise Fault(ACL_ERROR_RT_INVALID_HANDLE, f"{self} was destroyed")
            if self._thread is None:
                name = f"npu:{self.device.number} stream {self.number}"
                self._thread = threading.Thread(target=self._work, name=name, daemon=True)
                self._thread.start()
            self.submitted += 1
            self._queue.put(task)

    def _wait_for_room(self) -> None:
        """Wait until the queue has room: the host cannot be further ahead than its depth."""
        while self.submitted - self.completed >= DEPTH and not self._closed:
            if self._gate is not None:
                raise Fault(ACL_ERROR_RT_STREAM_TASK_FULL, f"{self} is held with {DEPTH} tasks: it takes no more")
            sleep(PATIENCE / 100)
            give_way()

    def is_idle(self) -> bool:
        """Return whether all that was submitted has run."""
        return self.completed == self.submitted

    def synchronize(self, seconds: float = -1) -> Fault | None:
        """Wait for all tasks and return the failure, once; Fault after ``seconds``, or if it cannot end."""
        mark = None
        with self.lock:
            worker = self._thread if self.completed < self.submitted else None
            if worker is threading.current_thread():
                worker = None
            if worker is not None:
                self.check_pause(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT)
                if not self._closed:
                    mark = Mark()
                    self._queue.put(mark)
        if mark is None:
            if worker is not None:  # of a stream that another thread destroys, which runs what is queued before it ends
                worker.join(None if seconds < 0 else seconds)
                if worker.is_alive():
                    raise self._late(seconds)
            return self.take_fault()
        try:
            if not mark.latch.wait(seconds):
                raise self._late(seconds)
        except BaseException:
            with self.lock:  # the next one that waits gets the failure
                mark.is_left = True
                self.fault = self.fault or mark.fault
            raise
        return self.context.failure or mark.fault

    def _late(self, seconds: float) -> Fault:
        return Fault(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, f"{self} was not done after {seconds} s")

    def take_fault(self, only: Fault | None = None) -> Fault | None:
        """Return and forget the failure (``only`` that one); a stopped context keeps its failure."""
        with self.lock:
            if self.context.failure is not None:
                return self.context.failure
            fault = self.fault
            if only is not None and fault is not only:
                return None
            self.fault = None
            return fault

    def check_pause(self, code: int) -> None:
        """Raise Fault if this thread holds the stream, so that waiting would never end."""
        if self._gate is not None and self._paused_by == threading.get_ident():
            raise Fault(code, f"{self} is paused by this thread, which would wait for ever: nothing runs before the "
                              "block is left")

    def hold(self, paused_by: int = 0) -> None:
        """Start no further task until ``release``; ``paused_by`` is the thread that alone will call that."""
        with self.lock:
            if self._gate is None and not self.is_stopped:
                self._gate, self._paused_by = Latch(), paused_by

    def release(self) -> None:
        """Go on after ``hold``."""
        with self.lock:
            gate, self._gate = self._gate, None
        if gate is not None:
            gate.open()

    def abort(self) -> None:
        """Skip what is queued, and end slow motion and holding."""
        with self.lock:
            self._skip_until = self.submitted
            hurry, self._hurry = self._hurry, Latch()
        hurry.open()
        self.release()

    def stop(self) -> None:
        """Let the rest run without slow motion; nothing holds it any longer."""
        with self.lock:
            if not self.is_stopped:
                self.is_stopped = True
                self._hurry.open()
        self.release()

    def close(self, wait: bool = True) -> None:
        """End the worker after what is queued, and wait for that. No task can be submitted after it."""
        with self.lock:
            if self._thread is not None and not self._closed:
                self._queue.put(None)
            self._closed = True
            thread = self._thread
        if wait and thread is not None and thread is not threading.current_thread():
            thread.join()

    # -- the worker's side -------------------------------------------------------------------------------------------

    def _work(self) -> None:
        np.seterr(all="ignore")  # a device has no warnings; this is the thread's own setting
        get = self._queue.get
        while (task := get()) is not None:
            if (gate := self._gate) is not None:
                gate.wait()
            try:
                if task.always or (self.context.failure is None and self.completed >= self._skip_until):
                    task.run(self)
            except Fault as fault:
                self._fail(fault.code, fault.message)
            except Exception as error:
                self._fail(ACL_ERROR_RT_AICORE_EXCEPTION,
                           f"{task} failed on {self}: {error.__class__.__name__}: {error}")
            if task.__class__ is not Mark:
                self.completed += 1
            if task.latch is not None:
                task.latch.open()
            task = None  # while it waits for the next one, a worker keeps nothing alive

    def _fail(self, code: int, message: str) -> None:
        # A new object: the one that was raised knows, by its traceback, all that the task worked on.
        fault = Fault(code, message)
        self.fault = self.fault or fault
        if self.context.stops_on_failure and self.context.failure is None:
            self.context.failure = fault

    def pause(self, name: str, seconds: float = 0.0) -> None:
        """Pause so many seconds before a task, longer in slow motion; Fault if the device is lost."""
        self.delay(max(seconds, faults.pace))
        if faults.lost and self.device.number in faults.lost:
            raise Fault(ACL_ERROR_RT_LOST_HEARTBEAT, f"{name} failed on {self}: the device was lost")

    def delay(self, seconds: float) -> None:
        """Let so much time pass, unless the rest of the stream is skipped meanwhile."""
        if seconds > 0:
            self._hurry.wait(seconds)
