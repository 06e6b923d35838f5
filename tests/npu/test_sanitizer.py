"""The sanitizer: each kind of mistake, planted, is found and named with operator and call site; clean programs are
clean.
"""
from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from mindtorch._backends.npu import constants as c, simulator
from mindtorch._backends.npu.simulator import handles, watch
from mindtorch._backends.npu.simulator.clocks import Clocks, join
from mindtorch._backends.npu.simulator.sanitizer import _overlap

from . import program
from .program import Array, acl, add, arguments, array, c_function, empty, free, got, launch, phases, plan, rt, scale


@pytest.fixture(autouse=True)
def watched() -> Iterator[None]:
    with program.fresh_simulator(sanitizer=True):
        yield


#: What runs here is the program; helpers of `program.py` are a part of it, so that a call site may be there.
HERE = (__file__, program.__file__)


def found(kind: str, operator: str, words: str = "") -> None:
    """There is this one report and no other."""
    reports = simulator.reports()
    assert [(report.kind, report.operator) for report in reports] == [(kind, operator)], [
        str(report) for report in reports
    ]
    assert kind in simulator.KINDS
    assert words in reports[0].message
    assert reports[0].site.rsplit(":", 1)[0] in HERE


def clean() -> None:
    assert [str(report) for report in simulator.check()] == []


def line_of(function: Callable[..., object], text: str) -> int:
    """The number of the line of a function that has this text."""
    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if text in line)


# -- use after free --------------------------------------------------------------------------------------------------


def test_an_operator_on_freed_memory() -> None:
    one, out = array([1, 2]), empty(2)
    free(one)
    add(one, out, out)
    assert simulator.reports()[0].kind == "use-after-free"
    assert simulator.reports()[0].operator == "aclnnAdd"
    assert "self" in simulator.reports()[0].message and "given back at" in simulator.reports()[0].message


def test_a_copy_from_freed_memory() -> None:
    one, host = array([1, 2]), np.zeros(2, "float32")
    free(one)
    code = rt.memcpy(host.ctypes.data, 8, one.address, 8, c.ACL_MEMCPY_DEVICE_TO_HOST)
    assert code == c.ACL_ERROR_RT_PARAM_INVALID
    found("use-after-free", "memcpy", "given back at")


def test_memory_that_is_freed_twice() -> None:
    one = array([1, 2])
    free(one)
    assert rt.free(one.address) == c.ACL_ERROR_RT_PARAM_INVALID
    found("use-after-free", "free", "given back at")


def test_a_freed_workspace() -> None:
    one, out = array(np.eye(2)), empty(2, 2)
    with arguments("aclnnMatmul", (one, one, out, 0)) as given:
        code, size, executor = plan("aclnnMatmul", given)
        assert code == 0
        workspace = got(rt.malloc(size, 0))
        rt.free(workspace)
        phases("aclnnMatmul")[1](workspace, size, executor, 0)
    found("use-after-free", "aclnnMatmul", "workspace")


# -- out of bounds ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "stride", "offset"), [((9,), (1,), 0), ((4,), (1,), 5), ((2, 2), (7, 1), 0), ((2,), (1,), -1)]
)
def test_a_view_that_reaches_beyond_its_storage(shape: tuple[int, ...], stride: tuple[int, ...], offset: int) -> None:
    one, out = array(np.ones(8)), empty(*shape)
    launch("aclnnAdds", one.view(shape, stride, offset), 1, 1, out)
    found("out-of-bounds", "aclnnAdds", "self reaches from byte")


def test_a_descriptor_that_promises_more_than_is_allocated() -> None:
    one = array(np.ones(8))
    longer = Array(one.address, (100,), one.dtype, (1,), 0, 100)
    launch("aclnnInplaceFillScalar", longer, 1)
    found("out-of-bounds", "aclnnInplaceFillScalar", "400 bytes in a block of 32")


