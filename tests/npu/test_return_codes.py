"""Every call of streams, events and the allocator into pyACL: in the context of its device, with CANN's arguments, and
with each code but 0 told under the name that the function has in C.
"""
from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import mindtorch as torch
from mindtorch._backends.npu import finalize, runtime
from mindtorch._backends.npu.allocator import allocator_of, memory_info
from mindtorch._backends.npu.constants import (
    ACL_EVENT_SYNC, ACL_EVENT_TIME_LINE, ACL_HBM_MEM, ACL_MEM_MALLOC_HUGE_FIRST,
)
from mindtorch._backends.npu.runtime import get_runtime

simulator = torch.npu.simulator
MIB = 1 << 20


class Calls:
    """``acl.rt`` that notes every call, and in which context the thread made it."""

    def __init__(self, rt: Any) -> None:
        self.rt, self.made = rt, []
        self.contexts: dict[int, int | None] = {}

    def __getattr__(self, name: str) -> Any:
        function = getattr(self.rt, name)

        def call(*args: Any) -> Any:
            thread = threading.get_ident()
            if name == "set_context":
                self.contexts[thread] = args[0]
            self.made.append((name, args, self.contexts.get(thread)))
            return function(*args)

        return call

    @property
    def names(self) -> list[str]:
        return [name for name, _, _ in self.made]

    def arguments(self, name: str) -> list[tuple[Any, ...]]:
        return [args for called, args, _ in self.made if called == name]


class Noted:
    """pyACL, of which ``rt`` is noted."""

    def __init__(self, acl: Any) -> None:
        self.acl, self.rt = acl, Calls(acl.rt)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.acl, name)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Iterator[Calls]:
    """What is called of ``acl.rt``, on devices that nothing has used."""
    finalize()
    noted = Noted(runtime.module())
    monkeypatch.setattr(runtime, "acl", noted)
    yield noted.rt
    simulator.faults.clear()
    gc.collect()  # events that an error's traceback keeps
    for device in runtime.runtimes():
        for queue in device.queues:
            queue.waits.clear()  # which keep events
    finalize()


def recorded(stream: torch.npu.Stream, timed: bool = False) -> torch.npu.Event:
    event = torch.npu.Event(enable_timing=timed)
    event.record(stream)
    stream.synchronize()
    return event


def later_of(stream: torch.npu.Stream) -> Callable[[], Any]:
    """A question for the time between two events, the second of which it gives the first one to answer."""
    first, second = recorded(stream, timed=True), recorded(stream, timed=True)
    return lambda: first.elapsed_time(second)


def waits(stream: torch.npu.Stream) -> Callable[[], Any]:
    event, other = recorded(stream), torch.npu.Stream("npu:1")
    return lambda: event.wait(other)


def busy(stream: torch.npu.Stream) -> torch.npu.Stream:
    with stream:
        torch.ones(2, device="npu:1").add_(1)
    return stream


def emptied(stream: torch.npu.Stream) -> Callable[[], Any]:
    torch.empty(4 * MIB, device="npu:1")
    return allocator_of(get_runtime(1)).empty_cache


def event_of(stream: torch.npu.Stream) -> torch.npu.Event:
    """An event that is recorded, and passed, without a time."""
    return recorded(stream)


def used_by_two_streams(stream: torch.npu.Stream) -> Callable[[], Any]:
    """A look at memory that was given back while another stream's work, which is held, may still use it."""
    kept = torch.ones(1000, device="npu:1")
    kept.record_stream(busy(stream))
    del kept
    allocator = allocator_of(get_runtime(1))
    allocator.statistics()  # an event is recorded in the other stream
    return allocator.statistics


#: What is done on device 1, made ready by a function that gets a stream of it: what is called of pyACL in doing it.
ACTIONS: dict[str, tuple[Callable[[torch.npu.Stream], Callable[[], Any]], set[str]]] = {
    "an event is recorded": (lambda stream: lambda: torch.npu.Event().record(stream),
                             {"create_event_ex_with_flag", "record_event"}),
    "an event is recorded again": (lambda stream: (lambda event: lambda: event.record(stream))(event_of(stream)),
                                   {"record_event"}),
    "a stream waits for an event": (waits, {"stream_wait_event"}),
    "an event is asked": (lambda stream: recorded(stream).query, {"query_event_status"}),
    "an event is waited for": (lambda stream: recorded(stream).synchronize, {"synchronize_event"}),
    "a time is asked for": (later_of, {"query_event_status", "event_elapsed_time"}),
    "a stream is asked": (lambda stream: busy(stream).query, {"stream_query"}),
    "a stream is waited for": (lambda stream: busy(stream).synchronize, {"synchronize_stream"}),
    "a stream is made": (lambda stream: lambda: torch.npu.Stream("npu:1"), {"create_stream"}),
    "memory is taken": (lambda stream: lambda: torch.empty(4 * MIB, device="npu:1"), {"malloc"}),
    "memory is given back": (emptied, {"free", "synchronize_stream"}),
    "memory is asked about": (lambda stream: lambda: memory_info(get_runtime(1)), {"get_mem_info"}),
    "memory of two streams is looked at": (used_by_two_streams, {"query_event_status"}),
}
#: Names in C that are not pyACL's in other letters.
IN_C = {"set_context": "aclrtSetCurrentContext", "create_stream": "aclrtCreateStream"}


