"""Operators on the NPU return before they have run; streams keep their order; every look at data waits."""
from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

import mindtorch as torch
from mindtorch._backends.npu import aclnn
from mindtorch._backends.npu.runtime import get_runtime
from mindtorch._backends.npu.streams import device_index

simulator = torch.npu.simulator


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Every test starts and ends with nothing pending, no fault and no report."""
    torch.npu.synchronize()
    simulator.clear_reports()
    yield
    simulator.faults.clear()
    torch.npu.synchronize()


def ones(*shape: int) -> torch.Tensor:
    out = torch.ones(*shape, device="npu")
    torch.npu.synchronize()
    return out


def test_an_operator_returns_before_it_has_run() -> None:
    a, queue = ones(3), get_runtime(0).queue
    with simulator.paused():
        b = (a + a).relu()
        assert queue.pending() == ["aclnnAdd", "aclnnRelu"]
        assert b.untyped_storage()._memory.pending() == (queue, ["aclnnAdd", "aclnnRelu"])
        assert a.untyped_storage()._memory.pending() is None
        assert not torch.npu.current_stream().query()
    assert b.tolist() == [2, 2, 2]
    assert queue.pending() == [] and torch.npu.current_stream().query()


def test_a_stream_runs_in_order() -> None:
    a = ones(4)
    with simulator.paused():
        for _ in range(20):
            a.mul_(2).sub_(1)
    assert a.tolist() == [1] * 4


def test_streams_run_independently_and_wait_for_each_other_when_told() -> None:
    first, second = torch.npu.Stream(), torch.npu.Stream()
    a = ones(2)
    ready = torch.npu.Event()
    with simulator.paused(first):
        with torch.npu.stream(first):
            b = a + 1
            ready.record()
        with torch.npu.stream(second):
            c = a + 2
        second.synchronize()  # although the first stream is held
        assert not ready.query() and c.tolist() == [3, 3]
        with torch.npu.stream(second):
            ready.wait()
            d = b * 10
        assert not second.query()
    second.synchronize()
    assert ready.query() and d.tolist() == [20, 20]


def test_wait_stream_orders_all_that_was_put_into_the_other_stream() -> None:
    side = torch.npu.Stream()
    a = ones(2)
    with simulator.paused(side):
        with torch.npu.stream(side):
            b = a + 1
        torch.npu.current_stream().wait_stream(side)
        c = b * 2
        assert not torch.npu.current_stream().query()
    assert c.tolist() == [4, 4]


def test_in_a_streams_block_its_device_is_the_current_one() -> None:
    stream = torch.npu.Stream("npu:1")
    with stream:
        assert torch.npu.current_device() == 1 and torch.npu.current_stream() == stream
        assert torch.ones(2, device="npu").device == torch.device("npu:1")
        with torch.npu.stream(torch.npu.default_stream("npu:0")):
            assert torch.npu.current_device() == 0
        assert torch.npu.current_device() == 1 and torch.npu.current_stream("npu:1") == stream
    assert torch.npu.current_device() == 0 and torch.npu.current_stream("npu:1") != stream


def test_waiting_for_an_event_settles_what_was_before_it_and_no_more() -> None:
    side, event, queue = torch.npu.Stream(), torch.npu.Event(), get_runtime(0).queue
    a = ones(2)
    with simulator.paused(side):
        with torch.npu.stream(side):
            a + 1
        a * 2
        event.record()
        before = queue.enqueued
        torch.npu.current_stream().wait_stream(side)
        c = a + 3
        event.synchronize()
        assert queue.finished == before and queue.pending() == ["aclnnAdds"]
    assert c.tolist() == [4, 4]


def test_a_stream_that_nothing_refers_to_is_destroyed_but_not_before_its_work_has_run() -> None:
    side = torch.npu.Stream()
    a, queue = ones(2), side.queue
    with simulator.paused(queue.handle):
        with side:
            b = a + 1
        del side
        torch.npu.Stream()  # whoever makes a stream looks after those that were left
        assert queue in get_runtime(0).queues
    queue.synchronize()
    torch.npu.Stream()
    assert queue not in get_runtime(0).queues and b.tolist() == [2, 2]


def test_elapsed_time_is_that_of_what_lies_between() -> None:
    start, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    a = ones(2)
    simulator.slow(0.02)
    try:
        start.record()
        a + a
        end.record()
        end.synchronize()
    finally:
        simulator.slow(0)
    assert start.elapsed_time(end) >= 20


def test_elapsed_time_needs_timing_events_that_were_recorded_and_passed() -> None:
    with pytest.raises(ValueError, match="enable_timing=True"):
        torch.npu.Event().elapsed_time(torch.npu.Event(enable_timing=True))
    timed = torch.npu.Event(enable_timing=True)
    with pytest.raises(ValueError, match="must be recorded"):
        timed.elapsed_time(timed)
    with simulator.paused():
        ones_later = torch.ones(2, device="npu")
        timed.record()
        with pytest.raises(RuntimeError, match="must be completed"):
            timed.elapsed_time(timed)
    assert ones_later.tolist() == [1, 1]


@pytest.mark.parametrize("look", [
    lambda t: t.to("cpu"), lambda t: t.sum().item(), lambda t: repr(t), lambda t: t.tolist(),
    lambda t: bool((t > 0).all()), lambda t: t.cpu().numpy(),
])
def test_looking_at_data_waits(look) -> None:
    a, queue = ones(3), get_runtime(0).queue
    b = a + 1
    look(b)
    assert queue.finished == queue.enqueued and queue.is_idle()


def test_waiting_for_what_this_thread_has_paused_is_an_error_and_no_deadlock() -> None:
    a, event = ones(3), torch.npu.Event()
    with simulator.paused():
        b = a + 1
        event.record()
        for wait in (b.tolist, lambda: repr(b), torch.npu.synchronize, event.synchronize, b.sum().item):
            with pytest.raises(RuntimeError, match="paused by this thread"):
                wait()
        assert get_runtime(0).queue.pending()
    assert b.tolist() == [2, 2, 2]
    event.synchronize()


def test_copies_from_pinned_memory_do_not_wait() -> None:
    host = torch.arange(4.0).pin_memory()
    assert host.is_pinned() and not torch.arange(4.0).is_pinned()
    with simulator.paused():
        device = host.to("npu", non_blocking=True)
        back = device.to("cpu", non_blocking=True)
        assert len(get_runtime(0).queue.pending()) == 2 and back.is_pinned()
    torch.npu.synchronize()
    assert device.tolist() == back.tolist() == [0, 1, 2, 3]


def test_pinned_memory_lives_until_the_copies_that_need_it_have_run() -> None:
    before = simulator.live_bytes()["host"]
    host, device = torch.arange(4.0).pin_memory(), ones(4)
    seen = host.numpy()
    with simulator.paused():
        copied = host.to("npu", non_blocking=True)
        device.to("cpu", non_blocking=True)  # nothing keeps the result
        del host
        gc.collect()
        assert simulator.live_bytes()["host"] == before + 32
    assert copied.tolist() == [0, 1, 2, 3] and simulator.reports() == []
    assert seen.tolist() == [0, 1, 2, 3]  # an array of it keeps it as well
    assert simulator.live_bytes()["host"] == before + 16
    del seen
    gc.collect()
    assert simulator.live_bytes()["host"] == before


def test_a_queued_copy_alone_keeps_its_pinned_source() -> None:
    before = simulator.live_bytes()["host"]
    with simulator.paused():
        copied = torch.arange(4.0).pin_memory().to("npu", non_blocking=True)
        gc.collect()
        assert simulator.live_bytes()["host"] == before + 16
    assert copied.tolist() == [0, 1, 2, 3] and simulator.live_bytes()["host"] == before


def test_what_is_converted_on_the_way_is_no_pinned_memory_and_waits() -> None:
    target, queue = ones(4), get_runtime(0).queue
    target.copy_(torch.arange(4).pin_memory(), non_blocking=True)
    assert queue.finished == queue.enqueued and queue.deferred_frees() == 0
    assert target.tolist() == [0, 1, 2, 3]


def test_threads_may_be_in_blocks_of_the_same_stream() -> None:
    shared, own = torch.npu.Stream(), torch.npu.Stream()
    entered, left = threading.Barrier(2), threading.Event()
    after: dict[str, torch.npu.Stream] = {}

    def first() -> None:
        with shared:
            entered.wait(10)
        after["first"] = torch.npu.current_stream()
        left.set()

    def second() -> None:
        torch.npu.set_stream(own)
        with shared:
            entered.wait(10)
            left.wait(10)
        after["second"] = torch.npu.current_stream()

    threads = [threading.Thread(target=first), threading.Thread(target=second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert after == {"first": torch.npu.default_stream(), "second": own}


def test_frees_are_deferred_to_the_synchronisation_and_not_done_before() -> None:
    a, queue = ones(1000), get_runtime(0).queue
    with simulator.paused():
        b = a + a
        del b
        c = a * 3  # the allocator looks at what was given back when it is asked for memory
        assert queue.deferred_frees() >= 1
    assert queue.deferred_frees() >= 1
    torch.npu.synchronize()
    assert queue.deferred_frees() == 0 and c[0].item() == 3


def test_raw_memory_is_freed_in_order_at_the_synchronisation() -> None:
    device = get_runtime(0)
    device.activate()
    rt = simulator.acl.rt
    pointers = [rt.malloc(64, 0)[0] for _ in range(3)]
    live = simulator.live_bytes()["npu:0"]
    for pointer in pointers:
        device.defer_free(pointer)
    assert simulator.live_bytes()["npu:0"] == live
    device.synchronize()
    assert simulator.live_bytes()["npu:0"] < live


def test_a_failure_surfaces_at_the_next_synchronisation_and_names_the_operator() -> None:
    a = ones(3)
    side = torch.npu.Stream()
    simulator.faults.fail("aclnnMuls", phase="async")
    with torch.npu.stream(side):
        b = a + 1
        c = b * 2  # returns as if nothing were wrong
    d = a + 5
    torch.npu.default_stream().synchronize()  # another stream does not notice
    assert d.tolist() == [6, 6, 6]
    with pytest.raises(RuntimeError, match="aclnnMuls") as caught:
        side.synchronize()
    assert "npu:0" in str(caught.value)
    side.synchronize()  # told once
    with torch.npu.stream(side):
        e = a + 7
    side.synchronize()
    assert e.tolist() == [8, 8, 8] and c.shape == (3,)


@pytest.mark.parametrize(("phase", "call"), [(1, "aclnnAddGetWorkspaceSize"), (2, "aclnnAdd failed")])
def test_a_failing_phase_is_an_error_at_once(phase: int, call: str) -> None:
    a = ones(3)
    aclnn.release()  # what is kept for further calls
    handles = simulator.live_handles()
    simulator.faults.fail("aclnnAdd", phase=phase)
    with pytest.raises(RuntimeError, match=call):
        a + a
    assert simulator.live_handles() == handles
    assert (a + a).tolist() == [2, 2, 2]


def test_the_items_of_a_list_that_cannot_be_made_are_destroyed() -> None:
    a = ones(3)
    aclnn.release()
    handles = simulator.live_handles()
    simulator.faults.fail_next("aclCreateTensorList")
    with pytest.raises(RuntimeError, match="aclCreateTensorList"):
        torch.cat([a, a])
    assert simulator.live_handles() == handles


def test_an_operator_without_memory_for_its_workspace_is_given_up(monkeypatch) -> None:
    class Full:
        def allocate(self, *args: object) -> None:
            raise torch.OutOfMemoryError("full")

    a = ones(3, 3)
    aclnn.release()
    handles = simulator.live_handles()
    with monkeypatch.context() as patch, pytest.raises(torch.OutOfMemoryError):
        patch.setattr(aclnn, "allocator_of", lambda device: Full())
        a @ a
    assert simulator.live_handles() == handles


def test_launch_blocking_waits_after_every_operator() -> None:
    code = """
