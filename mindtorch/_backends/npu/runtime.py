"""The runtime of one device: its context, its streams' queues, what their pending work still needs, and CANN's errors.

All calls go to ``acl``, pyACL's module or whatever stands in for it.
"""
from __future__ import annotations

import atexit
import ctypes
import os
import re
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from itertools import count
from typing import Any, NamedTuple

from ..._about import about, place, tell
from ..._call_site import call_site
from ..._device import device as Device
from ..._dispatch.dispatcher import TENSOR_TYPES, flattened
from ..._interrupts import uninterrupted
from . import activities, provider
from .constants import (
    ACL_CONTINUE_ON_FAILURE, ACL_ERROR_REPEAT_INITIALIZE, ACL_ERROR_RT_EVENT_SYNC_TIMEOUT,
    ACL_ERROR_RT_INVALID_DEVICEID, ACL_ERROR_RT_REPEATED_INIT, ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, ACL_STOP_ON_FAILURE,
    ACL_STREAM_STATUS_COMPLETE, ERROR_NAMES,
)

acl: Any = None  #: pyACL's module; None until the first use, or what a test puts here
refusal = ""  #: why no device can be used any more in this process
_is_started = False  #: whether ``aclInit`` was called: a forked process cannot use ACL then
_is_owner = False  #: whether it was called from here, so that ``aclFinalize`` is, too
#: What a stream does after an operator failed, as ``MINDTORCH_NPU_FAILURE_MODE`` says. CANN's own default goes on, with
#: garbage where the result should be; torch_npu, and so this backend, has all streams of the context stop.
FAILURE_MODES = {"stop": ACL_STOP_ON_FAILURE, "continue": ACL_CONTINUE_ON_FAILURE}
_lock = threading.RLock()
_runtimes: dict[int, _Runtime] = {}


class AclError(RuntimeError):
    """The error of a call into CANN that returned a code other than 0 (``torch.AcceleratorError``)."""

    def __init__(self, call: str, code: int, device: str, message: str):
        self.call, self.code, self.name = call, code, ERROR_NAMES.get(code, "unknown error")
        detail = f": {message}" if message else ""
        super().__init__(f"{call} failed on {device} with {self.name} ({code}){detail}")

    def again(self) -> AclError:
        """This error, to be raised another time. It has a traceback of its own, and what is kept of the first keeps no
        frames alive.
        """
        copy = AclError.__new__(type(self), *self.args)
        copy.__dict__.update(self.__dict__, **{"__notes__": list(self.__notes__)} if hasattr(self, "__notes__") else {})
        return copy


def module() -> Any:
    """pyACL, loaded on first use. Raises RuntimeError if there is no NPU; it says why."""
    global acl
    if acl is None:
        with _lock:
            if acl is None:
                loaded = provider.load()
                loaded.before_reset(finalize)
                acl = loaded.acl
    return acl


def recent_message() -> str:
    """What the device said about the last error of this thread, CANN's ``aclGetRecentErrMsg``; '' if nothing."""
    try:
        address = provider.load().find("aclGetRecentErrMsg")
    except RuntimeError:
        return ""
    if not address:
        return ""
    text = ctypes.CFUNCTYPE(ctypes.c_char_p)(address)()
    return text.decode(errors="replace").strip() if text else ""


def check(code: int, call: str, device: str = "npu") -> None:
    """Raise what a return code other than 0 means, an ``AclError`` with the call, the code and the device's message."""
    if code:
        raise _failure(code, call, device)  # no local variable: its traceback would keep this frame, and that the error


def _failure(code: int, call: str, device: str) -> AclError:
    error = AclError(call, code, device, recent_message())
    stopped = next((runtime.stopped for runtime in _runtimes.values() if runtime.name == device), None)
    if stopped is not None and code == stopped.code:
        error.add_note(RESTART.format(device))
    return error


#: What helps after an operator failed in the failure mode "stop".
RESTART = ("All streams of {0} stopped at that failure, and take nothing more. torch.npu.restart_device({0!r}) gives "
           "it new streams; what had been computed before stays.")


