"""The runtime of one device: its context and its streams, from ``aclInit`` to ``aclFinalize``.

All calls go to ``acl``, pyACL's module or whatever stands in for it.
"""
from __future__ import annotations

import atexit
import os
import sys
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import count
from typing import Any

from ..._base.about import about
from ..._base.interrupts import uninterrupted
from ..._device import device as Device
from . import errors, provider
from .constants import (
    ACL_CONTINUE_ON_FAILURE, ACL_ERROR_REPEAT_INITIALIZE, ACL_ERROR_RT_INVALID_DEVICEID, ACL_ERROR_RT_REPEATED_INIT,
    ACL_STOP_ON_FAILURE,
)
from .errors import AclError, check
from .queues import End, Queue

acl: Any = None  #: pyACL's module; None until the first use, or what a test puts here
refusal = ""  #: why no device can be used any more in this process
_is_started = False  #: whether ``aclInit`` was called: a forked process cannot use ACL then
_is_owner = False  #: whether it was called from here, so that ``aclFinalize`` is, too
#: The reaction of a stream to an operator's failure (``MINDTORCH_NPU_FAILURE_MODE``). CANN's own default goes on, with
#: garbage where the result should be; torch_npu, and so this backend, has all streams of the context stop.
FAILURE_MODES = {"stop": ACL_STOP_ON_FAILURE, "continue": ACL_CONTINUE_ON_FAILURE}
#: Functions to call before ACL is given back.
at_finalize: list[Callable[[], None]] = []
_lock = threading.RLock()
_runtimes: dict[int, _Runtime] = {}


def module() -> Any:
    """Load pyACL on first use. Raises RuntimeError, with the reason, if there is no NPU."""
    global acl
    if acl is None:
        with _lock:
            if acl is None:
                loaded = provider.load()
                loaded.before_reset(finalize)
                acl = loaded.acl
    return acl


def start(device: str = "npu") -> None:
    """Call ``aclInit`` once a process, whoever calls it; RuntimeError without an NPU or in a forked process."""
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


class _Thread(threading.local):
    """A thread's choices: its device, and its stream on each device."""

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
        self.failure_mode = "continue"  #: what its streams do after an operator failed: a key of ``FAILURE_MODES``
        self.events: set[End] = set()  #: of events, each with its handle
        self.dropped_events: deque[End] = deque()  #: of events that nothing refers to any more
        self.at_finalize: list[Callable[[], None]] = []
        self.at_destroy: list[Callable[[Queue], None]] = []  #: functions that get a stream that is destroyed
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
    def blocking(self) -> bool:
        """True to synchronise after every operator: ``ACL_LAUNCH_BLOCKING=1``, read at each call."""
        return os.environ.get("ACL_LAUNCH_BLOCKING") == "1"

    @property
    def stopped(self) -> AclError | None:
        """Why all of its streams have stopped, until it is restarted."""
        return errors.stopped.get(self.name)

    @property
    def queue(self) -> Queue:
        """The default stream's queue."""
        return self.queues[0]

    @property
    def current(self) -> Queue:
        """The queue of the stream that this thread works on, by default the default stream."""
        queue = thread.queues.get(self.device_id)
        return self.queue if queue is None or queue.runtime is not self else queue

    @property
    def stream(self) -> int | None:
        """The default stream's handle."""
        return self.queues[0].handle if self.queues else None

    @stream.setter
    def stream(self, handle: int) -> None:
        self.queues[:1] = [Queue(self, handle, self._numbers())]

    def init(self) -> _Runtime:
        """Start ACL, and make the device's context and default stream; RuntimeError without such a device."""
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
            if hasattr(rt, "set_stream_failure_mode"):  # pyACL has it from CANN 8.0 on
                self.failure_mode = mode
            self.new_queue()
        return self

    def new_queue(self, priority: int = 0) -> Queue:
        """Create a stream (``aclrtCreateStream``) and return its queue."""
        self.activate()
        self.drop_abandoned()
        handle = self._new_stream(priority)
        queue = Queue(self, handle, self._number_of(handle))
        self.queues.append(queue)
        return queue

    def _number_of(self, handle: int) -> int:
        """Return the number that CANN's messages use for a stream (``aclrtStreamGetId``)."""
        if not hasattr(acl.rt, "stream_get_id"):
            return self._numbers()
        number, code = acl.rt.stream_get_id(handle)
        check(code, "aclrtStreamGetId", self.name)
        return number

    def _new_stream(self, priority: int = 0) -> int:
        """Create a stream and set its failure mode, which CANN accepts once; return the handle."""
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
        """Destroy unused events here, not when they end: that may be amid another device's launch."""
        while self.dropped_events:
            with suppress(IndexError):  # another thread was first
                end = self.dropped_events.popleft()
                self.events.discard(end)
                check(acl.rt.destroy_event(end.of), "aclrtDestroyEvent", self.name)

    def reach(self, peer: _Runtime) -> None:
        """Let this and another device copy from each other (``aclrtDeviceEnablePeerAccess``, both ways)."""
        for device, other in ((peer, self), (self, peer)):
            if other.device_id not in device._peers:
                device.activate()
                code = acl.rt.device_enable_peer_access(other.device_id, 0)
                check(code, "aclrtDeviceEnablePeerAccess", device.name)
                device._peers.add(other.device_id)
        self.activate()

    def defer_free(self, ptr: int | None) -> None:
        """Give memory of ``acl.rt.malloc`` back after the work that is in this thread's stream now, if it is any."""
        if ptr is None:
            return

        def release() -> None:
            self.activate()
            check(acl.rt.free(ptr), "aclrtFree", self.name)

        self.current.defer(release)

    def synchronize(self, queue: Queue | None = None) -> None:
        """Wait for a stream, by default this thread's, then free what was deferred; AclError if something failed."""
        if queue is not None:
            queue.synchronize()
        elif self.queues:
            self.current.synchronize()

    def synchronize_device(self) -> None:
        """Wait for all streams, which free what was deferred; AclError of the first that failed."""
        failed: AclError | None = None
        for queue in list(self.queues):
            try:
                queue.synchronize()
            except AclError as error:
                failed = failed or error
        if failed is not None:
            raise failed

    def stop(self, error: AclError, queue: Queue, restarts: int) -> None:
        """Note that an operator failed in the failure mode "stop": no stream of the context takes anything more, unless
        the ``queue`` got a new one in a restart beyond so many.
        """
        with self._lock:
            if self.failure_mode == "stop" and self.stopped is None and queue.restarts == restarts:
                errors.stopped[self.name] = error.again()

    def restart(self) -> None:
        """Replace a stopped context and its streams; memory stays, and pending operators have no result."""
        with uninterrupted(), self._lock:
            self.activate()
            errors.restarted.add(self.name)
            old = self.context
            for queue in self.queues:
                queue.waits.clear()  # what comes behind them now has new streams
                acl.rt.destroy_stream(queue.handle)  # a stopped stream may refuse; it goes with its context
            self.context, code = acl.rt.create_context(self.device_id)
            check(code, "aclrtCreateContext", self.name)
            thread.active = None
            self.activate()
            for queue in self.queues:
                handle = self._new_stream()
                queue.renew(handle, self._number_of(handle), self.stopped)
            acl.rt.destroy_context(old)
            errors.stopped.pop(self.name, None)
            thread.active = None
            self.activate()

    def finalize(self) -> None:
        """Free everything and reset the device; raise the first AclError after all has been tried."""
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
            for end in self.events:  # of objects that still live
                attempt(partial(acl.rt.destroy_event, end.of), "aclrtDestroyEvent")
            self.events.clear()
            for release in self.at_finalize:
                attempt(release)
            for queue in reversed(self.queues):
                attempt(partial(acl.rt.destroy_stream, queue.handle), "aclrtDestroyStream")
            self.queues.clear()
            attempt(partial(acl.rt.destroy_context, self.context), "aclrtDestroyContext")
            attempt(partial(acl.rt.reset_device, self.device_id), "aclrtResetDevice")
            errors.stopped.pop(self.name, None)
            errors.restarted.discard(self.name)
            self.initialized, self.context, thread.active = False, None, None
        if failed:
            raise failed[0]


