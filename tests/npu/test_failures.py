"""What the runtime does when calls and operators fail: failure modes of streams, restart, release, threads, forks."""
from __future__ import annotations

import gc
import os
import re
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

import mindtorch as torch
from mindtorch._backends.npu import finalize
from mindtorch._backends.npu.memory import memory_of
from mindtorch._backends.npu.queues import Queue
from mindtorch._backends.npu.runtime import get_runtime

simulator = torch.npu.simulator


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """A device that was not used before, and is not used afterwards."""
    finalize()
    yield
    simulator.faults.clear()
    finalize()


@pytest.fixture
def stopping(monkeypatch: pytest.MonkeyPatch) -> None:
    """The failure mode that mindtorch, as torch_npu, has for itself."""
    monkeypatch.delenv("MINDTORCH_NPU_FAILURE_MODE")


def failed() -> torch.Tensor:
    """A tensor that an operator should have computed which failed, after the host was told."""
    simulator.faults.fail("aclnnExp")
    out = torch.ones(3, device="npu").exp()
    with pytest.raises(torch.npu.AclError, match="aclnnExp failed"):
        torch.npu.synchronize()
    return out


#: What errors say of it: the operator, its operands, the program's line.
WHAT_FAILED = rf"aclnnExp\(float32\[3\], float32\[3\]\), queued at {re.escape(__file__)}:\d+ in \w+"


