"""pyACL's runtime, ``acl`` and ``acl.rt``, with the call shapes of the real module: ints go in, results and a code come out.

The functions here raise a ``Fault`` for what the real ones return a code for; ``exported`` turns one into the other.
"""
from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import wraps
from types import SimpleNamespace
from typing import Any, TypeVar

from .. import constants as c
from . import errors, faults, handles, transfers, watch
from .devices import SOC, Context, current, machine, new_context, primary, stream_of, thread
from .errors import Fault
from .streams import Call, Event, Record, Reset, Stream, Wait

F = TypeVar("F", bound=Callable[..., Any])

#: The functions of ``acl`` and of ``acl.rt``.
ACL: dict[str, Callable[..., Any]] = {}
RT: dict[str, Callable[..., Any]] = {}
STREAMS_OF_A_DEVICE = 2048


def exported(where: dict[str, Callable[..., Any]], *names: str, results: int = 0) -> Callable[[F], F]:
    """Export a function under its name, or under these; a failure returns ``results`` zeros and the code."""

    def export(function: F) -> F:
        for name in names or (function.__name__,):
            where[name] = _returning_codes(function, name, results)
        return function

    return export


def _returning_codes(function: Callable[..., Any], name: str, results: int) -> Callable[..., Any]:
    @wraps(function)
    def call(*arguments: Any) -> Any:
        try:
            if faults.armed and (fault := faults.strike(name, "call")):
                raise fault
            result = function(*arguments)
        except Fault as fault:
            code, message = fault.code, fault.message
            watch.mistake(name, fault)
        else:
            if not results:
                return result or 0
            return (*result, 0) if results > 1 else (result, 0)
        errors.remember(code, message)
        return (*(0,) * results, code) if results else code

    call.__name__ = name
    return call


def raise_fault(fault: Fault | None) -> None:
    """Report what had gone wrong on a stream to whoever waited for it."""
    if fault is not None:
        raise Fault(fault.code, fault.message)


# -- the whole -------------------------------------------------------------------------------------------------------


@exported(ACL)
def init(config: str = "") -> None:
    machine.start()


@exported(ACL)
def finalize() -> None:
    machine.shut_down()


def get_soc_name() -> str:
    return SOC


ACL["get_soc_name"] = get_soc_name


@exported(RT, results=3)
def get_version() -> tuple[int, int, int]:
    return 1, 13, 0


@exported(RT)
def get_last_error(level: int) -> int:
    return errors.last_code(clear=True)


@exported(RT)
def peek_at_last_error(level: int) -> int:
    return errors.last_code(clear=False)


# -- devices and contexts --------------------------------------------------------------------------------------------


@exported(RT)
def set_device(number: int) -> None:
    thread.context = primary(machine.device(number))


@exported(RT)
def reset_device(number: int) -> None:
    device = machine.device(number)
    context, device.primary = device.primary, None
    if context is not None:
        close_context(context)
    if not device.contexts:
        device.memory.clear()


@exported(RT, results=1)
def get_device() -> int:
    return current().device.number


@exported(RT, results=1)
def get_device_count() -> int:
    return len(machine.devices)


@exported(RT, results=1)
def create_context(number: int) -> int:
    context = thread.context = new_context(machine.device(number))
    return handles.add(context)


@exported(RT)
def destroy_context(handle: int) -> None:
    close_context(handles.remove(handle, Context))


def close_context(context: Context) -> None:
    """Wait for a context's streams and give them back."""
    gone = context.streams
    context.close()
    for handle in [handle for handle, thing in list(handles.objects.items()) if thing in gone]:
        handles.remove(handle, Stream)
    if thread.context is context:
        thread.context = None


@exported(RT)
def set_context(handle: int) -> None:
    context = handles.get(handle, Context)
    machine.device(context.device.number)
    thread.context = context


@exported(RT, results=1)
def device_can_access_peer(number: int, peer: int) -> int:
    return int(machine.device(number) is not machine.device(peer))


@exported(RT)
def device_enable_peer_access(peer: int, flags: int) -> None:
    device = current().device
    if machine.device(peer) is device:
        raise Fault(c.ACL_ERROR_RT_INVALID_DEVICEID, f"device {peer} is not a peer of itself")
    device.peers.add(peer)


# -- streams ---------------------------------------------------------------------------------------------------------