import mindtorch as torch
from mindtorch._backends.npu.runtime import get_runtime
a = torch.ones(3, device='npu')
b = a + a
queue = get_runtime(0).queue
print(queue.enqueued == queue.finished > 0)
torch.npu.simulator.faults.fail('aclnnMul', phase='async')
try:
    a * a
except RuntimeError as error:
    print('aclnnMul' in str(error))
"""
    result = subprocess.run([sys.executable, "-c", code], env={**os.environ, "ACL_LAUNCH_BLOCKING": "1"},
                            capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["True", "True"]


def test_a_stream_that_waited_for_a_failed_one_has_no_results() -> None:
    a, first, second = ones(4), torch.npu.Stream(), torch.npu.Stream()
    simulator.faults.fail("aclnnAdds")
    with torch.npu.stream(first):
        b = a + 1
    second.wait_stream(first)
    with torch.npu.stream(second):
        c = b * 2
        for result in (c, c, b, b):  # also when it was told before
            with pytest.raises(RuntimeError, match="aclnnAdds failed"):
                result.tolist()
        assert (a * 3).tolist() == [3] * 4
    assert not second.queue.waits


@pytest.mark.parametrize("waits", [
    lambda second, first: second.wait_stream(first), lambda second, first: second.wait_event(first.record_event()),
], ids=["for the stream", "for an event"])
def test_what_failed_in_a_stream_of_another_thread_has_no_values_for_who_waited(waits) -> None:
    a, first, second, made, heard = ones(4), torch.npu.Stream(), torch.npu.Stream(), [], []
    simulator.faults.fail("aclnnAdds")

    def compute() -> None:
        with torch.npu.stream(first):
            made.append(a + 1)

    def synchronize() -> None:
        with pytest.raises(RuntimeError, match="aclnnAdds failed"):
            first.synchronize()
        heard.append(True)

    for work in (compute, synchronize):  # the error is told to a thread that does not own what failed
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        if work is compute:
            waits(second, first)
            with torch.npu.stream(second):
                made.append(made[0] * 2)
    assert heard
    with torch.npu.stream(second):
        for result in (*made, *made):
            with pytest.raises(RuntimeError, match="aclnnAdds failed"):
                result.tolist()
        assert (a * 3).tolist() == [3] * 4


@pytest.mark.parametrize(("device", "index"), [("npu:1", 1), ("npu:0", 0), (torch.device("npu", 1), 1), (1, 1)])
def test_a_device_has_a_number(device: object, index: int) -> None:
    assert device_index(device) == index


def test_dtypes_that_no_kernel_takes_are_converted_by_the_host() -> None:
    a = ones(2).to(torch.uint16)
    assert a.device.type == "npu" and a.to(torch.int32).tolist() == a.clone().tolist() == [1, 1]


@pytest.mark.parametrize("dtype", [torch.uint16, torch.uint32, torch.uint64, torch.complex32], ids=str)
def test_dtypes_that_no_operator_takes_are_copied_between_layouts_by_their_bits(dtype: torch.dtype) -> None:
    a = torch.arange(6.0, device="npu").view(2, 3)
    converted, transposed = a.t().to(dtype), a.to(dtype).t()
    assert converted.stride() == (1, 3) and converted.tolist() == transposed.tolist() == a.t().tolist()
    assert transposed.contiguous().to(torch.complex64).tolist() == a.t().tolist()


@pytest.mark.parametrize(("fault", "call"), [
    ("create_event_ex_with_flag", "aclrtCreateEventExWithFlag"), ("record_event", "aclrtRecordEvent"),
    ("stream_wait_event", "aclrtStreamWaitEvent"), ("synchronize_event", "aclrtSynchronizeEvent"),
    ("event_elapsed_time", "aclrtEventElapsedTime"),
])
def test_a_call_for_an_event_that_fails_is_told_with_its_name_and_device(fault: str, call: str) -> None:
    stream, other = torch.npu.Stream("npu:1"), torch.npu.Stream("npu:1")
    begin, end = (torch.npu.Event(enable_timing=True) for _ in range(2))
    simulator.faults.fail_next(fault)
    with pytest.raises(torch.npu.AclError, match=f"^{call} failed on npu:1 with "):
        begin.record(stream)
        end.record(stream)
        end.wait(other)
        end.synchronize()
        begin.elapsed_time(end)
