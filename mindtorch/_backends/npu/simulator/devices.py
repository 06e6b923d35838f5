"""Devices, contexts and what a thread has chosen of them: the state of the whole simulated machine."""
from __future__ import annotations

import os
import threading

from ..constants import (
    ACL_ERROR_REPEAT_FINALIZE, ACL_ERROR_REPEAT_INITIALIZE, ACL_ERROR_RT_CONTEXT_NULL, ACL_ERROR_RT_INVALID_DEVICEID,
    ACL_ERROR_RT_LOST_HEARTBEAT, ACL_ERROR_RT_STREAM_CONTEXT, ACL_ERROR_UNINITIALIZE,
)
from . import faults, handles, watch
from .costs import Cores
from .errors import Fault
from .memory import HostMemory, Memory
from .streams import Stream

SOC = "Ascend910B (simulated)"
DEFAULT_LIMIT = 1 << 30


class Device:
    """An NPU: its memory, its contexts, and the devices whose memory it may use (``peers``)."""

    def __init__(self, number: int, limit: int):
        self.number = number
        self.memory = Memory(limit)
        self.peers: set[int] = set()
        self.contexts: set[Context] = set()
        self.primary: Context | None = None  #: made by ``set_device``
        self.cores = Cores()
        self.leaving: list[Stream] = []  #: destroyed by force: their workers end when they can
        self.lock = threading.RLock()

    def streams(self) -> list[Stream]:
        """Return all streams of all contexts."""
        with self.lock:
            return [stream for context in self.contexts for stream in context.streams]


class Context:
    """A context of a device: its default stream, which has the handle 0, and the others."""

    label = "aclrtContext"

    def __init__(self, device: Device):
        self.device = device
        self.stops_on_failure = False  #: whether one of its streams was told to
        self.failure: Fault | None = None  #: what all streams have stopped for
        self.default = Stream(self, None)
        self.streams: set[Stream] = {self.default}

    def close(self) -> None:
        """Wait for all streams and end them."""
        with self.device.lock:
            self.device.contexts.discard(self)
            streams, self.streams = self.streams, set()
        for stream in streams:
            stream.close()
            watch.ended(stream)


class _Thread(threading.local):
    context: Context | None = None


class Machine:
    """All devices of the process. ``is_initialized``: between ``acl.init`` and ``acl.finalize``."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.is_initialized = False
        self.limit = DEFAULT_LIMIT
        self.host = HostMemory()
        self.devices: list[Device] = []
        self.set_count(int(os.environ.get("MINDTORCH_NPU_SIM_DEVICES", "2")))

    def set_count(self, number: int) -> None:
        """Set the number of devices; ValueError unless positive, RuntimeError if one to go is in use."""
        if number < 1:
            raise ValueError(f"there must be at least one device, not {number}")
        with self.lock:
            if any(device.contexts for device in self.devices[number:]):
                raise RuntimeError(f"cannot have {number} devices: one with a higher number is in use")
            del self.devices[number:]
            self.devices += [Device(n, self.limit) for n in range(len(self.devices), number)]

    def set_limit(self, nbytes: int) -> None:
        """Set every device's bytes; ValueError unless positive, RuntimeError if memory is in use."""
        if nbytes < 1:
            raise ValueError(f"a device must have memory, not {nbytes} bytes")
        with self.lock:
            if any(device.memory.used for device in self.devices):
                raise RuntimeError("the limit of a device's memory cannot be changed while memory of it is in use")
            self.limit = nbytes
            for device in self.devices:
                device.memory = Memory(nbytes)

    def start(self) -> None:
        """``acl.init``."""
        with self.lock:
            if self.is_initialized:
                raise Fault(ACL_ERROR_REPEAT_INITIALIZE, "aclInit was called twice")
            self.is_initialized = True

    def shut_down(self) -> None:
        """``acl.finalize``: let what is queued run, end all workers, give everything back."""
        with self.lock:
            if not self.is_initialized:
                raise Fault(ACL_ERROR_REPEAT_FINALIZE, "aclFinalize was called without aclInit")
            self.is_initialized = False
            streams = [stream for device in self.devices for stream in device.streams()]
        for stream in streams:  # all of them first: one may wait for another
            stream.stop()
        for device in self.devices:
            for context in list(device.contexts):
                context.close()
            while device.leaving:
                device.leaving.pop().close()
            device.primary = None
            device.peers.clear()
        if watch.active is not None:
            watch.active.look_for_leaks(handles.objects)
        handles.objects.clear()
        for device in self.devices:
            device.memory.clear()
        self.host.clear()
        thread.context = None

    def device(self, number: int) -> Device:
        """Return a device by number; Fault if ACL is not initialised, or the device is absent or lost."""
        if not self.is_initialized:
            raise Fault(ACL_ERROR_UNINITIALIZE, "aclInit has not been called")
        if not 0 <= number < len(self.devices):
            raise Fault(ACL_ERROR_RT_INVALID_DEVICEID, f"no device {number}: there are {len(self.devices)}")
        return _present(self.devices[number])

    def owner(self, address: int) -> Device | None:
        """Return the device whose memory an address is in."""
        for device in self.devices:
            if device.memory.base <= address < device.memory.top:
                return device
        return None


def _present(device: Device) -> Device:
    if faults.lost and device.number in faults.lost:
        raise Fault(ACL_ERROR_RT_LOST_HEARTBEAT, f"device {device.number} was lost")
    return device


machine: Machine
thread = _Thread()
machine = Machine()


def current() -> Context:
    """Return the calling thread's context. Raises Fault if it has none, or its device is lost."""
    context = thread.context
    if context is None or context not in context.device.contexts:
        raise Fault(ACL_ERROR_RT_CONTEXT_NULL,
                    "this thread has no context: call aclrtSetDevice or aclrtSetCurrentContext")
    if faults.lost:
        _present(context.device)
    return context


def primary(device: Device) -> Context:
    """Return the context that ``set_device`` makes once."""
    with device.lock:
        if device.primary is None:
            device.primary = new_context(device)
        return device.primary


def new_context(device: Device) -> Context:
    """Make a further context of a device."""
    with device.lock:
        context = Context(device)
        device.contexts.add(context)
        return context


def stream_of(handle: int | None) -> Stream:
    """Return a handle's stream (0, None: the context's default); Fault if unknown or another device's."""
    context = current()
    if not handle:
        return context.default
    stream = handles.get(handle, Stream)
    if stream.device is not context.device:
        raise Fault(ACL_ERROR_RT_STREAM_CONTEXT, f"{stream} is used in a context of device {context.device.number}")
    return stream