def _failure_mode() -> str:
    """Return ``MINDTORCH_NPU_FAILURE_MODE``, "stop" by default; RuntimeError if it is not a mode."""
    chosen = os.environ.get("MINDTORCH_NPU_FAILURE_MODE", "").lower() or "stop"
    if chosen not in FAILURE_MODES:
        raise RuntimeError(f"MINDTORCH_NPU_FAILURE_MODE={chosen!r} is not one of {', '.join(FAILURE_MODES)}")
    return chosen


def get_runtime(device_id: int = 0) -> _Runtime:
    """Return the runtime of a device, started on first use; RuntimeError if there is no such device."""
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
    """Return the devices that were started."""
    return [runtime for runtime in _runtimes.values() if runtime.initialized]


def finalize() -> None:
    """Give back all devices and ACL, as at exit; raise the first AclError after all has been tried."""
    global _is_started, _is_owner
    failed: AclError | None = None
    with _lock:
        for runtime in runtimes():
            try:
                runtime.finalize()
            except AclError as error:
                failed = failed or error
        _runtimes.clear()
        for release in at_finalize if _is_started else ():
            release()
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
    """Forget in a forked process the devices of its parent, whose work and threads are not its own."""
    global refusal, _is_started, _is_owner
    if _is_started or _runtimes:
        refusal = ("Cannot re-initialize NPU in forked subprocess. To use NPU with multiprocessing, you must use the "
                    "'spawn' start method")
        for started in _runtimes.values():
            started.initialized = False
        _runtimes.clear()
        errors.stopped.clear()
        errors.restarted.clear()
        _is_started = _is_owner = False


atexit.register(_finalize_at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def current_queue(device_id: int) -> Queue:
    """Return the calling thread's current stream on a device, and make the device's context the thread's."""
    queue = thread.queues.get(device_id)
    if queue is None or not queue.runtime.initialized:
        queue = thread.queues[device_id] = get_runtime(device_id).queue
    if thread.active != queue.runtime.context:
        queue.runtime.activate()
    return queue