@exported(RT, results=1)
def create_stream() -> int:
    context = current()
    with context.device.lock:
        if len(context.device.streams()) >= STREAMS_OF_A_DEVICE:
            raise Fault(c.ACL_ERROR_RT_NO_STREAM_RESOURCE, f"device {context.device.number} has no further stream")
        stream = Stream(context, machine.next_stream())
        context.streams.add(stream)
    return handles.add(stream)


@exported(RT, results=1)
def create_stream_with_config(priority: int, flag: int) -> int:
    return create_stream()


@exported(RT)
def destroy_stream(handle: int) -> None:
    stream = _removed(handle)
    stream.close()
    watch.ended(stream)


@exported(RT)
def destroy_stream_force(handle: int) -> None:
    stream = _removed(handle)
    stream.abort()
    stream.stop()
    stream.close(wait=False)
    watch.ended(stream)
    stream.device.leaving.append(stream)


def _removed(handle: int) -> Stream:
    stream = handles.remove(handle, Stream)
    with stream.device.lock:
        stream.context.streams.discard(stream)
    return stream


@exported(RT)
def stream_abort(handle: int) -> None:
    stream_of(handle).abort()


@exported(RT, results=1)
def stream_query(handle: int) -> int:
    stream = stream_of(handle)
    if not stream.is_idle():
        return c.ACL_STREAM_STATUS_NOT_READY
    watch.idle(stream)
    return c.ACL_STREAM_STATUS_COMPLETE


@exported(RT, results=1)
def stream_get_id(handle: int) -> int:
    return stream_of(handle).number


@exported(RT, results=1)
def get_stream_available_num() -> int:
    return STREAMS_OF_A_DEVICE - len(current().device.streams())


@exported(RT)
def synchronize_stream(handle: int) -> None:
    synchronize(stream_of(handle))


@exported(RT)
def synchronize_stream_with_timeout(handle: int, milliseconds: int) -> None:
    synchronize(stream_of(handle), milliseconds / 1000 if milliseconds >= 0 else -1)


def synchronize(stream: Stream, seconds: float = -1) -> None:
    """Wait for a stream, and report what had gone wrong."""
    clock = watch.clock_of(stream)
    fault = stream.synchronize(seconds)
    watch.reached(clock)
    raise_fault(fault)
    current()  # a device may be lost while one waits for it


@exported(RT)
def synchronize_device() -> None:
    failed = None
    for stream in current().device.streams():
        clock = watch.clock_of(stream)
        fault = stream.synchronize()
        watch.reached(clock)
        failed = failed or fault
    raise_fault(failed)


@exported(RT)
def launch_callback(function: Callable[[Any], Any], arguments: Any, block: int, handle: int) -> None:
    stream = stream_of(handle)
    clock = watch.clock_of(stream)

    def call() -> None:
        watch.reached(clock)
        function(arguments)

    stream.submit(Call("aclrtLaunchCallback", call))


# -- events ----------------------------------------------------------------------------------------------------------


@exported(RT, results=1)
def create_event() -> int:
    return create_event_with_flag(c.ACL_EVENT_TIME_LINE | c.ACL_EVENT_SYNC | c.ACL_EVENT_CAPTURE_STREAM_PROGRESS)


@exported(RT, "create_event_with_flag", "create_event_ex_with_flag", results=1)
def create_event_with_flag(flag: int) -> int:
    current()
    return handles.add(Event(flag))


@exported(RT)
def destroy_event(handle: int) -> None:
    handles.remove(handle, Event)


@exported(RT)
def record_event(handle: int, stream_handle: int) -> None:
    event, stream = handles.get(handle, Event), stream_of(stream_handle)
    record = Record(stream)
    record.clock = watch.clock_of(stream)
    stream.submit(record)
    event.record = record


@exported(RT)
def reset_event(handle: int, stream_handle: int) -> None:
    event = handles.get(handle, Event)
    stream_of(stream_handle).submit(Reset(event, event.record))


@exported(RT)
def stream_wait_event(stream_handle: int, handle: int) -> None:
    stream, event = stream_of(stream_handle), handles.get(handle, Event)
    record = event.record
    if record is None:  # nothing to wait for, as on the device
        return
    watch.waits(stream, record.clock)
    with event.lock:
        event.waiting += 1
    stream.submit(Wait(event, record))


def _is_done(record: Record | None) -> bool:
    if record is None or record.latch is None or not record.latch.is_open:
        return False
    watch.reached(record.clock)
    return True


@exported(RT, results=1)
def query_event(handle: int) -> int:
    done = _is_done(handles.get(handle, Event).record)
    return c.ACL_EVENT_STATUS_COMPLETE if done else c.ACL_EVENT_STATUS_NOT_READY


