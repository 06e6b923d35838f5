"""Simulated streams and events: what is asynchronous, in which order it runs, and what happens when it fails.

Streams are held where something has to be pending, so that nothing depends on how fast anything is.
"""
from __future__ import annotations

import threading
import weakref
from typing import Any

import numpy as np
import pytest

from mindtorch._backends.npu import constants as c, simulator
from mindtorch._backends.npu.simulator import handles
from mindtorch._backends.npu.simulator.devices import machine
from mindtorch._backends.npu.simulator.executors import Launch
from mindtorch._backends.npu.simulator.streams import Event, Stream

from .program import acl, add, array, empty, got, launch, message, rt, scale

COMPLETE, PENDING = c.ACL_STREAM_STATUS_COMPLETE, c.ACL_STREAM_STATUS_NOT_READY

pytestmark = pytest.mark.usefixtures("simulated")


def workers() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("npu:")]


# -- order -----------------------------------------------------------------------------------------------------------


def test_an_operator_returns_before_it_has_run() -> None:
    one, out = array([1, 2]), array([0, 0])
    with simulator.paused():
        assert add(one, one, out) == 0
        assert got(rt.stream_query(0)) == PENDING
        assert out.read().tolist() == [0, 0]
    assert rt.synchronize_stream(0) == 0
    assert got(rt.stream_query(0)) == COMPLETE
    assert out.read().tolist() == [2, 4]


def test_a_stream_keeps_its_order() -> None:
    one = array([1])
    for _ in range(20):
        assert add(one, one, one) == 0
        assert scale(one, 0.5, one) == 0
    assert launch("aclnnAdds", one, 41, 1, one) == 0
    assert rt.synchronize_stream(0) == 0
    assert one.read().tolist() == [42]


def test_streams_overlap() -> None:
    """The second stream finishes while the first one has not begun."""
    first, second = got(rt.create_stream()), got(rt.create_stream())
    one, out, other = array([1]), array([0]), array([0])
    with simulator.paused(first):
        add(one, one, out, first)
        add(one, one, other, second)
        assert rt.synchronize_stream(second) == 0
        assert other.read().tolist() == [2]
        assert got(rt.stream_query(first)) == PENDING
    assert rt.synchronize_device() == 0
    assert out.read().tolist() == [2]


def test_each_context_has_a_default_stream_of_its_own() -> None:
    one = array([1])
    assert add(one, one, one) == 0
    with simulator.paused():
        assert add(one, one, one) == 0
        got(rt.create_context(0))
        assert got(rt.stream_query(0)) == COMPLETE
        assert rt.synchronize_stream(0) == 0
        assert rt.set_device(0) == 0
        assert got(rt.stream_query(0)) == PENDING


def test_copies_and_fills_take_their_turn() -> None:
    host = np.array([1, 2, 3, 4], "float32")
    out, back = array(np.zeros(4)), np.zeros(4, "float32")
    with simulator.paused():
        assert rt.memcpy_async(out.address, 16, host.ctypes.data, 16, c.ACL_MEMCPY_HOST_TO_DEVICE, 0) == 0
        assert add(out, out, out) == 0
        assert rt.memset_async(out.address, 16, 0, 4, 0) == 0
        assert rt.memcpy_async(back.ctypes.data, 16, out.address, 16, c.ACL_MEMCPY_DEVICE_TO_HOST, 0) == 0
        assert back.tolist() == [0, 0, 0, 0]
    assert rt.synchronize_stream(0) == 0
    assert back.tolist() == [0, 4, 6, 8]


def test_pinned_memory_lives_until_the_copy_has_run() -> None:
    pinned, out = got(rt.malloc_host(16)), empty(4)
    memory = weakref.ref(machine.host.owner(pinned))
    with simulator.paused():
        assert rt.memcpy_async(out.address, 16, pinned, 16, c.ACL_MEMCPY_HOST_TO_DEVICE, 0) == 0
        assert rt.free_host(pinned) == 0
        assert memory() is not None
    assert rt.synchronize_stream(0) == 0
    assert out.read().tolist() == [0, 0, 0, 0] and memory() is None