def start(device: str = "npu") -> None:
    """Call ``aclInit`` once for the process; that somebody else has called it is no error. Raises RuntimeError if there
    is no NPU, or none in a forked process.
    """
    global _is_started, _is_owner
    if refusal:
        raise RuntimeError(refusal)
    module()
    with _lock:
        if not _is_started:
            code = acl.init()
            if code not in (ACL_ERROR_REPEAT_INITIALIZE, ACL_ERROR_RT_REPEATED_INIT):
                check(code, "aclInit", device)
            _is_started, _is_owner = True, not code


class End(weakref.ref[Any]):
    """The end of an object of Python's that has something of the device, and what it has.

    ``tell``, which is to be a function of C, gets this reference when nothing refers to the object any more. A method
    ``__del__`` would run Python, and an interrupt that arrives there is lost.
    """

    __slots__ = ("of",)
    of: Any

    def __new__(cls, owner: Any, tell: Callable[[End], None], of: Any) -> End:
        end = super().__new__(cls, owner, tell)
        end.of = of
        return end

    def __init__(self, owner: Any, tell: Callable[[End], None], of: Any):
        super().__init__(owner, tell)  # type: ignore[call-arg]  # typeshed knows of its __new__ alone


class Queued(NamedTuple):
    """An operator that was put into a stream: its number there, the program's line, dtypes and shapes of operands."""

    number: int
    name: str
    site: tuple[str, int, str]
    operands: Sequence[tuple[Any, tuple[int, ...]]]

    def __str__(self) -> str:
        operands = ", ".join(f"{dtype.name}{list(shape)}" for dtype, shape in self.operands)
        return f"{self.name}({operands}), queued at {place(self.site)}"