def test_a_view_that_reaches_beyond_its_storage_into_the_rest_of_the_block() -> None:
    """Blocks of a caching allocator hold many storages: it is the descriptor that knows which one is meant."""
    whole = array(np.ones(64))
    storage = Array(whole.address + 32, (8,), whole.dtype, (1,), 0, 8)
    scale(storage, 2, storage)
    clean()
    scale(storage.view((9,), (1,)), 2, empty(9))
    found("out-of-bounds", "aclnnMuls", "a storage of 32 bytes in a block of 256")


def test_a_copy_that_is_longer_than_its_block() -> None:
    one, host = empty(8), np.zeros(9, "float32")
    assert rt.memcpy(one.address, 36, host.ctypes.data, 36, c.ACL_MEMCPY_HOST_TO_DEVICE) == c.ACL_ERROR_RT_PARAM_INVALID
    found("out-of-bounds", "memcpy", "in a block of 32 bytes")


def test_memory_of_another_device() -> None:
    one, out = array([1, 2]), empty(2)
    rt.set_device(1)
    stream = got(rt.create_stream())
    add(one, one, out, stream)
    assert rt.synchronize_stream(stream) == c.ACL_ERROR_RT_AICORE_EXCEPTION
    assert {(report.kind, report.operator) for report in simulator.reports()} == {("out-of-bounds", "aclnnAdd")}
    simulator.clear_reports()
    assert rt.device_enable_peer_access(0, 0) == 0
    add(one, one, out, stream)
    assert rt.synchronize_stream(stream) == 0
    clean()


# -- uninitialised ---------------------------------------------------------------------------------------------------


def test_an_operator_that_reads_what_nothing_has_written() -> None:
    one, out = empty(8), empty(8)
    scale(one, 2, out)
    found("uninitialised-read", "aclnnMuls", "self")


def test_a_part_that_nothing_has_written() -> None:
    one, out = empty(4, 4), empty(4)
    launch("aclnnInplaceFillScalar", one.view((4, 3), (4, 1)), 1)
    launch("aclnnReduceSum", one.view((4, 3), (4, 1)), (1,), False, c.ACL_FLOAT, out)
    clean()
    scale(one.view((4,), (4,), 3), 2, out)
    found("uninitialised-read", "aclnnMuls", "self")


def test_a_copy_to_the_host_of_what_nothing_has_written() -> None:
    empty(4).read()
    found("uninitialised-read", "aclrtMemcpy")


def test_a_copy_on_the_device_carries_along_what_is_written() -> None:
    one, other, out = empty(8), empty(8), empty(4)
    launch("aclnnInplaceZero", one.view((4,), (1,)))
    assert rt.memcpy_async(other.address, 32, one.address, 32, c.ACL_MEMCPY_DEVICE_TO_DEVICE, 0) == 0
    scale(other.view((4,), (1,)), 2, out)
    clean()
    scale(other.view((4,), (1,), 4), 2, out)
    found("uninitialised-read", "aclnnMuls")


def test_memory_that_is_allocated_again_is_unwritten_again() -> None:
    one = array(np.ones(8))
    free(one)
    again = empty(8)
    assert again.address == one.address
    scale(again, 2, again)
    found("uninitialised-read", "aclnnMuls")


@pytest.mark.parametrize(("operator", "arguments"), [
    ("aclnnInplaceMaskedFillScalar", lambda mask, index, source: (mask, 3)),
    ("aclnnInplaceMaskedFillTensor", lambda mask, index, source: (mask, array(3))),
    ("aclnnInplaceMaskedScatter", lambda mask, index, source: (mask, source)),
    ("aclnnInplaceIndexCopy", lambda mask, index, source: (0, index, source)),
    ("aclnnInplaceScatter", lambda mask, index, source: (0, index, source, 0)),
    ("aclnnInplaceScatterValue", lambda mask, index, source: (0, index, 3, 0)),
    ("aclnnInplacePut", lambda mask, index, source: (index, source, False)),
    ("aclnnIndexPutImpl", lambda mask, index, source: ([index], source, False, False)),
])
def test_writing_a_part_reads_nothing(operator: str, arguments: Callable[..., tuple[Any, ...]]) -> None:
    one = empty(4)
    given = arguments(array([1, 0, 1, 0], "bool"), array([0, 2], "int64"), array([5, 6]))
    assert launch(operator, one, *given) == 0
    clean()