def test_a_callback_runs_in_its_turn() -> None:
    seen: list[str] = []
    with simulator.paused():
        assert rt.launch_callback(seen.append, "called", c.ACL_CALLBACK_BLOCK, 0) == 0
        assert seen == []
    assert rt.synchronize_stream(0) == 0
    assert seen == ["called"]


def test_waiting_can_be_given_up() -> None:
    one = array([1])
    with simulator.paused():
        add(one, one, one)
        assert rt.synchronize_stream_with_timeout(0, 1) == c.ACL_ERROR_RT_STREAM_SYNC_TIMEOUT
    assert rt.synchronize_stream_with_timeout(0, -1) == 0


def test_waiting_lets_other_threads_run() -> None:
    one = array([1])
    simulator.hold()
    add(one, one, one)
    context = got(rt.create_context(0))

    def let_go() -> None:
        rt.set_device(0)
        simulator.release()

    assert rt.set_device(0) == 0
    thread = threading.Thread(target=let_go)
    thread.start()
    assert rt.synchronize_stream(0) == 0
    thread.join()
    assert rt.destroy_context(context) == 0


# -- events ----------------------------------------------------------------------------------------------------------


def test_a_stream_waits_for_an_event_of_another() -> None:
    first, second, event = got(rt.create_stream()), got(rt.create_stream()), got(rt.create_event())
    one, out = array([1]), array([0])
    simulator.hold(first)
    add(one, one, one, first)
    assert rt.record_event(event, first) == 0
    assert rt.stream_wait_event(second, event) == 0
    add(one, one, out, second)
    assert got(rt.query_event_status(event)) == c.ACL_EVENT_RECORDED_STATUS_NOT_READY
    assert got(rt.query_event(event)) == c.ACL_EVENT_STATUS_NOT_READY
    assert got(rt.query_event_wait_status(event)) == c.ACL_EVENT_WAIT_STATUS_NOT_READY
    assert got(rt.stream_query(second)) == PENDING
    simulator.release(first)
    assert rt.synchronize_stream(second) == 0
    assert out.read().tolist() == [4]
    assert got(rt.query_event_status(event)) == c.ACL_EVENT_RECORDED_STATUS_COMPLETE
    assert got(rt.query_event_wait_status(event)) == c.ACL_EVENT_WAIT_STATUS_COMPLETE


def test_a_wait_is_for_the_record_before_it() -> None:
    """What is recorded later into the same event holds up no stream that waits already."""
    first, second, event = got(rt.create_stream()), got(rt.create_stream()), got(rt.create_event())
    rt.record_event(event, first)
    rt.stream_wait_event(second, event)
    assert rt.synchronize_event(event) == 0  # what the second stream waits for has run before the first is held
    simulator.hold(first)
    rt.record_event(event, first)
    assert rt.synchronize_stream(second) == 0
    assert got(rt.query_event_status(event)) == c.ACL_EVENT_RECORDED_STATUS_NOT_READY
    simulator.release(first)
    assert rt.synchronize_event(event) == 0
    assert got(rt.query_event_status(event)) == c.ACL_EVENT_RECORDED_STATUS_COMPLETE


def test_an_event_that_could_not_be_recorded_is_as_before() -> None:
    stream, event = got(rt.create_stream()), got(rt.create_event())
    handles.get(stream, Stream).close()  # as another thread does that destroys it just now
    assert rt.record_event(event, stream) == c.ACL_ERROR_RT_INVALID_HANDLE
    assert handles.get(event, Event).record is None and rt.synchronize_event(event) == 0


def test_an_event_that_was_not_recorded_holds_nobody_up() -> None:
    event = got(rt.create_event())
    assert rt.stream_wait_event(0, event) == 0
    assert rt.synchronize_event(event) == 0
    assert rt.synchronize_stream(0) == 0


def test_an_event_may_be_destroyed_while_a_stream_waits_for_it() -> None:
    first, event, one = got(rt.create_stream()), got(rt.create_event()), array([1])
    with simulator.paused(first):
        rt.record_event(event, first)
        rt.stream_wait_event(0, event)
        add(one, one, one)
        assert rt.destroy_event(event) == 0
    assert rt.synchronize_stream(0) == 0
    assert one.read().tolist() == [2]