class Queue:
    """A stream of a device: what was put into it and is not known to be finished, and what is freed after that.

    ``enqueued`` counts operators, ``finished`` how many of them are known to be done.
    """

    def __init__(self, runtime: _Runtime, handle: int, number: int):
        self.runtime, self.handle, self.number = runtime, handle, number
        self.enqueued = self.finished = 0
        self.is_destroyed = False
        self.end: End | None = None  #: of the Stream that it was made for
        self.log: deque[Queued] = deque(maxlen=4096)
        self.deferred: deque[tuple[int, Callable[[], Any]]] = deque()  #: behind which operator, and what is called then
        self.freed: dict[int, tuple[int, int]] = {}  #: cached memory that pending work may still use: number, bytes
        #: first and last operator without a result, and why
        self.failures: deque[tuple[int, int, AclError]] = deque(maxlen=64)
        #: events of other streams that this one waits for, as they were recorded, and what was put in here before
        self.waits: deque[tuple[Any, int, int]] = deque(maxlen=64)
        self.marks: deque[Any] = deque()  #: events around operators, while there is an observer
        self._noting, self._settling = threading.RLock(), threading.RLock()

    def __repr__(self) -> str:
        return f"<stream {self.number} of {self.runtime.name}, {self.enqueued - self.finished} pending>"

    def note(self, name: str, values: Iterable[Any] = ()) -> int:
        """Remember that an operator was put into the stream, and where the program did it. Returns its number."""
        operands = [(v._dtype, v.shape) for v in flattened(values) if v.__class__ in TENSOR_TYPES]
        site = call_site()
        with self._noting:  # numbers, and their order in the log, are those of all threads that use the stream
            number = self.enqueued = self.enqueued + 1
            self.log.append(Queued(number, name, site, operands))
        return number

    def is_idle(self) -> bool:
        """Whether all that was put into the stream has run, as far as is known without waiting (``stream_query``).
        Raises AclError if the device does not say: who polls would poll for ever.
        """
        if self.enqueued == self.finished:
            return True
        last = self.enqueued
        self.runtime.activate()
        status, code = acl.rt.stream_query(self.handle)
        check(code, "aclrtStreamQuery", self.runtime.name)
        if status != ACL_STREAM_STATUS_COMPLETE:
            return False
        self.finished = max(self.finished, last)
        return True

    def pending(self, until: int | None = None) -> list[str]:
        """The operators that wait or run, oldest first, up to number ``until``: all that are not known to have run,
        if the device does not say. Never waits.
        """
        last = self.enqueued if until is None else until
        with suppress(AclError):
            if self.finished >= last or self.is_idle():
                return []
        return [queued.name for queued in tuple(self.log) if self.finished < queued.number <= last]

    def defer(self, release: Callable[[], Any]) -> None:
        """Have ``release()`` called after the work that is in the stream now."""
        self.deferred.append((self.enqueued, release))

    def note_free(self, ptr: int, nbytes: int) -> None:
        """Remember that memory went back to the stream's pool while work that may use it was pending."""
        self.freed[ptr] = self.enqueued, nbytes

    def deferred_frees(self) -> int:
        """How many pieces of memory wait for the stream before other streams may have them."""
        return len(self.deferred) + len(self.freed)

    def synchronize(self) -> None:
        """Wait for the stream, then free what was deferred, in order. Raises AclError if something in the stream
        failed; what was deferred is freed all the same.
        """
        with uninterrupted():  # or else an error might be taken from the device and reported to nobody
            last = self.enqueued
            self.runtime.activate()
            self.runtime.destroy_events()
            with activities.host("sync", "synchronize", self):
                code = acl.rt.synchronize_stream(self.handle)
            self.reached(last, code, "aclrtSynchronizeStream")
            self.runtime.activate()  # to hear of another device's stream makes that one's context the thread's

    def reached(self, last: int, code: int, call: str) -> None:
        """Take in what a call said that waited for number ``last``: settle, and remember which operators failed. Raises
        what the code means, AclError, if it is not 0.
        """
        recent = recent_message() if code else ""
        error = AclError(call, code, self.runtime.name, recent) if code else None
        if code in (ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, ACL_ERROR_RT_EVENT_SYNC_TIMEOUT):
            raise error  # type: ignore[misc]  # nothing is known but that it takes long
        if error is not None:
            waiting = [queued for queued in tuple(self.log) if self.finished < queued.number <= last]
            failed = next((queued for queued in waiting if re.search(rf"\b{queued.name}\b", str(error))), None)
            self.failures.append((failed.number if failed else self.finished + 1, last, error))  # nor what follows it
            self.runtime.stop(error)
        self.settle(last)
        if error is not None:
            about(error, "late error of a device", device=self.runtime.name, said=recent,
                  code=f"{error.name} ({error.code})", stopped=self.runtime.stopped is not None)
            if failed is not None:
                tell(error, failed.site, str(failed))
            if self.runtime.stopped is not None:
                error.add_note(RESTART.format(self.runtime.name))
            raise error.again()  # what is remembered is never raised, for a traceback would keep frames alive
        self.hear(last)

    def hear(self, last: int) -> None:
        """Ask the streams that were waited for whether what was waited for had failed: then what came behind it up to
        number ``last`` has no result either, although this stream ran it. Raises AclError in that case.
        """
        for wait in tuple(self.waits):
            event, number, before = wait
            if before >= last:
                continue  # nothing behind it was waited for yet
            with suppress(ValueError):  # another thread may have asked
                self.waits.remove(wait)
            try:
                if event.is_recorded_at(number):
                    event.synchronize()
            except AclError as error:
                self.failures.append((before + 1, last, error.again()))
                raise

    def failure(self, number: int) -> AclError | None:
        """Why an operator has no result, as far as a synchronisation has told; None if it has one."""
        return next((why for first, last, why in self.failures if first <= number <= last), None)

    def settle(self, last: int) -> None:
        """Note that all up to number ``last`` has run, and free, in order, what was deferred behind that. Raises the
        AclError of the first that cannot be freed, after the others.
        """
        failed: AclError | None = None
        with self._settling:
            self.finished = max(self.finished, last)
            log = self.log
            while log and log[0][0] <= last:
                log.popleft()
            for ptr, (number, nbytes) in list(self.freed.items()):
                if number <= last:
                    self.freed.pop(ptr, None)
                    activities.note("free", f"{nbytes} bytes at {ptr:#x}", self)
            while self.deferred and self.deferred[0][0] <= last:
                try:
                    self.deferred.popleft()[1]()
                except AclError as error:
                    failed = failed or error
            if self.marks:
                activities.resolve(self)
        if failed is not None:
            raise failed


class _Thread(threading.local):
    """What a thread has chosen: its device, and its stream on each device."""

    device = 0
    active: int | None = None  #: the context that it works in

    def __init__(self) -> None:
        self.queues: dict[int, Queue] = {}