def in_c(name: str) -> str:
    return IN_C.get(name) or "aclrt" + "".join(part.capitalize() for part in name.split("_"))


def ready(action: str) -> Callable[[], Any]:
    """The action, with what it needs, while device 0's context is the thread's."""
    act = ACTIONS[action][0](torch.npu.Stream("npu:1"))
    get_runtime(0).activate()
    return act


@pytest.mark.parametrize("action", ACTIONS)
def test_every_call_is_made_in_the_context_of_its_device(calls: Calls, action: str) -> None:
    act = ready(action)
    calls.made.clear()
    act()
    assert ACTIONS[action][1] <= set(calls.names)
    context = get_runtime(1).context
    assert {made_in for name, _, made_in in calls.made} == {context}, calls.names


@pytest.mark.parametrize(("action", "name"), [(action, name) for action, (_, names) in ACTIONS.items()
                                              for name in sorted(names)])
def test_a_code_that_a_call_returns_is_told_with_its_name_in_c_and_the_device(
    calls: Calls, action: str, name: str
) -> None:
    act = ready(action)
    simulator.faults.fail_next(name, code=507899)
    with pytest.raises(torch.npu.AclError) as caught:
        act()
    assert (caught.value.call.removesuffix("WithConfig"), caught.value.code) == (in_c(name), 507899)
    assert f"{caught.value.call} failed on npu:1 with ACL_ERROR_RT_DRV_INTERNAL_ERROR (507899)" in str(caught.value)


@pytest.mark.parametrize("action", ACTIONS)
def test_a_context_that_cannot_be_set_is_told_and_set_the_next_time(calls: Calls, action: str) -> None:
    act = ready(action)
    simulator.faults.fail_next("set_context")
    with pytest.raises(torch.npu.AclError, match="aclrtSetCurrentContext failed on npu:1"):
        act()
    act()


@pytest.mark.parametrize("action", [action for action in ACTIONS if action != "memory is given back"])
def test_after_a_call_that_failed_the_same_succeeds(calls: Calls, action: str) -> None:
    act = ready(action)
    for name in sorted(ACTIONS[action][1]):
        simulator.faults.fail_next(name, code=507899)
        with pytest.raises(torch.npu.AclError):
            act()
        act()
    assert torch.ones(3, device="npu:1").add(1).tolist() == [2, 2, 2]


@pytest.mark.parametrize(("timed", "flag"), [(False, ACL_EVENT_SYNC), (True, ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE)])
def test_an_event_is_made_once_with_the_flags_of_what_it_is_for(calls: Calls, timed: bool, flag: int) -> None:
    event = torch.npu.Event(enable_timing=timed)
    assert event.npu_event is None and event.device is None and repr(event) == "<torch.npu.Event uninitialized>"
    for _ in range(2):
        event.record()
    assert calls.arguments("create_event_ex_with_flag") == [(flag,)]
    assert calls.arguments("record_event") == [(event.npu_event, torch.npu.current_stream().npu_stream)] * 2
    assert event.device == torch.device("npu:0") and repr(event) == f"<torch.npu.Event {event.npu_event:#x}>"


def test_events_that_nothing_refers_to_are_destroyed_when_the_next_is_made(calls: Calls) -> None:
    event = recorded(torch.npu.current_stream())
    handle = event.npu_event
    del event
    assert not calls.arguments("destroy_event")
    recorded(torch.npu.current_stream())
    assert calls.arguments("destroy_event") == [(handle,)]


def test_memory_is_asked_for_in_huge_pages_where_there_are_and_of_the_devices_kind(calls: Calls) -> None:
    kept = [torch.empty(length, dtype=torch.uint8, device="npu") for length in (1, 2 * MIB, 21 * MIB)]
    assert calls.arguments("malloc") == [(length * MIB, ACL_MEM_MALLOC_HUGE_FIRST) for length in (2, 20, 22)] and kept
    torch.npu.mem_get_info()
    assert calls.arguments("get_mem_info") == [(ACL_HBM_MEM,)]