def test_an_event_that_is_reset_is_as_new() -> None:
    event = got(rt.create_event())
    assert rt.record_event(event, 0) == 0
    assert rt.reset_event(event, 0) == 0
    assert rt.synchronize_stream(0) == 0
    assert got(rt.query_event_status(event)) == c.ACL_EVENT_RECORDED_STATUS_NOT_READY


def test_events_tell_the_time_between_them() -> None:
    start, middle, end = (got(rt.create_event()) for _ in range(3))
    assert rt.event_elapsed_time(start, end) == (0, c.ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID)
    for event in (start, middle, end):
        rt.record_event(event, 0)
    simulator.hold()
    rt.record_event(end, 0)
    assert rt.event_elapsed_time(start, end) == (0, c.ACL_ERROR_RT_EVENT_NOT_COMPLETE)
    simulator.release()
    rt.synchronize_event(end)
    whole, parts = got(rt.event_elapsed_time(start, end)), [(start, middle), (middle, end)]
    assert isinstance(whole, float) and whole > 0
    assert sum(got(rt.event_elapsed_time(*part)) for part in parts) == pytest.approx(whole)
    assert rt.event_elapsed_time(end, start) == (0, c.ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL)
    microseconds = [got(rt.event_get_timestamp(event)) for event in (start, end)]
    assert microseconds[1] - microseconds[0] == pytest.approx(1000 * whole, abs=1)


def test_an_event_without_timing_tells_none() -> None:
    plain, timed = (
        got(rt.create_event_with_flag(c.ACL_EVENT_SYNC)),
        got(rt.create_event_with_flag(c.ACL_EVENT_TIME_LINE)),
    )
    for event in (plain, timed):
        rt.record_event(event, 0)
    rt.synchronize_stream(0)
    assert rt.event_elapsed_time(plain, timed) == (0, c.ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID)


# -- slow motion -----------------------------------------------------------------------------------------------------


def test_slow_motion_makes_operators_take_time() -> None:
    start, end, one = got(rt.create_event()), got(rt.create_event()), array([1])
    simulator.slow(0.002)
    rt.record_event(start, 0)
    for _ in range(3):
        add(one, one, one)
    rt.record_event(end, 0)
    rt.synchronize_stream(0)
    assert got(rt.event_elapsed_time(start, end)) >= 6


@pytest.mark.parametrize("how", ["slow", "held"])
def test_the_end_does_not_wait_for_slow_or_held_streams(how: str) -> None:
    one = array([1])
    add(one, one, one)
    rt.synchronize_stream(0)
    if how == "slow":
        simulator.slow(3600)
    else:
        simulator.hold()
    for _ in range(3):
        add(one, one, one)
    assert len(workers()) == 1
    assert acl.finalize() == 0
    assert workers() == []


# -- the end of streams ----------------------------------------------------------------------------------------------


def test_a_worker_starts_with_the_first_task_and_ends_with_its_stream() -> None:
    stream, one = got(rt.create_stream()), array([1])
    number = got(rt.stream_get_id(stream))
    assert workers() == []
    add(one, one, one, stream)
    assert workers() == [f"npu:0 stream {number}"]
    assert rt.destroy_stream(stream) == 0
    assert workers() == []
    assert one.read().tolist() == [2]


def test_streams_are_counted() -> None:
    before = got(rt.get_stream_available_num())
    stream = got(rt.create_stream_with_config(0, c.ACL_STREAM_FAST_LAUNCH))
    assert got(rt.get_stream_available_num()) == before - 1
    rt.destroy_stream(stream)
    assert got(rt.get_stream_available_num()) == before


def test_aborting_skips_what_is_queued() -> None:
    one = array([1])
    simulator.hold()
    add(one, one, one)
    add(one, one, one)
    assert rt.stream_abort(0) == 0
    assert rt.synchronize_stream(0) == 0
    assert one.read().tolist() == [1]
    add(one, one, one)
    assert rt.synchronize_stream(0) == 0
    assert one.read().tolist() == [2]