thread = _Thread()


class _Runtime:
    """One device. ``context`` and ``stream`` are pyACL's handles; ``queue`` is the default stream's."""

    def __init__(self, device_id: int = 0):
        self.device_id = device_id
        self.name = f"npu:{device_id}"
        self.device = Device("npu", device_id)
        self.initialized = False
        self.context: int | None = None
        self.queues: list[Queue] = []
        self.abandoned: deque[End] = deque()  #: of streams that nothing refers to any more
        self.blocking = False  #: ``ACL_LAUNCH_BLOCKING=1``: wait after every operator
        self.failure_mode = "continue"  #: what its streams do after an operator failed: a key of ``FAILURE_MODES``
        self.stopped: AclError | None = None  #: why all of its streams have stopped, until it is restarted
        self.events: set[End] = set()  #: of events, each with its handle
        self.dropped_events: deque[End] = deque()  #: of events that nothing refers to any more
        self.at_finalize: list[Callable[[], None]] = []
        self.at_destroy: list[Callable[[Queue], None]] = []  #: what is told of a stream that goes
        self._peers: set[int] = set()
        self._lock = threading.RLock()
        self._numbers = count().__next__

    @property
    def rt(self) -> Any:
        """pyACL's runtime calls."""
        return acl.rt

    def check(self, code: int, call: str) -> None:
        """Raise what a return code other than 0 of a call on this device means."""
        check(code, call, self.name)

    @property
    def queue(self) -> Queue:
        """The default stream's queue."""
        return self.queues[0]

    @property
    def stream(self) -> int | None:
        """The default stream's handle."""
        return self.queues[0].handle if self.queues else None

    @stream.setter
    def stream(self, handle: int) -> None:
        self.queues[:1] = [Queue(self, handle, self._numbers())]

    def init(self) -> _Runtime:
        """Start ACL unless it runs, and make the device's context and default stream. Raises RuntimeError if there is
        no NPU, or no such device.
        """
        with self._lock:
            if self.initialized:
                return self
            start(self.name)
            rt = acl.rt
            mode = _failure_mode()
            code = rt.set_device(self.device_id)
            if code == ACL_ERROR_RT_INVALID_DEVICEID:
                devices, _ = rt.get_device_count()
                raise about(RuntimeError(f"invalid device ordinal: npu:{self.device_id}, but there are {devices} NPU "
                                         "devices"), "no such device", asked=f"npu:{self.device_id}")
            check(code, "aclrtSetDevice", self.name)
            self.context, code = rt.create_context(self.device_id)
            check(code, "aclrtCreateContext", self.name)
            self.initialized = True
            self.activate()
            self.blocking = os.environ.get("ACL_LAUNCH_BLOCKING") == "1"
            if hasattr(rt, "set_stream_failure_mode"):  # pyACL has it from CANN 8.0 on
                self.failure_mode = mode
            self.new_queue()
        return self

    def new_queue(self, priority: int = 0) -> Queue:
        """A new stream (``aclrtCreateStream``)."""
        self.activate()
        self.drop_abandoned()
        handle = self._new_stream(priority)
        queue = Queue(self, handle, self._number_of(handle))
        self.queues.append(queue)
        return queue

    def _number_of(self, handle: int) -> int:
        """The number that CANN's messages have for a stream (``aclrtStreamGetId``)."""
        if not hasattr(acl.rt, "stream_get_id"):
            return self._numbers()
        number, code = acl.rt.stream_get_id(handle)
        check(code, "aclrtStreamGetId", self.name)
        return number

    def _new_stream(self, priority: int = 0) -> int:
        """The handle of a new stream, which is told what to do after a failure: CANN takes that once a stream."""
        handle, code = acl.rt.create_stream_with_config(priority, 0) if priority else acl.rt.create_stream()
        check(code, "aclrtCreateStream", self.name)
        mode = FAILURE_MODES[self.failure_mode]
        if mode != ACL_CONTINUE_ON_FAILURE:  # which is CANN's own
            check(acl.rt.set_stream_failure_mode(handle, mode), "aclrtSetStreamFailureMode", self.name)
        return handle

    def drop_abandoned(self) -> None:
        """Destroy the streams that nothing refers to, if what was in them has run (``aclrtDestroyStream``)."""
        with uninterrupted(), self._lock:
            for _ in range(len(self.abandoned)):
                end = self.abandoned.popleft()
                queue = end.of
                try:
                    is_idle = queue.is_idle()
                except AclError:  # of no interest to who makes a stream; finalize gives it back
                    is_idle = False
                if not is_idle:
                    self.abandoned.append(end)
                elif queue in self.queues:
                    self.queues.remove(queue)
                    queue.settle(queue.enqueued)
                    queue.is_destroyed = True
                    queue.waits.clear()
                    for retire in self.at_destroy:
                        retire(queue)
                    check(acl.rt.destroy_stream(queue.handle), "aclrtDestroyStream", self.name)

    def activate(self) -> None:
        """Make this device's context the calling thread's."""
        if thread.active != self.context:
            if hasattr(acl.rt, "set_context"):  # a stand-in may know one context only
                check(acl.rt.set_context(self.context), "aclrtSetCurrentContext", self.name)
            thread.active = self.context

    def destroy_events(self) -> None:
        """Destroy the events that nothing refers to any more. The device is the thread's: an event's own end, which may
        come at any moment, must not make another device's context the thread's in the middle of a launch.
        """
        while self.dropped_events:
            with suppress(IndexError):  # another thread was first
                end = self.dropped_events.popleft()
                self.events.discard(end)
                check(acl.rt.destroy_event(end.of), "aclrtDestroyEvent", self.name)

    def reach(self, peer: _Runtime) -> None:
        """Have this device and another one copy from each other's memory (``aclrtDeviceEnablePeerAccess``, which works
        in one direction). The device is the thread's afterwards. Raises AclError if one cannot.
        """
        for device, other in ((peer, self), (self, peer)):
            if other.device_id not in device._peers:
                device.activate()
                code = acl.rt.device_enable_peer_access(other.device_id, 0)
                check(code, "aclrtDeviceEnablePeerAccess", device.name)
                device._peers.add(other.device_id)
        self.activate()

    def defer_free(self, ptr: int | None) -> None:
        """Give memory of ``acl.rt.malloc`` back after the work that is in the default stream now; None is no memory."""
        if ptr is None:
            return

        def release() -> None:
            self.activate()
            check(acl.rt.free(ptr), "aclrtFree", self.name)

        self.queue.defer(release)

    def synchronize(self, queue: Queue | None = None) -> None:
        """Wait for a stream, by default the default one, then free what was deferred, in order; a device that was never
        used has nothing to wait for. Raises AclError if something in the stream failed.
        """
        if queue is not None or self.queues:
            (queue or self.queue).synchronize()

    def synchronize_device(self) -> None:
        """Wait for all streams of the device; each frees what was deferred in it. Raises AclError of the first stream
        that failed, after all were waited for.
        """
        failed: AclError | None = None
        for queue in list(self.queues):
            try:
                queue.synchronize()
            except AclError as error:
                failed = failed or error
        if failed is not None:
            raise failed

    def stop(self, error: AclError) -> None:
        """Note that an operator failed in the failure mode "stop": no stream of the context takes anything more."""
        if self.failure_mode == "stop" and self.stopped is None:
            self.stopped = error.again()

    def restart(self) -> None:
        """Make a new context, and new streams under the queues, where the old ones have stopped. What had not run has
        no result; what had been computed before stays, for memory is the device's. Raises AclError if it is lost.
        """
        with uninterrupted(), self._lock:
            self.activate()
            old = self.context
            why = self.stopped or AclError("aclrtDestroyContext", 0, self.name, "the device was restarted")
            for queue in self.queues:
                if queue.enqueued > queue.finished:
                    queue.failures.append((queue.finished + 1, queue.enqueued, why.again()))
                acl.rt.destroy_stream(queue.handle)  # a stopped stream may refuse; it goes with its context
            self.context, code = acl.rt.create_context(self.device_id)
            check(code, "aclrtCreateContext", self.name)
            thread.active = None
            self.activate()
            for queue in self.queues:
                queue.handle = self._new_stream()
                queue.number = self._number_of(queue.handle)
                queue.settle(queue.enqueued)
            acl.rt.destroy_context(old)
            self.stopped, thread.active = None, None
            self.activate()

    def finalize(self) -> None:
        """Give everything back: wait, free, destroy the streams and the context, reset the device. What cannot be given
        back keeps nothing else from it. Raises the first AclError at the end.
        """
        failed: list[AclError] = []

        def attempt(step: Callable[[], Any], call: str = "") -> None:
            try:
                code = step()
                if call:
                    check(code, call, self.name)
            except AclError as error:
                failed.append(error)

        with self._lock:
            if not self.initialized:
                return
            attempt(self.activate)
            for queue in self.queues:
                acl.rt.synchronize_stream(queue.handle)  # what failed was, or will never be, reported to another thread
                attempt(partial(queue.settle, queue.enqueued))
            attempt(self.destroy_events)
            self.events.clear()
            for release in self.at_finalize:
                attempt(release)
            for queue in reversed(self.queues):
                attempt(partial(acl.rt.destroy_stream, queue.handle), "aclrtDestroyStream")
            self.queues.clear()
            attempt(partial(acl.rt.destroy_context, self.context), "aclrtDestroyContext")
            attempt(partial(acl.rt.reset_device, self.device_id), "aclrtResetDevice")
            self.initialized, self.context, self.stopped = False, None, None
            thread.active = None
        if failed:
            raise failed[0]