@exported(RT, results=1)
def query_event_status(handle: int) -> int:
    done = _is_done(handles.get(handle, Event).record)
    return c.ACL_EVENT_RECORDED_STATUS_COMPLETE if done else c.ACL_EVENT_RECORDED_STATUS_NOT_READY


@exported(RT, results=1)
def query_event_wait_status(handle: int) -> int:
    waiting = handles.get(handle, Event).waiting
    return c.ACL_EVENT_WAIT_STATUS_NOT_READY if waiting else c.ACL_EVENT_WAIT_STATUS_COMPLETE


@exported(RT)
def synchronize_event(handle: int) -> None:
    record = handles.get(handle, Event).record
    if record is None:
        return
    assert record.latch is not None
    record.latch.wait()
    watch.reached(record.clock)
    if record.fault is not None:
        raise_fault(record.stream.take_fault(only=record.fault))


@exported(RT, results=1)
def event_elapsed_time(start: int, end: int) -> float:
    first, last = _moment(start), _moment(end)
    if last < first:
        raise Fault(c.ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL, "the second event was recorded before the first")
    return (last - first) / 1e6


@exported(RT, results=1)
def event_get_timestamp(handle: int) -> int:
    return _moment(handle) // 1000


def _moment(handle: int) -> int:
    event = handles.get(handle, Event)
    record = event.record
    if record is None or not event.has_time:
        raise Fault(c.ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, "the event was not recorded, or was made without timing")
    if not _is_done(record):
        raise Fault(c.ACL_ERROR_RT_EVENT_NOT_COMPLETE, "the event's stream has not come to it yet")
    return record.nanoseconds


# -- memory ----------------------------------------------------------------------------------------------------------


@exported(RT, "malloc", "malloc_align32", "malloc_cached", results=1)
def malloc(size: int, policy: int) -> int:
    memory = current().device.memory
    block = memory.malloc(size)
    if watch.active is not None:
        watch.active.allocated(memory, block)
    return block.start


@exported(RT)
def free(address: int) -> None:
    device = machine.owner(address)
    if device is None:
        raise Fault(c.ACL_ERROR_RT_PARAM_INVALID, f"{address:#x} is not device memory", "host-pointer")
    block = device.memory.free(address)
    if block is None:
        raise transfers.misplaced(f"no block starts at {address:#x}", address, device.memory.block_at(address))
    if watch.active is not None:
        watch.active.freed(block)


@exported(RT, results=1)
def malloc_host(size: int) -> int:
    current()
    return machine.host.malloc(size)


@exported(RT)
def free_host(address: int) -> None:
    size = machine.host.free(address)
    if size is not None and watch.active is not None:
        watch.active.host_freed(address, size)
    if size is None:
        raise Fault(c.ACL_ERROR_RT_PARAM_INVALID, f"aclrtFreeHost: no pinned memory starts at {address:#x}")


@exported(RT, results=2)
def get_mem_info(attribute: int) -> tuple[int, int]:
    memory = current().device.memory
    return memory.limit - memory.used, memory.limit


@exported(RT)
def memset(address: int, maximum: int, value: int, size: int) -> None:
    current()
    transfers.check_fill(None, "aclrtMemset", address, maximum, size)
    ctypes.memset(address, value & 0xFF, size)


@exported(RT)
def memset_async(address: int, maximum: int, value: int, size: int, stream_handle: int) -> None:
    stream = stream_of(stream_handle)
    transfers.check_fill(stream, "aclrtMemsetAsync", address, maximum, size)
    stream.submit(Call("aclrtMemsetAsync", lambda: ctypes.memset(address, value & 0xFF, size)))


@exported(RT)
def memcpy(to: int, maximum: int, source: int, size: int, kind: int) -> None:
    current()
    transfers.check_copy(None, "aclrtMemcpy", to, maximum, source, size, kind)
    ctypes.memmove(to, source, size)


@exported(RT)
def memcpy_async(to: int, maximum: int, source: int, size: int, kind: int, stream_handle: int) -> None:
    stream = stream_of(stream_handle)
    transfers.check_copy(stream, "aclrtMemcpyAsync", to, maximum, source, size, kind)
    keep = machine.host.owner(to), machine.host.owner(source)
    stream.submit(Call("aclrtMemcpyAsync", lambda: ctypes.memmove(to, source, size), keep))


acl = SimpleNamespace(__name__="acl", rt=SimpleNamespace(__name__="acl.rt", **RT), **ACL)