class Inner(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.exp()


def test_the_first_operator_that_a_stopped_device_refuses_tells_which_one_had_failed(stopping: None) -> None:
    x, model = torch.ones(3, device="npu"), torch.nn.Sequential(Inner())
    torch.npu.synchronize()
    simulator.faults.fail("aclnnExp")
    y = model(x)
    with pytest.raises(torch.npu.AclError, match="aclnnAdds failed") as caught:
        for _ in range(1000):  # until the device has come to the failure
            y + 1
            time.sleep(0.005)
    what_failed, what_helps = caught.value.__notes__[-2:]
    assert re.fullmatch(WHAT_FAILED, what_failed) and what_failed.endswith("in forward"), caught.value.__notes__
    assert "torch.npu.restart_device('npu:0')" in what_helps
    torch.npu.restart_device()


def test_a_restarted_device_waits_for_nothing_that_had_failed(stopping: None) -> None:
    x, side = torch.ones(3, device="npu"), torch.npu.Stream()
    torch.npu.synchronize()
    simulator.faults.fail("aclnnExp")
    with torch.npu.stream(side):
        x.exp()
    torch.npu.current_stream().wait_stream(side)
    with pytest.raises(torch.npu.AclError, match="aclnnExp failed"):
        side.synchronize()
    simulator.faults.clear()
    torch.npu.restart_device()
    assert (x + 1).tolist() == [2, 2, 2]


def test_after_a_failure_all_streams_of_the_device_stop_until_it_is_restarted(stopping: None) -> None:
    before, side = torch.arange(3, device="npu"), torch.npu.Stream()
    before.tolist()
    numbers = torch.npu.default_stream().stream_id, side.stream_id
    garbage = failed()
    for again in range(2):
        for use in (lambda: before + 1, side.synchronize, torch.npu.synchronize, before.tolist):
            with pytest.raises(torch.npu.AclError, match="aclnnExp failed") as caught, torch.npu.stream(side):
                use()
            what_failed, what_helps = caught.value.__notes__
            assert re.fullmatch(WHAT_FAILED, what_failed) and "torch.npu.restart_device('npu:0')" in what_helps, again
    torch.npu.restart_device()
    assert before.tolist() == [0, 1, 2] and (before + 1).tolist() == [1, 2, 3]
    with torch.npu.stream(side):
        assert (before * 2).tolist() == [0, 2, 4]
    assert (torch.npu.default_stream().stream_id, side.stream_id) == numbers
    with pytest.raises(torch.npu.AclError, match="aclnnExp failed"):
        garbage.tolist()


def test_why_says_how_to_go_on_in_each_mode(stopping: None, monkeypatch: pytest.MonkeyPatch) -> None:
    from mindtorch import introspect

    for mode, says in (("stop", True), ("continue", False)):
        monkeypatch.setenv("MINDTORCH_NPU_FAILURE_MODE", mode)
        simulator.faults.fail("aclnnExp")
        torch.ones(3, device="npu").exp()
        with pytest.raises(torch.npu.AclError) as caught:
            torch.npu.synchronize()
        fixes = [fix.code for fix in introspect.explain(caught.value).fixes]
        assert ("torch.npu.restart_device('npu:0')" in fixes) is says
        del caught
        finalize()


def test_what_was_pending_in_other_streams_has_no_value_after_a_restart(stopping: None) -> None:
    side, one = torch.npu.Stream(), torch.ones(3, device="npu")
    torch.npu.synchronize()
    with simulator.paused(side):
        with torch.npu.stream(side):
            pending = one + 1
        failed()
    torch.npu.restart_device()
    with pytest.raises(torch.npu.AclError, match="aclnnExp failed"):
        pending.tolist()
    assert (one + 1).tolist() == [2, 2, 2]


def test_an_operator_that_a_restart_overtakes_before_it_is_noted_has_no_value(
        stopping: None, monkeypatch: pytest.MonkeyPatch) -> None:
    one, note = torch.ones(3, device="npu"), Queue.note

    def late(queue: Queue, *operator: Any) -> int:
        monkeypatch.setattr(Queue, "note", note)
        torch.npu.restart_device()
        return note(queue, *operator)

    torch.npu.synchronize()
    monkeypatch.setattr(Queue, "note", late)
    lost = one + 1
    with pytest.raises(torch.npu.AclError, match="the device was restarted"):
        lost.tolist()
    assert (one + 1).tolist() == [2, 2, 2]


def test_in_the_mode_continue_the_device_works_on_and_what_failed_has_no_value() -> None:
    garbage = failed()
    assert (torch.ones(2, device="npu") + 1).tolist() == [2, 2]
    for look in (garbage.tolist, lambda: print(garbage), lambda: (garbage + 1).tolist(), lambda: bool(garbage.sum())):
        with pytest.raises(torch.npu.AclError, match="aclnnExp failed"):
            look()


def test_a_mode_that_does_not_exist_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINDTORCH_NPU_FAILURE_MODE", "hope")
    with pytest.raises(RuntimeError, match="MINDTORCH_NPU_FAILURE_MODE='hope' is not one of stop, continue"):
        torch.ones(2, device="npu")
    monkeypatch.delenv("MINDTORCH_NPU_FAILURE_MODE")


# -- releases --------------------------------------------------------------------------------------------------------


def test_a_release_waits_for_the_work_that_was_before_it_whoever_synchronises() -> None:
    """Waiting for an event frees what was deferred before the event, and nothing that was deferred after it."""
    queue, freed = get_runtime(0).queue, []
    one = torch.ones(3, device="npu")
    torch.npu.synchronize()
    with simulator.paused():
        one + 1
        event = torch.npu.current_stream().record_event()
        queue.defer(lambda: freed.append("first"))
        one + 2
        queue.defer(lambda: freed.append("second"))
        queue.reached(event._number, queue.restarts, 0, "aclrtSynchronizeEvent")  # what a wait for the event says
        assert freed == ["first"]
        # a second thread that had begun to wait for the same frees nothing further
        queue.reached(event._number, queue.restarts, 0, "aclrtSynchronizeEvent")
        assert freed == ["first"]
    torch.npu.synchronize()
    assert freed == ["first", "second"]


def test_numbers_of_operators_are_in_order_with_many_threads() -> None:
    queue = get_runtime(0).queue
    before = queue.enqueued
    threads = [threading.Thread(target=lambda: [queue.note("nothing", 0) for _ in range(2000)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    numbers = [queued.number for queued in queue.log]
    assert queue.enqueued == before + 8000 and numbers == sorted(numbers) and len(set(numbers)) == len(numbers)
    torch.npu.synchronize()


def test_finalize_goes_on_after_what_cannot_be_given_back() -> None:
    kept = torch.ones(1000, device="npu"), torch.ones(10 << 20, device="npu")
    torch.npu.Stream()
    torch.npu.synchronize()
    get_runtime(0).defer_free(None)
    simulator.faults.fail_next("free")
    with pytest.raises(torch.npu.AclError, match=r"^aclrtFree failed on npu:0"):
        finalize()
    assert kept and simulator.live_handles() == {} and simulator.live_bytes()["npu:0"] == 0
    assert torch.ones(2, device="npu").tolist() == [1, 1]


def test_memory_that_is_not_taken_back_is_an_error_once_and_not_counted_any_more() -> None:
    kept, large = torch.ones(3, device="npu"), torch.ones(10 << 20, device="npu")
    torch.npu.synchronize()
    del large
    torch.npu.synchronize()
    simulator.faults.fail_next("free")
    with pytest.raises(torch.npu.AclError, match=r"^aclrtFree failed on npu:0"):
        torch.npu.empty_cache()
    torch.npu.empty_cache()
    assert torch.npu.memory_reserved() == 2 << 20 and simulator.live_bytes()["npu:0"] > 40 << 20
    assert torch.ones(10 << 20, device="npu").sum().item() == 10 << 20 and kept.tolist() == [1, 1, 1]
    simulator.reset()


def test_a_query_that_fails_is_an_error_and_not_pending_for_ever() -> None:
    one, event = torch.ones(2, device="npu"), torch.npu.Event()
    event.record()
    for call, query in (("stream_query", torch.npu.current_stream().query), ("query_event_status", event.query)):
        one + 1
        simulator.faults.fail_next(call)
        with pytest.raises(torch.npu.AclError, match="507899"):
            query()
    torch.npu.synchronize()
    assert event.query() and torch.npu.current_stream().query()
    del event, query
    gc.collect()


def test_the_end_of_an_event_changes_no_context_in_the_middle_of_a_launch() -> None:
    other = get_runtime(1)
    event = torch.npu.Event()
    with torch.npu.device(1):
        event.record()
    current = simulator.acl.rt
    torch.ones(1, device="npu:0")
    assert current.get_device() == (0, 0)
    del event
    gc.collect()
    assert current.get_device() == (0, 0) and len(other.dropped_events) == 1
    torch.npu.synchronize(1)
    assert not other.dropped_events and "aclrtEvent" not in simulator.live_handles()


def test_devices_reach_each_other_both_ways() -> None:
    there = torch.arange(3.0, device="npu:0").to("npu:1")
    back = there.to("npu:0")
    assert back.tolist() == [0, 1, 2] and memory_of(back).device.device_id == 0
    assert [device.peers for device in simulator.devices.machine.devices[:2]] == [{1}, {0}]


def test_streams_that_are_dropped_may_be_destroyed_by_many_threads_at_once() -> None:
    errors: list[BaseException] = []

    def make() -> None:
        try:
            for _ in range(60):
                torch.npu.Stream(0)
        except BaseException as error:
            errors.append(error)

    get_runtime(0)
    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_a_device_that_was_never_used_has_nothing_to_wait_for() -> None:
    from mindtorch._backends.npu.runtime import _Runtime

    _Runtime(0).synchronize()


# -- forks and the end -------------------------------------------------------------------------------------------------


def program(text: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", "import os, sys, mindtorch as torch\n" + textwrap.dedent(text)],
                          capture_output=True, text=True, timeout=120, env={**os.environ, "MINDTORCH_NPU": "sim"})


@pytest.mark.parametrize("used", ["x = torch.ones(3, device='npu'); pinned = torch.ones(3).pin_memory()",
                                  "torch.npu.device_count()"])
def test_a_forked_child_is_told_and_calls_nothing_of_cann(used: str) -> None:
    done = program(f"""
        {used}
        acl = torch.npu.simulator.acl
        pid = os.fork()
        if not pid:
            def forbidden(*args, **names):
                print("called")
            for where in (acl, acl.rt):
                for name, thing in list(vars(where).items()):
                    if callable(thing):
                        setattr(where, name, forbidden)
            for use in (lambda: x + 1, lambda: x.tolist(), lambda: torch.ones(2, device="npu"), torch.npu.device_count,
                        torch.npu.synchronize, lambda: torch.npu.Stream()):
                try:
                    use()
                except RuntimeError as error:
                    print(str(error)[:50])
                except NameError:
                    pass
            print(torch.npu.is_available())
            x = pinned = None
            sys.exit()
        os.waitpid(pid, 0)
        print(torch.ones(2, device="npu").tolist())
    """)
    told = "Cannot re-initialize NPU in forked subprocess. To "
    lines = done.stdout.splitlines()
    assert not done.stderr and lines[-2:] == ["False", "[1.0, 1.0]"] and set(lines[:-2]) == {told}, done


def test_what_cannot_be_given_back_at_the_end_is_said_in_a_line() -> None:
    done = program("""
        x = torch.ones(3, device="npu")
        torch.npu.simulator.faults.fail_next("free")
    """)
    assert not done.returncode and "not all of the NPU could be given back: aclrtFree" in done.stderr
    assert len(done.stderr.splitlines()) == 1