def test_nothing_is_asked_of_the_device_for_an_event_that_was_never_recorded(calls: Calls) -> None:
    event = torch.npu.Event()
    torch.npu.current_stream()
    calls.made.clear()
    assert event.query() is True
    event.wait()
    event.synchronize()
    assert calls.made == []


def test_an_event_belongs_to_the_device_that_it_was_recorded_on_first(calls: Calls) -> None:
    event = torch.npu.Event()
    event.record(torch.npu.Stream("npu:1"))
    handle = event.npu_event
    with pytest.raises(RuntimeError, match=r"Event device npu:1 does not match recording stream's device npu:0\.$"):
        event.record(torch.npu.default_stream("npu:0"))
    assert event.device == torch.device("npu:1") and event.npu_event == handle


def test_a_stream_that_waits_for_itself_has_nothing_of_another_to_hear(calls: Calls) -> None:
    stream, other = torch.npu.Stream(), torch.npu.Stream()
    event = recorded(stream)
    event.wait(stream)
    assert not stream.queue.waits and calls.arguments("stream_wait_event") == [(stream.npu_stream, event.npu_event)]
    event.wait(other)
    assert list(other.queue.waits) == [(event, stream.queue, 0, 0)]


def test_an_event_marks_its_record_until_it_is_recorded_again_or_its_stream_goes() -> None:
    stream, event = torch.npu.Stream(), torch.npu.Event()
    assert not event.is_recorded_at(0)
    event.record(stream)
    assert event.is_recorded_at(0) and not event.is_recorded_at(1)
    with stream:
        torch.ones(1, device="npu")
    number = stream.queue.enqueued
    event.record(stream)
    assert event.is_recorded_at(number) and not event.is_recorded_at(0)
    stream.synchronize()
    queue = stream.queue
    del stream
    torch.npu.Stream()
    assert queue.is_destroyed and not event.is_recorded_at(number)


# -- what streams and events are ---------------------------------------------------------------------------------------

def test_a_stream_tells_its_device_number_and_handle() -> None:
    first, second = torch.npu.Stream("npu:1"), torch.npu.Stream(1, -1)
    for stream in first, second:
        assert (stream.device, stream.device_index) == (torch.device("npu:1"), 1)
        assert stream.stream_id == stream.queue.number and stream.npu_stream == stream.queue.handle
        assert repr(stream) == (f"<torch.npu.Stream device=npu:1 stream_id={stream.stream_id} "
                                f"npu_stream={stream.npu_stream:#x}>")
    assert (first.priority, second.priority) == (0, -1)
    assert first != second and first.stream_id != second.stream_id and len({first, second}) == 2
    with first:
        again = torch.npu.current_stream("npu:1")
    assert again == first and hash(again) == hash(first) and again is not first and first != 1
    default = torch.npu.default_stream(1)
    assert default.stream_id == 0 and default == torch.npu.default_stream("npu:1")


def test_the_device_of_a_stream_is_an_npu() -> None:
    with pytest.raises(ValueError, match="Expected a npu device, but got: cpu"):
        torch.npu.Stream("cpu")
    with torch.npu.device(1):
        assert torch.npu.Stream().device_index == torch.npu.current_stream().device_index == 1
        assert torch.npu.default_stream().device_index == 1 and torch.npu.Stream("npu:0").device_index == 0
    assert torch.npu.Stream("npu").device_index == 0


def test_a_stream_that_is_set_stays_with_its_device_and_a_block_takes_itself_back() -> None:
    stream, before = torch.npu.Stream("npu:1"), torch.npu.current_stream("npu:1")
    try:
        torch.npu.set_stream(stream)
        assert torch.npu.current_device() == 1 and torch.npu.current_stream() == stream
        with torch.npu.stream(None):
            assert torch.npu.current_stream() == stream
    finally:
        torch.npu.set_stream(before)
        torch.npu.set_device(0)
    with torch.npu.stream(stream) as entered:
        assert entered is stream and torch.npu.current_stream() == stream
    assert torch.npu.current_device() == 0 and torch.npu.current_stream("npu:1") == before


def test_a_stream_records_a_new_event_or_the_one_that_it_is_given() -> None:
    stream, given = torch.npu.Stream(), torch.npu.Event()
    assert stream.record_event(given) is given and given.npu_event is not None
    made = stream.record_event()
    assert made is not given and made.device == stream.device and made.query() in (True, False)


def test_events_of_several_processes_are_refused() -> None:
    with pytest.raises(RuntimeError, match=r"^events of several processes are not supported on the NPU$"):
        torch.npu.Event(interprocess=True)
    event = torch.npu.Event(enable_timing=True, blocking=True)
    assert (event.enable_timing, event.blocking) == (True, True)
    assert (torch.npu.Event().enable_timing, torch.npu.Event().blocking) == (False, False)
