"""The sanitizer finds what has no order: memory that is freed too early, and races; what is ordered is clean."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mindtorch._backends.npu import constants as c
from mindtorch._backends.npu.simulator import executors, handles, watch
from mindtorch._backends.npu.simulator.clocks import Clocks, join
from mindtorch._backends.npu.simulator.devices import stream_of
from mindtorch._backends.npu.simulator.sanitizer import _overlap

from .program import add, arguments, array, empty, free, got, launch, phases, plan, rt, scale
from .sanitized import clean, found, two_streams

pytestmark = pytest.mark.usefixtures("sanitized")


def test_memory_that_is_freed_before_the_operator_has_run() -> None:
    one, out = array([1, 2]), empty(2)
    add(one, one, out)
    free(out)
    found("freed-while-pending", "aclnnAdd", "it was called at")


def test_waiting_for_another_stream_is_not_enough() -> None:
    """Even if the operator has run in fact: nothing guarantees it."""
    stream, other = got(rt.create_stream()), got(rt.create_stream())
    one, out = array([1, 2]), empty(2)
    add(one, one, out, stream)
    rt.synchronize_stream(other)
    free(out)
    found("freed-while-pending", "aclnnAdd")


def test_a_workspace_that_is_freed_too_early() -> None:
    one, out = array(np.eye(2)), empty(2, 2)
    with arguments("aclnnMatmul", (one, one, out, 0)) as given:
        _, size, executor = plan("aclnnMatmul", given)
        workspace = got(rt.malloc(size, 0))
        assert phases("aclnnMatmul")[1](workspace, size, executor, 0) == 0
    rt.free(workspace)
    found("freed-while-pending", "aclnnMatmul")


@pytest.mark.parametrize("offset", [0, 16])
def test_pinned_memory_that_is_freed_too_early(offset: int) -> None:
    pinned, out = got(rt.malloc_host(32)), empty(8)
    rt.memcpy_async(out.address, 16, pinned + offset, 16, c.ACL_MEMCPY_HOST_TO_DEVICE, 0)
    rt.free_host(pinned)
    found("freed-while-pending", "aclrtMemcpyAsync")


def test_a_call_that_another_thread_overtakes_by_destroying_the_stream_leaves_nothing_pending(
        monkeypatch: pytest.MonkeyPatch) -> None:
    one, out, stream = array([1, 2]), empty(2), got(rt.create_stream())

    def overtaken(handle: int) -> Any:
        found = stream_of(handle)
        rt.destroy_stream(handle)
        return found

    monkeypatch.setattr(executors, "stream_of", overtaken)
    assert add(one, one, out, stream) == c.ACL_ERROR_RT_INVALID_HANDLE
    free(one, out)
    clean()


@pytest.mark.parametrize("how", ["stream", "device", "event", "query", "destroy", "through another stream"])
def test_freeing_after_waiting_is_clean(how: str) -> None:
    stream, other, event = got(rt.create_stream()), got(rt.create_stream()), got(rt.create_event())
    one, out = array([1, 2]), empty(2)
    add(one, one, out, stream)
    rt.record_event(event, stream)
    if how == "stream":
        rt.synchronize_stream(stream)
    elif how == "device":
        rt.synchronize_device()
    elif how == "event":
        rt.synchronize_event(event)
    elif how == "query":
        handles.objects[event].record.latch.wait()  # the sanitizer does not see this one
        assert got(rt.query_event_status(event)) == c.ACL_EVENT_RECORDED_STATUS_COMPLETE
    elif how == "destroy":
        rt.destroy_stream(stream)
    else:
        rt.stream_wait_event(other, event)
        rt.synchronize_stream(other)
    free(one, out)
    clean()


@pytest.mark.parametrize("second_writes", [True, False])
def test_two_streams_on_the_same_memory(second_writes: bool) -> None:
    first, second, _ = two_streams()
    one, shared, out = array([1, 2]), empty(2), array([0, 0])
    add(one, one, shared, first)
    scale(*((one, 2, shared) if second_writes else (shared, 2, out)), second)
    found("race", "aclnnMuls", "aclnnAdd")


def test_a_write_after_a_read() -> None:
    first, second, _ = two_streams()
    shared, out = array([1, 2]), empty(2)
    scale(shared, 2, out, first)
    launch("aclnnInplaceZero", shared, stream=second)
    found("race", "aclnnInplaceZero", "reads it on stream")


def test_an_event_that_is_recorded_too_early() -> None:
    first, second, event = two_streams()
    one, out, other = array([1, 2]), empty(2), empty(2)
    rt.record_event(event, first)
    add(one, one, out, first)
    rt.stream_wait_event(second, event)
    scale(out, 2, other, second)
    found("race", "aclnnMuls")


def test_the_host_copies_without_waiting() -> None:
    one, out = array([1, 2]), empty(2)
    add(one, one, out)
    out.read()
    found("race", "aclrtMemcpy", "the host")


def test_the_host_overwrites_what_is_still_read() -> None:
    one, out, host = array([1, 2]), empty(2), np.zeros(2, "float32")
    add(one, one, out)
    rt.memcpy(one.address, 8, host.ctypes.data, 8, c.ACL_MEMCPY_HOST_TO_DEVICE)
    found("race", "aclrtMemcpy", "written by the host")


def test_reading_together_is_clean() -> None:
    first, second, _ = two_streams()
    one, out, other = array([1, 2]), empty(2), empty(2)
    add(one, one, out, first)
    add(one, one, other, second)
    clean()


def test_parts_that_do_not_overlap_are_clean() -> None:
    first, second, _ = two_streams()
    whole = array(np.arange(64).reshape(8, 8))
    evens, odds = whole.view((8, 4), (8, 2)), whole.view((8, 4), (8, 2), 1)
    scale(evens, 2, evens, first)
    scale(odds, 2, odds, second)
    clean()
    scale(whole.view((8,), (8,), 2), 2, empty(8), second)
    found("race", "aclnnMuls")


def test_where_it_is_too_hard_to_say_whether_parts_overlap_they_are_taken_not_to() -> None:
    byte = np.dtype("uint8")

    def part(address: int, base: int) -> tuple[int, int, Any]:
        strides = tuple(pow(base, power, 10**7 + 19) for power in range(3, 7))
        return address, address + 8 * sum(strides) + 1, ((9,) * 4, strides, address, byte)

    one, other = part(0, 7), part(1, 11)
    assert not _overlap(one, other) and _overlap(one, (0, 1, None))


def test_a_stream_that_has_ended_is_forgotten_by_every_clock() -> None:
    clocks = Clocks()
    for number in 1, 1, 2:
        clocks.of(number)[number] += 1
    join(clocks.of(2), clocks.of(1))
    clocks.host_reached(clocks.of(2))
    assert clocks.host == {1: 2, 2: 1} and not clocks.knows({}, 1, 2)
    clocks.forget(1)
    assert clocks.host == {2: 1} == clocks.of(2) and clocks.knows({}, 1, 2)


def test_a_stream_that_is_destroyed_leaves_no_clock() -> None:
    first, second, _ = two_streams()
    one, out = array([1, 2]), empty(2)
    add(one, one, out, first)
    rt.synchronize_stream(first)
    add(out, out, empty(2), second)
    rt.destroy_stream(first)
    clocks = watch.active._clocks
    assert len(clocks._streams) == 1 and len(clocks.host) <= 1


def test_a_pipeline_over_two_streams_is_clean() -> None:
    """Copies on one stream, operators on the other, two buffers that take turns, an event each way."""
    copying, computing, _ = two_streams()
    pinned = [got(rt.malloc_host(256)) for _ in range(2)]
    buffers, total = [empty(64) for _ in range(2)], array(np.zeros(64))
    filled, used = ([got(rt.create_event()) for _ in range(2)] for _ in range(2))
    for step in range(10):
        turn = step % 2
        rt.stream_wait_event(copying, used[turn])
        rt.memcpy_async(buffers[turn].address, 256, pinned[turn], 256, c.ACL_MEMCPY_HOST_TO_DEVICE, copying)
        rt.record_event(filled[turn], copying)
        rt.stream_wait_event(computing, filled[turn])
        add(total, buffers[turn], total, computing)
        rt.record_event(used[turn], computing)
    rt.synchronize_stream(computing)
    total.read()
    free(*buffers, total)
    for address in pinned:
        rt.free_host(address)
    clean()


def test_the_pipeline_without_one_of_its_events_is_not() -> None:
    copying, computing, filled = two_streams()
    pinned, buffer, total = got(rt.malloc_host(256)), empty(64), array(np.zeros(64))
    for _ in range(2):
        rt.memcpy_async(buffer.address, 256, pinned, 256, c.ACL_MEMCPY_HOST_TO_DEVICE, copying)
        rt.record_event(filled, copying)
        rt.stream_wait_event(computing, filled)
        add(total, buffer, total, computing)
    found("race", "aclrtMemcpyAsync", "aclnnAdd")


def test_ping_pong_between_two_streams_is_clean() -> None:
    streams, events = two_streams()[:2], [got(rt.create_event()) for _ in range(2)]
    one, other = array([1, 1]), array([0, 0])
    for step in range(10):
        mine = step % 2
        add(one, other, *((other,) if mine else (one,)), streams[mine])
        rt.record_event(events[mine], streams[mine])
        rt.stream_wait_event(streams[1 - mine], events[mine])
    rt.synchronize_device()
    clean()
    assert one.read().tolist() == [34, 34] and other.read().tolist() == [55, 55]


def test_order_that_a_host_thread_makes_is_order() -> None:
    first, second, _ = two_streams()
    one, out = array([1, 2]), empty(2)
    add(one, one, out, first)
    rt.synchronize_stream(first)
    scale(out, 2, out, second)
    clean()


def test_waiting_for_an_event_is_enough_although_the_stream_goes_on() -> None:
    first, second, event = two_streams()
    whole = array(np.zeros(8))
    early, late = whole.view((4,), (1,)), whole.view((4,), (1,), 4)
    launch("aclnnInplaceFillScalar", early, 1, stream=first)
    rt.record_event(event, first)
    launch("aclnnInplaceFillScalar", late, 2, stream=first)
    rt.synchronize_event(event)
    scale(early, 2, early, second)
    clean()
    scale(late, 2, early, second)
    found("race", "aclnnMuls")


def test_a_callback_knows_what_ran_before_it() -> None:
    one, out = array([1, 2]), empty(2)
    context, values = got(rt.create_context(0)), []
    own = got(rt.create_stream())

    def look(argument: None) -> None:
        rt.set_context(context)
        values.extend(out.read())

    add(one, one, out, own)
    rt.launch_callback(look, None, c.ACL_CALLBACK_BLOCK, own)
    rt.synchronize_stream(own)
    clean()
    assert values == [2, 4]