# -- freed while pending ---------------------------------------------------------------------------------------------


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


# -- races -----------------------------------------------------------------------------------------------------------


def two_streams() -> tuple[int, int, int]:
    return got(rt.create_stream()), got(rt.create_stream()), got(rt.create_event())


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
        clocks.tick(number)
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


# -- handles ---------------------------------------------------------------------------------------------------------


def test_a_descriptor_that_is_used_after_its_end() -> None:
    one = array([1, 2])
    handle, out = one.handle(), one.handle()
    c_function("aclDestroyTensor")(handle)
    assert plan("aclnnRelu", [handle, out])[0] == c.ACLNN_ERR_PARAM_INVALID
    found("destroyed-handle", "aclnnRelu", "self")


def test_a_descriptor_that_is_destroyed_between_the_phases() -> None:
    one = array([1, 2])
    with arguments("aclnnRelu", (one, one)) as given:
        _, size, executor = plan("aclnnRelu", given)
    assert size == 0
    assert phases("aclnnRelu")[1](None, 0, executor, 0) == 0
    kinds = {(report.kind, report.operator) for report in simulator.reports()}
    assert kinds == {("destroyed-handle", "aclnnRelu")}


def test_a_descriptor_that_is_told_another_address_between_the_phases() -> None:
    one, other = array([1, 2]), array([3, 4])
    with arguments("aclnnRelu", (one, one)) as given:
        _, _, executor = plan("aclnnRelu", given)
        assert c_function("aclSetRawTensorAddr")(given[0], other.address) == 0
        assert phases("aclnnRelu")[1](None, 0, executor, 0) == 0
    found("destroyed-handle", "aclnnRelu", "self was given another address")


def test_an_executor_that_is_used_twice() -> None:
    one = array([1, 2])
    with arguments("aclnnRelu", (one, one)) as given:
        _, _, executor = plan("aclnnRelu", given)
        phases("aclnnRelu")[1](None, 0, executor, 0)
        phases("aclnnRelu")[1](None, 0, executor, 0)
    found("destroyed-handle", "aclnnRelu", "aclOpExecutor")


@pytest.mark.parametrize("call", ["destroy_stream", "destroy_event"])
def test_a_stream_or_event_that_is_destroyed_twice(call: str) -> None:
    handle = got(rt.create_stream() if call == "destroy_stream" else rt.create_event())
    assert getattr(rt, call)(handle) == 0
    assert getattr(rt, call)(handle) == c.ACL_ERROR_RT_INVALID_HANDLE
    found("destroyed-handle", call)


def test_a_descriptor_that_is_never_destroyed() -> None:
    array([1, 2]).handle()
    simulator.check()
    found("leaked-handle", "aclTensor")
    simulator.check()
    assert len(simulator.reports()) == 1


def test_an_executor_that_neither_runs_nor_is_destroyed() -> None:
    one = array([1, 2])
    with arguments("aclnnRelu", (one, one)) as given:
        plan("aclnnRelu", given)
    simulator.check()
    found("leaked-handle", "aclnnRelu", "aclOpExecutor")


@pytest.mark.parametrize(("make", "name"), [(rt.create_stream, "aclrtStream"), (rt.create_event, "aclrtEvent")])
def test_what_is_left_at_the_end(make: Callable[[], tuple[int, int]], name: str) -> None:
    got(make())
    clean()  # they may live on until the end
    acl.finalize()
    found("leaked-handle", name)


# -- host pointers ---------------------------------------------------------------------------------------------------