def _failure_mode() -> str:
    """What ``MINDTORCH_NPU_FAILURE_MODE`` says, "stop" if nothing. Raises RuntimeError if it is no mode."""
    chosen = os.environ.get("MINDTORCH_NPU_FAILURE_MODE", "").lower() or "stop"
    if chosen not in FAILURE_MODES:
        raise RuntimeError(f"MINDTORCH_NPU_FAILURE_MODE={chosen!r} is not one of {', '.join(FAILURE_MODES)}")
    return chosen


def get_runtime(device_id: int = 0) -> _Runtime:
    """The runtime of a device, started on first use. Raises RuntimeError if there is no NPU, or no such device."""
    if refusal:
        raise RuntimeError(refusal)
    found = _runtimes.get(device_id)
    if found is None or not found.initialized:
        with _lock:
            found = _runtimes.get(device_id)
            if found is None or not found.initialized:
                found = _runtimes[device_id] = _Runtime(device_id).init()
    return found


def runtimes() -> list[_Runtime]:
    """The devices that were started."""
    return [runtime for runtime in _runtimes.values() if runtime.initialized]


def finalize() -> None:
    """Give back all devices and ACL itself; the next use starts anew. Called at exit. Raises the first AclError, after
    all was tried.
    """
    global _is_started, _is_owner
    failed: AclError | None = None
    with _lock:
        for runtime in runtimes():
            try:
                runtime.finalize()
            except AclError as error:
                failed = failed or error
        _runtimes.clear()
        if _is_owner:
            acl.finalize()
        _is_started = _is_owner = False
    if failed is not None:
        raise failed


def _finalize_at_exit() -> None:
    """Give everything back; what destructors want of a device from now on would start it anew, and never end."""
    global refusal
    try:
        finalize()
    except AclError as error:
        print(f"mindtorch: not all of the NPU could be given back: {error}", file=sys.stderr)
    refusal = "the NPU was given back: Python is about to exit"


def _after_fork() -> None:
    """In a forked process: it has no part in what the devices of its parent do, nor their threads."""
    global refusal, _is_started, _is_owner
    if _is_started or _runtimes:
        refusal = ("Cannot re-initialize NPU in forked subprocess. To use NPU with multiprocessing, you must use the "
                    "'spawn' start method")
        for started in _runtimes.values():
            started.initialized = False
        _runtimes.clear()
        _is_started = _is_owner = False


atexit.register(_finalize_at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def current_queue(device_id: int) -> Queue:
    """The calling thread's current stream on a device, whose context is made the thread's."""
    queue = thread.queues.get(device_id)
    if queue is None or not queue.runtime.initialized:
        queue = thread.queues[device_id] = get_runtime(device_id).queue
    if thread.active != queue.runtime.context:
        queue.runtime.activate()
    return queue