def test_a_stream_that_this_thread_has_paused_is_not_destroyed_before_its_work_has_run() -> None:
    """That would wait for ever."""
    stream, one = got(rt.create_stream()), array([1])
    with simulator.paused(stream):
        add(one, one, one, stream)
        assert rt.destroy_stream(stream) == c.ACL_ERROR_RT_STREAM_SYNC_TIMEOUT
        assert "is paused by this thread" in message()
    assert rt.destroy_stream(stream) == 0 and one.read().tolist() == [2]


def test_a_stream_that_waits_for_ever_is_destroyed_by_force() -> None:
    held, waiting, event = got(rt.create_stream()), got(rt.create_stream()), got(rt.create_event())
    one = array([1])
    simulator.hold(held)
    rt.record_event(event, held)
    rt.stream_wait_event(waiting, event)
    add(one, one, one, waiting)
    assert rt.destroy_stream_force(waiting) == 0
    assert acl.finalize() == 0
    assert workers() == []


def test_a_worker_keeps_nothing_alive() -> None:
    """Neither after a task nor after a failure, while it waits for the next one."""

    class Witness(Launch):
        __slots__ = ("__weakref__",)

        def __init__(self, *args: Any):
            super().__init__(*args)
            weakref.finalize(self, gone.set)

    one, bad = array([1, 2]), array([1, 2, 3])
    for other in (one, bad):
        gone = threading.Event()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("mindtorch._backends.npu.simulator.executors.Launch", Witness)
            add(one, other, one)
        assert gone.wait(10)
    assert rt.synchronize_stream(0) == c.ACL_ERROR_RT_AICORE_EXCEPTION


# -- failure ---------------------------------------------------------------------------------------------------------


def test_a_failure_is_told_once_by_the_next_synchronisation_with_the_operators_name() -> None:
    stream, one, bad = got(rt.create_stream()), array([1, 2]), array([1, 2, 3])
    assert launch("aclnnMul", one, bad, one, stream=stream) == 0
    assert rt.synchronize_stream(stream) == c.ACL_ERROR_RT_AICORE_EXCEPTION
    said = message()
    assert "aclnnMul" in said and f"stream {got(rt.stream_get_id(stream))} " in said
    assert rt.synchronize_stream(stream) == 0


def test_without_another_mode_a_stream_continues_behind_a_failure_with_what_lies_there() -> None:
    one, bad, out = array([1, 2]), array([1, 2, 3]), array([5, 5])
    with simulator.paused():
        launch("aclnnMul", one, bad, out)
        launch("aclnnDiv", one, bad, out)
        add(out, one, out)
    assert rt.synchronize_device() == c.ACL_ERROR_RT_AICORE_EXCEPTION
    assert "aclnnMul" in message()  # the first of the two
    assert out.read().tolist() == [6, 7]
    assert rt.synchronize_device() == 0


def test_in_the_mode_stop_all_streams_of_the_context_stop_and_take_nothing_more() -> None:
    failing, other = got(rt.create_stream()), got(rt.create_stream())
    one, bad, out = array([1, 2]), array([1, 2, 3]), array([5, 5])
    assert rt.set_stream_failure_mode(failing, c.ACL_STOP_ON_FAILURE) == 0
    assert rt.set_stream_failure_mode(failing, c.ACL_STOP_ON_FAILURE) == c.ACL_ERROR_RT_PARAM_INVALID  # once a stream
    with simulator.paused():
        launch("aclnnMul", one, bad, out, stream=failing)
        add(out, one, out, failing)
    for stream in (failing, other, failing):
        assert rt.synchronize_stream(stream) == c.ACL_ERROR_RT_AICORE_EXCEPTION
        assert "aclnnMul failed" in message()
        assert rt.memset_async(one.address, 8, 0xFF, 8, stream) == c.ACL_ERROR_RT_AICORE_EXCEPTION
    assert out.read().tolist() == [5, 5]
    context = got(rt.create_context(0))  # a new one works, with the same memory
    add(one, one, out)
    assert rt.synchronize_device() == c.ACL_ERROR_RT_AICORE_EXCEPTION  # of the other context
    assert out.read().tolist() == [2, 4]
    assert rt.destroy_context(context) == 0


