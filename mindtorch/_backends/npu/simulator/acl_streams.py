"""The part of ``acl.rt`` that is about streams and events."""
from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

from .. import constants as c
from . import handles, watch
from .devices import current, stream_of
from .errors import Fault
from .exports import raise_fault
from .streams import Call, Event, Record, Reset, Stream, Wait

STREAMS_OF_A_DEVICE = 1984  #: of an Ascend 910B, as CANN's documentation of aclrtCreateStream says


def create_stream() -> int:
    context = current()
    with context.device.lock:
        if len(context.device.streams()) >= STREAMS_OF_A_DEVICE:
            raise Fault(c.ACL_ERROR_RT_NO_STREAM_RESOURCE, f"device {context.device.number} has no further stream")
        taken = {stream.number for stream in context.device.streams()}
        stream = Stream(context, next(number for number in count() if number not in taken))
        context.streams.add(stream)
    return handles.add(stream)


def create_stream_with_config(priority: int, flag: int) -> int:
    return create_stream()


def destroy_stream(handle: int) -> None:
    stream = handles.get(handle, Stream)
    if not stream.is_idle():
        stream.check_pause(c.ACL_ERROR_RT_STREAM_SYNC_TIMEOUT)
    _removed(handle)
    stream.close()
    watch.ended(stream)


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


def stream_abort(handle: int) -> None:
    stream_of(handle).abort()


def set_stream_failure_mode(handle: int, mode: int) -> None:
    stream = stream_of(handle)
    if mode not in (c.ACL_CONTINUE_ON_FAILURE, c.ACL_STOP_ON_FAILURE):
        raise Fault(c.ACL_ERROR_RT_PARAM_INVALID, f"aclrtSetStreamFailureMode: there is no mode {mode}")
    if stream.failure_mode is not None:
        raise Fault(c.ACL_ERROR_RT_PARAM_INVALID, f"aclrtSetStreamFailureMode was called before for {stream}")
    stream.failure_mode = mode
    if mode == c.ACL_STOP_ON_FAILURE:  # on an Ascend 910B, that makes all streams of the context stop
        stream.context.stops_on_failure = True


def stream_query(handle: int) -> int:
    stream = stream_of(handle)
    if not stream.is_idle():
        return c.ACL_STREAM_STATUS_NOT_READY
    raise_fault(stream.context.failure)
    watch.idle(stream)
    return c.ACL_STREAM_STATUS_COMPLETE


def stream_get_id(handle: int) -> int:
    number = stream_of(handle).number
    return -1 if number is None else number


def get_stream_available_num() -> int:
    return STREAMS_OF_A_DEVICE - len(current().device.streams())


def synchronize_stream(handle: int) -> None:
    _synchronize(stream_of(handle))


def synchronize_stream_with_timeout(handle: int, milliseconds: int) -> None:
    _synchronize(stream_of(handle), milliseconds / 1000 if milliseconds >= 0 else -1)


def _synchronize(stream: Stream, seconds: float = -1) -> None:
    """Wait for a stream, and report what had gone wrong."""
    raise_fault(_waited_for(stream, seconds))
    current()  # a device may be lost while one waits for it


def _waited_for(stream: Stream, seconds: float = -1) -> Fault | None:
    clock = watch.clock_of(stream)
    fault = stream.synchronize(seconds)
    watch.reached(clock)
    return fault


def synchronize_device() -> None:
    faults = [_waited_for(stream) for stream in current().device.streams()]
    raise_fault(next(filter(None, faults), None))


def launch_callback(function: Callable[[Any], Any], arguments: Any, block: int, handle: int) -> None:
    stream = stream_of(handle)
    clock = watch.clock_of(stream)

    def call() -> None:
        watch.reached(clock)
        function(arguments)

    stream.submit(Call("aclrtLaunchCallback", call))


# -- events ----------------------------------------------------------------------------------------------------------


def create_event() -> int:
    return create_event_with_flag(c.ACL_EVENT_TIME_LINE | c.ACL_EVENT_SYNC | c.ACL_EVENT_CAPTURE_STREAM_PROGRESS)


def create_event_with_flag(flag: int) -> int:
    current()
    return handles.add(Event(flag))


def create_event_ex_with_flag(flag: int) -> int:
    current()
    return handles.add(Event(flag, ex=True))


def destroy_event(handle: int) -> None:
    handles.remove(handle, Event)


def record_event(handle: int, stream_handle: int) -> None:
    event, stream = handles.get(handle, Event), stream_of(stream_handle)
    record = Record(stream)
    record.clock = watch.clock_of(stream)
    stream.submit(record)
    event.record = record


def reset_event(handle: int, stream_handle: int) -> None:
    event = handles.get(handle, Event)
    stream_of(stream_handle).submit(Reset(event, event.record))


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


def query_event(handle: int) -> int:
    event = handles.get(handle, Event)
    done = event.record is None or _is_done(event.record)  # never recorded: complete, says CANN's runtime
    return c.ACL_EVENT_STATUS_COMPLETE if done else c.ACL_EVENT_STATUS_NOT_READY


def query_event_status(handle: int) -> int:
    event = handles.get(handle, Event)
    done = event.ex if event.record is None else _is_done(event.record)  # so do those of ExWithFlag here, and no others
    return c.ACL_EVENT_RECORDED_STATUS_COMPLETE if done else c.ACL_EVENT_RECORDED_STATUS_NOT_READY


def query_event_wait_status(handle: int) -> int:
    waiting = handles.get(handle, Event).waiting
    return c.ACL_EVENT_WAIT_STATUS_NOT_READY if waiting else c.ACL_EVENT_WAIT_STATUS_COMPLETE


def synchronize_event(handle: int) -> None:
    record = handles.get(handle, Event).record
    if record is None:
        return
    assert record.latch is not None
    if not record.latch.is_open:
        record.stream.check_pause(c.ACL_ERROR_RT_EVENT_SYNC_TIMEOUT)
    record.latch.wait()
    watch.reached(record.clock)
    if record.fault is not None:
        raise_fault(record.stream.take_fault(only=record.fault))


def event_elapsed_time(start: int, end: int) -> float:
    first, last = _moment(start), _moment(end)
    if last < first:
        raise Fault(c.ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL, "the second event was recorded before the first")
    return (last - first) / 1e6


def event_get_timestamp(handle: int) -> int:
    return _moment(handle) // 1000


def _moment(handle: int) -> int:
    event = handles.get(handle, Event)
    record = event.record
    if record is None or not event.flag & c.ACL_EVENT_TIME_LINE:
        raise Fault(c.ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, "the event was not recorded, or was made without timing")
    if not _is_done(record):
        raise Fault(c.ACL_ERROR_RT_EVENT_NOT_COMPLETE, "the event's stream has not come to it yet")
    return record.nanoseconds