def test_an_operator_on_host_memory() -> None:
    host, out = np.ones(2, "float32"), empty(2)
    mistaken = Array(host.ctypes.data, (2,), host.dtype, (1,), 0, 2)
    scale(mistaken, 2, out)
    found("host-pointer", "aclnnMuls", "self")
    assert rt.synchronize_stream(0) == c.ACL_ERROR_RT_AICORE_EXCEPTION


def test_a_copy_to_the_wrong_side() -> None:
    host, device = np.ones(2, "float32"), array([1, 2])
    assert (
        rt.memcpy(host.ctypes.data, 8, device.address, 8, c.ACL_MEMCPY_DEVICE_TO_DEVICE) == c.ACL_ERROR_RT_PARAM_INVALID
    )
    found("host-pointer", "memcpy", "is host memory where device memory belongs")
    simulator.clear_reports()
    assert rt.memcpy(device.address, 8, device.address, 8, c.ACL_MEMCPY_HOST_TO_DEVICE) == c.ACL_ERROR_RT_PARAM_INVALID
    found("host-pointer", "memcpy", "is device memory where host memory belongs")


@pytest.mark.parametrize("call", ["memset", "free"])
def test_host_memory_that_is_filled_or_freed_as_the_devices(call: str) -> None:
    host = np.ones(2, "float32")
    arguments = (host.ctypes.data, 8, 0, 8) if call == "memset" else (host.ctypes.data,)
    assert getattr(rt, call)(*arguments) == c.ACL_ERROR_RT_PARAM_INVALID
    found("host-pointer", call)


def test_a_workspace_on_the_host() -> None:
    one, out, host = array(np.eye(2)), empty(2, 2), np.ones(4096)
    with arguments("aclnnMatmul", (one, one, out, 0)) as given:
        _, size, executor = plan("aclnnMatmul", given)
        assert phases("aclnnMatmul")[1](host.ctypes.data, size, executor, 0) == c.ACLNN_ERR_PARAM_INVALID
    found("host-pointer", "aclnnMatmul", "workspace")


# -- the sanitizer itself --------------------------------------------------------------------------------------------


def test_a_report_names_the_line_of_the_call() -> None:
    handle = got(rt.create_event())
    rt.destroy_event(handle)
    rt.destroy_event(handle)  # here
    (report,) = simulator.reports()
    assert report.site == f"{__file__}:{line_of(test_a_report_names_the_line_of_the_call, '# here')}"
    assert str(report).startswith(f"destroyed-handle: destroy_event at {report.site}: ")


def test_a_c_call_names_the_line_of_the_call() -> None:
    one, out = empty(2), empty(2)
    with arguments("aclnnRelu", (one, out)) as given:
        _, _, executor = plan("aclnnRelu", given)
        phases("aclnnRelu")[1](None, 0, executor, 0)  # here
    (report,) = simulator.reports()
    assert report.site == f"{__file__}:{line_of(test_a_c_call_names_the_line_of_the_call, '# here')}"


def test_switched_off_it_sees_nothing() -> None:
    simulator.sanitizer(False)
    one, out = empty(2), empty(2)
    scale(one, 2, out)
    free(one)
    assert simulator.reports() == []


def test_what_is_allocated_when_it_is_switched_on_counts_as_written() -> None:
    simulator.sanitizer(False)
    one, out = empty(2), empty(2)
    simulator.sanitizer(True)
    scale(one, 2, out)
    clean()


def test_what_ran_before_it_was_switched_off_and_on_is_over() -> None:
    """Its clocks begin anew, and would never come to the tasks that it counted before."""
    one, out, other = array([1.0, 2.0]), empty(2), empty(2)
    for _ in range(3):
        scale(one, 2, out)
    rt.synchronize_device()
    simulator.sanitizer(False)
    simulator.sanitizer(True)
    scale(one, 2, other)
    rt.synchronize_device()
    assert list(out.read()) == [2.0, 4.0]
    clean()