def test_events_that_were_never_recorded_answer_as_cann_s_do() -> None:
    """As in CANN's runtime (Event::Query, Event::QueryEventStatus): those of ExWithFlag are complete."""
    plain, ex = got(rt.create_event_with_flag(c.ACL_EVENT_SYNC)), got(rt.create_event_ex_with_flag(c.ACL_EVENT_SYNC))
    assert got(rt.query_event(plain)) == got(rt.query_event(ex)) == c.ACL_EVENT_STATUS_COMPLETE
    assert got(rt.query_event_status(plain)) == c.ACL_EVENT_RECORDED_STATUS_NOT_READY
    assert got(rt.query_event_status(ex)) == c.ACL_EVENT_RECORDED_STATUS_COMPLETE
    assert rt.synchronize_event(plain) == rt.synchronize_event(ex) == 0


def test_a_queue_holds_2048_tasks_and_takes_no_more_while_it_is_held() -> None:
    stream, one = got(rt.create_stream()), array([1])
    with simulator.paused(stream):
        codes = [rt.memset_async(one.address, 4, 0, 4, stream) for _ in range(2049)]
    assert codes == [0] * 2048 + [c.ACL_ERROR_RT_STREAM_TASK_FULL]
    assert rt.synchronize_stream(stream) == 0 and rt.memset_async(one.address, 4, 0, 4, stream) == 0


def test_other_streams_do_not_notice_a_failure() -> None:
    failing, waiting, event = got(rt.create_stream()), got(rt.create_stream()), got(rt.create_event())
    one, bad, out = array([1, 2]), array([1, 2, 3]), array([0, 0])
    launch("aclnnMul", one, bad, out, stream=failing)
    rt.record_event(event, failing)
    rt.stream_wait_event(waiting, event)
    add(one, one, out, waiting)
    assert rt.synchronize_stream(waiting) == 0
    assert out.read().tolist() == [2, 4]
    assert rt.synchronize_event(event) == c.ACL_ERROR_RT_AICORE_EXCEPTION
    assert rt.synchronize_stream(failing) == 0


def test_a_callback_that_raises_is_a_failure_of_its_stream() -> None:
    def bad(argument: object) -> None:
        raise ValueError(f"no {argument}")

    assert rt.launch_callback(bad, "way", c.ACL_CALLBACK_BLOCK, 0) == 0
    assert rt.synchronize_stream(0) == c.ACL_ERROR_RT_AICORE_EXCEPTION
    assert "no way" in message()


def test_all_streams_of_a_device_are_waited_for_even_if_one_failed() -> None:
    streams = [got(rt.create_stream()) for _ in range(3)]
    one, bad, outs = array([1, 2]), array([1, 2, 3]), [array([0, 0]) for _ in range(3)]
    launch("aclnnMul", one, bad, one, stream=streams[0])
    for stream, out in zip(streams, outs, strict=True):
        add(one, one, out, stream)
    assert rt.synchronize_device() == c.ACL_ERROR_RT_AICORE_EXCEPTION
    assert [out.read().tolist() for out in outs] == [[2, 4], [2, 4], [2, 4]]
    assert rt.synchronize_device() == 0


# -- holding ---------------------------------------------------------------------------------------------------------


def test_pausing_without_a_name_holds_all_streams_of_the_device() -> None:
    streams, ones = [0, got(rt.create_stream())], [array([1]), array([1])]
    rt.set_device(1)
    other = array([1])
    rt.set_device(0)
    with simulator.paused():
        for stream, one in zip(streams, ones, strict=True):
            add(one, one, one, stream)
        assert [got(rt.stream_query(stream)) for stream in streams] == [PENDING] * 2
        rt.set_device(1)
        add(other, other, other)
        assert rt.synchronize_stream(0) == 0
    rt.set_device(0)
    assert rt.synchronize_device() == 0
    assert [one.read().tolist() for one in ones] == [[2], [2]]


def test_what_is_no_stream_cannot_be_held() -> None:
    with pytest.raises(RuntimeError, match="no stream 0xbad"):
        simulator.hold(0xBAD)
    acl.finalize()
    with pytest.raises(RuntimeError, match="no context"):
        simulator.hold()
